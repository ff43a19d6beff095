"""Judged engines in the terminal: a table, then a line for each that was not accepted."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.audit import KNOWN_FLAWS
from assay_lab.engines.types import Engine, EngineExamination

STYLES = {"accepted": "bold green", "suspect": "bold yellow", "rejected": "bold red"}


def print_judged(judged: Sequence[EngineExamination], drawn: str, console: Console) -> None:
    """Print what became of engines."""
    console.print(Text(drawn))
    console.print()
    table = _table(("engine", "verdict"), ("ns a number", "interval", "bits", "state"))
    for examined in judged:
        engine, speed = examined.engine, examined.speed
        word = examined.verdict.word if examined.verdict else "not judged"
        table.add_row(
            examined.title,
            Text(word, STYLES.get(word, "dim")),
            f"{speed.source:.2f}" if speed else "",
            f"{speed.source_interval.low:.2f} to {speed.source_interval.high:.2f}" if speed else "",
            str(engine.bits),
            _state(engine),
        )
    console.print(table)
    floors = [examined.speed.floor for examined in judged if examined.speed]
    if floors:
        console.print(Text(f"The same loop without drawing takes {min(floors):.2f} ns a number.", "dim"))
    console.print()
    verdicts = [(examined.title, examined.verdict, examined.unavailable) for examined in judged]
    accepted = [title for title, verdict, _ in verdicts if verdict and verdict.word == "accepted"]
    if accepted:
        console.print(
            Text.assemble(("accepted ", STYLES["accepted"]), f"{', '.join(accepted)}: no test fails.")
        )
    for title, verdict, unavailable in verdicts:
        if verdict is None:
            console.print(Text.assemble(("not judged ", "dim"), f"{title}: {unavailable}."))
        elif verdict.word != "accepted":
            style = STYLES[verdict.word]
            console.print(Text.assemble((f"{verdict.word} ", style), (title, "bold"), f": {verdict.why}."))
            console.print(Padding(Text(verdict.effect), (0, 0, 0, 3)))
    for notice in (examined.notice for examined in judged if examined.notice):
        console.print(Text(notice))


def print_engines(engines: Sequence[Engine], console: Console) -> None:
    """Print which engines there are, and what is known against them."""
    table = _table(("engine", "what it is"), ("bits", "state"))
    for engine in engines:
        notes = {
            "not on this processor": not engine.available,
            "cannot be replayed": not engine.replayable,
            "one state for all threads": engine.shared,
            f"rejected: {KNOWN_FLAWS.get(engine.name)}": engine.name in KNOWN_FLAWS,
        }
        about = Text(engine.description)
        if any(notes.values()):
            about.append("\n" + "; ".join(note for note, applies in notes.items() if applies), "dim")
        table.add_row(engine.name, about, str(engine.bits), _state(engine))
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
