"""`assay lab engines`: whether random number engines can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli.completion import offered
from assay.cli.options import LARGEST_WHOLE, JsonOption, folder_option, print_json, whole_option
from assay.cli.report import tell_page
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay_lab.engines import EngineExamination

NUMBERS = 10_000_000
OUTPUT = Path("results/engines")


def _complete_engines(incomplete: str) -> list[tuple[str, str]]:
    """Return the engines of random numbers that begin so."""
    return offered("engines", incomplete)


def engines(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", hidden=True, autocompletion=_complete_engines)
    ] = None,
    *,
    all_wanted: Annotated[bool, typer.Option("--all", help="Judge every engine.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Judge the numbers of a file: binary, or an array of numpy (.npy)."
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Judge what a program writes to its standard output; {seed} is --seed."
        ),
    ] = None,
    bits: Annotated[
        Literal["32", "64"], typer.Option(help="Of --file and --program: bits of each number.")
    ] = "64",
    text: Annotated[
        bool, typer.Option("--text", help="Of --file and --program: decimal numbers, not binary ones.")
    ] = False,
    numbers: Annotated[
        int, whole_option("Numbers to draw, 1000 to 1e9; some tests take at most 1e7.", 1000, 10**9)
    ] = NUMBERS,
    reseed_every: Annotated[
        int | None, whole_option("Judge them reseeded with new entropy every N numbers.")
    ] = None,
    seed: Annotated[int, whole_option("Where all streams come from.", 0, LARGEST_WHOLE - 1)] = 1,
    output: Annotated[Path, folder_option("--output", text="Folder for the page and the pictures.")] = OUTPUT,
    as_json: JsonOption = False,
) -> None:
    """Judge random number engines before you draw from them.

    Without a NAME, list them. Numbers are drawn as trials draw them. A page with pictures is written into the
    folder --output; with --json, the results are printed instead. A suspect may be unlucky: judge it again
    with another --seed.

    Numbers of your own are judged with --file or --program: binary, the lowest byte first, or --text.

    The exit code is 1 if an engine that you name is rejected or not available here. With --all it is 0,
    whatever the verdicts.

    Example: `assay lab engines --all`, `assay lab engines --program './my_rng {seed}'`
    """
    from rich.console import Console

    from assay.files import check_writable
    from assay_lab.engines import (
        SEED,
        chosen,
        examine,
        judge_numbers,
        known,
        of_file,
        of_program,
        print_engines,
        print_judged,
        seeds_of_program,
    )

    if names and all_wanted:
        raise AssayError("--all judges every engine; leave out either it or the names")
    own = _own(file, program, alone=not (names or all_wanted))
    if not own and (text or bits != "64"):
        raise AssayError("--text and --bits belong to --file and --program; leave them out")
    if own and reseed_every is not None:
        raise AssayError("--reseed-every: numbers of your own are judged as they are; leave it out")
    if not own and not names and not all_wanted:
        if as_json:
            print_json({"engines": known()})
        else:
            print_engines(known(), Console())
            typer.echo("\nJudge them: assay lab engines --all")
        return
    given, seeds, notice = None, None, ""
    if file:
        given = of_file(file, numbers=numbers, bits=int(bits), text=text)
    elif program is not None:
        given = of_program(program, seed=seed, numbers=numbers, bits=int(bits), text=text)
        seeds = seeds_of_program(program, seed=seed, bits=int(bits), text=text)
        notice = "" if seeds else f"The command has no {SEED}: whether seeds count was not judged."
    numbers = numbers if given is None else len(given)
    wanted = [] if own else chosen(names or [])
    if not as_json:
        # A folder that cannot be written is refused before a minute is spent on what should go there.
        check_writable(output / "index.html", "--output")
    judged = (
        [judge_numbers(given, "file" if file else "program", seeds, notice)]
        if given is not None
        else examine(wanted, numbers=numbers, seed=seed, reseed_every=reseed_every)
    )
    if as_json:
        print_json({"engines": [_as_json(engine, numbers, seed) for engine in judged]})
    else:
        from assay_lab.engines.page import write_judged  # here, as they are slow to load

        drawn_from = f"{numbers:,} numbers" + (f" of {own}." if own else f" of each engine, seed {seed}.")
        print_judged(judged, drawn_from, Console())
        typer.echo()
        tell_page(write_judged(judged, drawn_from, output), "the same command")
    if (names or own) and any(
        engine.verdict is None or engine.verdict.word == "rejected" for engine in judged
    ):
        raise typer.Exit(1)


def _own(file: Path | None, program: str | None, *, alone: bool) -> str:
    """Return what numbers of the user's own come from; empty where none are to be judged."""
    own = [str(value) for value in (file, program) if value is not None]
    if len(own) + (not alone) > 1:
        raise AssayError(
            "--file, --program and engines by name are judged one at a time; leave out all but one"
        )
    return own[0] if own else ""


def _as_json(judged: "EngineExamination", numbers: int, seed: int) -> dict[str, Any]:
    verdict = judged.verdict
    return {
        "engine": judged.engine,
        "numbers": numbers,
        "seed": seed,
        "reseed_every": judged.reseed_every,
        "unavailable": judged.unavailable,
        "notice": judged.notice,
        "verdict": verdict.word if verdict else None,
        "why": verdict.why if verdict else "",
        "effect": verdict.effect if verdict else "",
        "tests": [
            {"kind": tests.kind, "done": len(tests.p), "smallest_p_adjusted": tests.smallest}
            for tests in (verdict.test_kinds if verdict else ())
        ],
        "speed_ns": judged.speed,
    }
