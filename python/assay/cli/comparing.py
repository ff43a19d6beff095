"""What `assay ab` and `assay bisect` share: the options that say what is measured, and how it is measured."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import SeedOption, real, with_options
from assay.cli.running import running_campaign
from assay.files import write

if TYPE_CHECKING:
    from assay.campaign.benchmarks import ComparisonRequest
    from assay.campaign.hosts import Hosts
    from assay.experiment import Experiment
    from assay.report import Report
    from assay.store import Store, StoreName


def _gate(text: str) -> float:
    return real(0.01, 100)(text.strip().removesuffix("%"))


OPTIONS: dict[str, Any] = {
    "words": Annotated[list[str] | None, typer.Argument(metavar="BENCHMARK", hidden=True)],
    "build": Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="Build a revision: a command for the shell, run in the top folder of its worktree. Default:"
            " [ab] build of the experiment.",
        ),
    ],
    "gate": Annotated[
        Any,
        typer.Option(
            parser=_gate,
            metavar="PERCENT",
            help="What is slower by more than this fails: 2%. Without it, whatever is shown to be slower.",
        ),
    ],
    "metric": Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is compared: of commands time, user_time, system_time, peak_memory or instructions, or"
            " whatever they print in a line NAME=DATA. Default: time, or what the experiment says.",
        ),
    ],
    "google_benchmark": Annotated[
        str,
        typer.Option(
            "--google-benchmark",
            metavar="COMMAND",
            help="Measure the benchmarks of this Google Benchmark program.",
        ),
    ],
    "catch2": Annotated[
        str,
        typer.Option("--catch2", metavar="COMMAND", help="Measure the benchmarks of this Catch2 program."),
    ],
    "chosen": Annotated[
        str,
        typer.Option(
            "--filter",
            metavar="TEXT",
            help="Only these: a regular expression for Google Benchmark, a test specification for Catch2.",
        ),
    ],
    "link": Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="Link the program anew for each block: a command for the shell, as `link` of [subjects.NAME]"
            " in an experiment.",
        ),
    ],
    "setup": Annotated[
        str,
        typer.Option(
            metavar="COMMAND", help="Of commands: run this in a shell in each worktree, once it is built."
        ),
    ],
    "shell": Annotated[
        bool | None,
        typer.Option(
            "--shell/--no-shell",
            help="Whether sh reads the commands. Default: where one of them needs it.",
            show_default=False,
        ),
    ],
    "same_output": Annotated[
        bool,
        typer.Option(
            "--same-output", help="Count no command that prints something else in the other revision."
        ),
    ],
    "seed": SeedOption,
}
"""Field of a `ComparisonRequest` -> its option."""

DEFAULTS = {"words": None, "gate": None, "shell": None, "same_output": False, "seed": None}


def with_request(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with `OPTIONS` in the place of its parameter `request`."""

    def request(words: list[str] | None, **options: Any) -> "ComparisonRequest":
        from assay.campaign.benchmarks import ComparisonRequest

        return ComparisonRequest(words=words or (), **options)

    return with_options(command, "request", request, OPTIONS, {**dict.fromkeys(OPTIONS, ""), **DEFAULTS})


def measure(
    experiment: "Experiment",
    path: "StoreName",
    *,
    quiet: bool,
    on: "Hosts | None" = None,
    stopped: "Callable[[Report], None] | None" = None,
) -> "Report":
    """Run the campaign of a prepared comparison, and return its report.

    Args:
        experiment: its revisions are built.
        path: the store.
        quiet: show no progress.
        on: the hosts that run it; None: this machine.
        stopped: gets the report of a campaign that was stopped, if any trial has ended.

    Raises:
        Exit: the campaign was stopped.
    """
    if (
        isinstance(path, Path) and not path.parent.exists()
    ):  # git is to ignore it: its files are not changes of the project
        write(path.parent / ".gitignore", "*\n", "--store")

    def of_stopped(report: "Report", _: "Store") -> None:
        if stopped:
            stopped(report)

    with running_campaign(path, experiment, quiet=quiet, built=True, on=on, stopped=of_stopped) as (
        report,
        _,
    ):
        return report
