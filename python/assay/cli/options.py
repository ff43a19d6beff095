"""What commands share: options, how they print JSON and tables, what `--fail-on` makes of findings."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.words import json_text, printable

if TYPE_CHECKING:
    from assay.analysis.types import Answer
    from assay.findings import Finding


class Level(StrEnum):
    """What `--fail-on` may name."""

    SLOWER = "slower"
    ERROR = "error"
    WARNING = "warning"


def _store(name: str | Path) -> Path:
    if "://" not in str(name):
        return Path(name)
    from assay.store import path_of

    return path_of(name)


ExperimentArgument = Annotated[Path, typer.Argument(help="The experiment's file, TOML or resolved JSON.")]
StoreOption = Annotated[
    Path,
    typer.Option(
        "--store",
        envvar="ASSAY_STORE",
        parser=_store,
        metavar="FILE",
        help="The store's file, or sqlite:///FILE.",
    ),
]
CampaignOption = Annotated[
    int | None, typer.Option("--campaign", help="Number of the campaign. Default: the one begun last.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
FailOnOption = Annotated[
    list[Level] | None,
    typer.Option(
        "--fail-on",
        help="End with exit code 1 where a comparison is slower than its baseline; where the audit finds an"
        " error; where it finds a warning or an error. May be repeated.",
    ),
]

DEFAULT_STORE = Path("results/assay.sqlite")


def print_json(value: Mapping[str, Any]) -> None:
    """Print what `docs/reference/json.md` describes; its version is that of the shape."""
    typer.echo(json_text({"version": 1, **value}, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under their columns' names, numbers to the right."""
    # Rich would take 10 s for 20,000 rows, and cut cells to the width of a pipe.
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [all(map(_is_number, column)) for column in zip(*cells[1:], strict=True)] or [False] * len(
        widths
    )
    cells.insert(1, ["-" * width for width in widths])
    for row in cells:
        typer.echo(
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ).rstrip()
        )


def _is_number(cell: str) -> bool:
    return cell == "" or cell.lstrip("-")[:1].isdigit()


def _cell(value: Any) -> str:
    """Return a value as text of one line: NULL is empty, numbers have six digits or all before the point."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"
    return printable(str(value).replace("\n", " "))


def end(
    fail_on: Collection[str] | None,
    findings: "Iterable[Finding]",
    comparisons: "Iterable[Answer]" = (),
) -> None:
    """End with exit code 1 where `--fail-on` asks for it; a warning is asked for with errors."""
    levels = {*(fail_on or ())}
    if "warning" in levels:
        levels.add("error")
    if levels & {*(finding.severity for finding in findings), *(answer.verdict for answer in comparisons)}:
        raise typer.Exit(1)
