"""`assay engines`: whether random number engines can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.completion import complete_engines
from assay.cli.options import LARGEST_WHOLE, JsonOption, print_json, whole_option
from assay.cli.report import tell_page
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.engines import Judged

NUMBERS = 10_000_000
OUTPUT = Path("results/engines")


def engines(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", hidden=True, autocompletion=complete_engines)
    ] = None,
    *,
    all_wanted: Annotated[bool, typer.Option("--all", help="Judge every engine.")] = False,
    numbers: Annotated[
        int, whole_option("Numbers to draw, 1000 to 1e9; some tests take at most 1e7.", 1000, 10**9)
    ] = NUMBERS,
    reseed_every: Annotated[
        int | None, whole_option("Judge them reseeded with new entropy every N numbers.")
    ] = None,
    seed: Annotated[int, whole_option("Where all streams come from.", 0, LARGEST_WHOLE - 1)] = 1,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the page and the pictures.")
    ] = OUTPUT,
    as_json: JsonOption = False,
) -> None:
    """Judge random number engines before you draw from them.

    Without a NAME, list them. Numbers are drawn as trials draw them. A page with pictures is written into the
    folder --output; with --json, the results are printed instead. A suspect may be unlucky: judge it again
    with another --seed.

    The exit code is 1 if an engine that you name is rejected or not available here. With --all it is 0,
    whatever the verdicts.

    Example: `assay engines --all`
    """
    from rich.console import Console

    from assay.engines import (
        chosen,
        examine,
        known,
        print_engines,
        print_judged,
    )
    from assay.files import write

    if names and all_wanted:
        raise AssayError("--all judges every engine; leave out either it or the names")
    if not names and not all_wanted:
        if as_json:
            print_json({"engines": known()})
        else:
            print_engines(known(), Console())
            typer.echo("\nJudge them: assay engines --all")
        return
    wanted = chosen(names or [])
    if not as_json:
        # A folder that cannot be written is refused before a minute is spent on what should go there.
        write(output / "index.html", "")
    judged = examine(wanted, numbers=numbers, seed=seed, reseed_every=reseed_every)
    if as_json:
        print_json({"engines": [_as_json(engine, numbers, seed) for engine in judged]})
    else:
        from assay.engines.page import write_judged  # here, as Altair is slow to load

        drawn_from = f"{numbers:,} numbers of each engine, seed {seed}."
        print_judged(judged, drawn_from, Console())
        typer.echo()
        tell_page(write_judged(judged, drawn_from, output), "the same command")
    if names and any(engine.verdict is None or engine.verdict.word == "rejected" for engine in judged):
        raise typer.Exit(1)


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
