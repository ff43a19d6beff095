"""`assay engines`: whether random number engines can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import JsonOption, print_json
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.engines import Judged

NUMBERS = 10_000_000
OUTPUT = Path("results/engines")


def engines(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Engines to judge. Default: list all.")
    ] = None,
    *,
    all_wanted: Annotated[bool, typer.Option("--all", help="Judge every engine.")] = False,
    numbers: Annotated[
        float,
        typer.Option(metavar="N", help="Numbers to draw, 1000 to 1e9; some tests take at most 1e7."),
    ] = NUMBERS,
    reseed_every: Annotated[
        float | None, typer.Option(metavar="N", help="Judge them reseeded with new entropy every N numbers.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**53 - 1, help="Where all streams come from.")] = 1,
    output: Annotated[Path, typer.Option(help="Folder for the page and the pictures.")] = OUTPUT,
    json_wanted: JsonOption = False,
) -> None:
    """Judge random number engines before an experiment draws from them; without names, list them.

    Numbers are drawn as trials draw them. A page with pictures is written into the folder --output; with
    --json, the results are printed instead. A suspect may be unlucky: judge it again with another --seed.

    The exit code is 1 if an engine that you name is rejected or not available here. With --all it is 0,
    whatever the verdicts.

    Example: `assay engines --all`
    """
    from rich.console import Console

    from assay.engines import (
        FEWEST,
        MOST,
        chosen,
        examine,
        known,
        print_engines,
        print_judged,
        write_judged,
    )
    from assay.files import write

    if names and all_wanted:
        raise AssayError("--all judges every engine; leave out either it or the names")
    drawn = _whole("--numbers", numbers, FEWEST, MOST)
    reseeded = None if reseed_every is None else _whole("--reseed-every", reseed_every, 1, 2**53)
    if not names and not all_wanted:
        if json_wanted:
            print_json({"engines": known()})
        else:
            print_engines(known(), Console())
            typer.echo("\nJudge them: assay engines --all")
        return
    wanted = chosen(names or [])
    if not json_wanted:
        # A folder that cannot be written is refused before a minute is spent on what should go there.
        write(output / "index.html", "")
    judged = examine(wanted, numbers=drawn, seed=seed, reseed_every=reseeded)
    if json_wanted:
        print_json({"engines": [_as_json(engine, drawn, seed) for engine in judged]})
    else:
        drawn_from = f"{drawn:,} numbers of each engine, seed {seed}."
        print_judged(judged, drawn_from, Console())
        typer.echo(f"\npage: {write_judged(judged, drawn_from, output)}")
    if names and any(engine.verdict is None or engine.verdict.word == "rejected" for engine in judged):
        raise typer.Exit(1)


def _whole(option: str, value: float, least: int, most: int) -> int:
    """Return a number that may have been written as 1e9."""
    if not value.is_integer():
        raise AssayError(f"{option}: {value:g} is not a whole number")
    if not least <= value <= most:
        raise AssayError(f"{option}: {value:,.0f} is outside {least:,} to {most:,}")
    return int(value)


def _as_json(judged: "Judged", numbers: int, seed: int) -> dict[str, Any]:
    verdict = judged.verdict
    return {
        "engine": judged.engine,
        "numbers": numbers,
        "seed": seed,
        "reseed_every": judged.reseed_every,
        "unavailable": judged.unavailable,
        "verdict": verdict.word if verdict else None,
        "why": verdict.why if verdict else "",
        "effect": verdict.effect if verdict else "",
        "tests": [
            {"kind": tests.kind, "done": len(tests.p), "smallest_p_adjusted": tests.smallest}
            for tests in (verdict.test_kinds if verdict else ())
        ],
        "speed_ns": judged.speed,
    }
