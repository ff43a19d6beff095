"""`assay engines`: whether random number engines are to be trusted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import JsonOption, print_json
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.cli.output import JudgedEngine
    from assay.engines import Engine, Judged

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

    Each is drawn from as trials draw. A page with pictures is written into the folder --output; with --json,
    what was found is printed instead. A suspect may be unlucky: judge it again with another --seed.

    The exit code is 1 where an engine that is named is rejected or cannot be had here, and 0 otherwise: with
    --all, what is rejected is an answer like any other.

    Example: `assay engines --all`
    """
    from assay.engines import chosen, examine, known

    drawn = _whole(numbers, "--numbers")
    reseeded = None if reseed_every is None else _whole(reseed_every, "--reseed-every")
    _check(names, all_wanted, drawn, reseeded)
    if not names and not all_wanted:
        _list(known(), json_wanted)
        return
    wanted = chosen(names or [])
    if not json_wanted:
        _check_folder(output)
    judged = examine(wanted, numbers=drawn, seed=seed, reseed_every=reseeded)
    if json_wanted:
        from assay.cli.output import Engines

        print_json(Engines(engines=tuple(_output(each, drawn, seed) for each in judged)))
    else:
        _show(judged, f"{drawn:,} numbers of each engine, seed {seed}.", output)
    if names and any(each.verdict is None or each.verdict.word == "rejected" for each in judged):
        raise typer.Exit(1)


def _whole(value: float, option: str) -> int:
    """Return a number that may have been written as 1e9."""
    if not value.is_integer():
        raise AssayError(f"{option}: {value:g} is no whole number")
    return int(value)


def _check(names: Sequence[str] | None, all_wanted: bool, numbers: int, reseed_every: int | None) -> None:
    from assay.engines import FEWEST, MOST

    if names and all_wanted:
        raise AssayError("--all judges every engine; leave it or the names out")
    if not FEWEST <= numbers <= MOST:
        raise AssayError(f"--numbers: {numbers:,} is outside {FEWEST:,} to {MOST:,}")
    if reseed_every is not None and not 1 <= reseed_every <= 2**53:
        raise AssayError(f"--reseed-every: {reseed_every:,} is outside 1 to 2^53; leave it out not to reseed")


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written before a minute is spent on what should go there."""
    from assay.files import write

    write(folder / "index.html", "")


def _list(found: "Sequence[Engine]", json_wanted: bool) -> None:
    if json_wanted:
        from assay.cli.output import Engines

        print_json(Engines(engines=tuple(found)))
        return
    from rich.console import Console

    from assay.engines import print_engines

    print_engines(found, Console())
    typer.echo("\nJudge them: assay engines --all")


def _show(judged: "Sequence[Judged]", asked: str, output: Path) -> None:
    from rich.console import Console

    from assay.engines import print_judged, write_judged

    print_judged(judged, asked, Console())
    typer.echo(f"\npage: {write_judged(judged, asked, output)}")


def _output(judged: "Judged", numbers: int, seed: int) -> "JudgedEngine":
    from assay.cli.output import JudgedEngine, TestKind

    verdict = judged.verdict
    return JudgedEngine(
        engine=judged.engine,
        numbers=numbers,
        seed=seed,
        reseed_every=judged.reseed_every,
        unavailable=judged.unavailable,
        verdict=verdict.word if verdict else None,
        why=verdict.why if verdict else "",
        effect=verdict.effect if verdict else "",
        tests=tuple(
            TestKind(kind=group.kind, done=len(group.p), smallest_p_adjusted=group.smallest)
            for group in (verdict.test_kinds if verdict else ())
        ),
        speed_ns=judged.speed,
    )
