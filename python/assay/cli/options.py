"""What several commands share: their options, how they print JSON, and what `--fail-on` makes of findings."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from assay.analysis import Aggregate, Comparison
    from assay.cli.output import Output
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


def print_json(output: "Output") -> None:
    """Print what a command has to tell programs."""
    typer.echo(output.model_dump_json(indent=2))


def end(
    fail_on: Sequence[str] | None,
    findings: "Iterable[Finding]",
    comparisons: "Iterable[Comparison | Aggregate]" = (),
) -> None:
    """End with exit code 1 where `--fail-on` asks for it.

    Args:
        fail_on: what it names.
        findings: of the audit.
        comparisons: those of the main metric, and the aggregates.

    Raises:
        Exit: it does.
    """
    levels = set(fail_on or ())
    if Level.WARNING in levels:
        levels.add(Level.ERROR)
    if any(finding.severity in levels for finding in findings) or (
        Level.SLOWER in levels and any(comparison.verdict == "slower" for comparison in comparisons)
    ):
        raise typer.Exit(1)
