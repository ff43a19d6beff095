"""Judged engines in the terminal: a table, then a line for each that was not accepted."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.audit import KNOWN_FLAWS
from assay.engines.types import Engine, Judged

STYLES = {"accepted": "bold green", "suspect": "bold yellow", "rejected": "bold red"}


def print_judged(judged: Sequence[Judged], asked: str, console: Console) -> None:
    """Print what became of engines."""
    console.print(Text(asked))
    console.print()
    table = _table(("engine", "verdict"), ("ns a number", "interval", "bits", "state"))
    for each in judged:
        engine, speed = each.engine, each.speed
        word = each.verdict.word if each.verdict else "not judged"
        table.add_row(
            each.title,
            Text(word, STYLES.get(word, "dim")),
            f"{speed.source:.2f}" if speed else "",
            f"{speed.source_interval.low:.2f} to {speed.source_interval.high:.2f}" if speed else "",
            str(engine.bits),
            _state(engine),
        )
    console.print(table)
    floors = [each.speed.floor for each in judged if each.speed]
    if floors:
        console.print(Text(f"The same loop without drawing takes {min(floors):.2f} ns a number.", "dim"))
    console.print()
    accepted = [each.title for each in judged if each.verdict and each.verdict.word == "accepted"]
    if accepted:
        console.print(
            Text.assemble(("accepted ", STYLES["accepted"]), f"{', '.join(accepted)}: no test fails.")
        )
    for each in judged:
        if each.verdict is None:
            console.print(Text.assemble(("not judged ", "dim"), f"{each.title}: {each.unavailable}."))
        elif each.verdict.word != "accepted":
            word = each.verdict.word
            said = Text.assemble((f"{word} ", STYLES[word]), (each.title, "bold"), f": {each.verdict.why}.")
            console.print(said)
            console.print(Padding(Text(each.verdict.effect), (0, 0, 0, 3)))


def print_engines(engines: Sequence[Engine], console: Console) -> None:
    """Print which engines there are, and what is known against them."""
    table = _table(("engine", "what it is"), ("bits", "state"))
    for engine in engines:
        notes = [
            *([] if engine.available else ["not on this processor"]),
            *([] if engine.replayable else ["cannot be replayed"]),
            *(["one state for all threads"] if engine.shared else []),
            *([f"rejected: {KNOWN_FLAWS[engine.name]}"] if engine.name in KNOWN_FLAWS else []),
        ]
        about = Text(engine.description)
        if notes:
            about.append("\n" + "; ".join(notes), "dim")
        table.add_row(
            engine.name, about, str(engine.bits), str(engine.state_bits) if engine.state_bits else "none"
        )
    console.print(table)


def _state(engine: Engine) -> str:
    return str(engine.state_bits) if engine.state_bits else "none"


def _table(texts: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in texts:
        table.add_column(title, overflow="fold")
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table
