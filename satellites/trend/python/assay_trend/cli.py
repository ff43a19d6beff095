"""`assay trend`: what became of an experiment's metrics over the commits of a project."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completion import campaigns_of, complete_experiments
from assay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, print_json

if TYPE_CHECKING:
    from assay.experiment import Experiment
    from assay.store import Store
    from assay_trend.history import History

WIDTH = 80
SHOWN = 8
"""Changes on one screen."""


def complete_histories(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the experiments in the store, and the files of experiments in the folder of the word."""
    names = dict.fromkeys(name for _, name, _ in campaigns_of(ctx) if name.startswith(incomplete))
    return [*names, *complete_experiments(incomplete)]


def trend(
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPERIMENT", hidden=True, autocompletion=complete_histories, show_default=False
        ),
    ] = None,
    *,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say what got slower over the commits of your project.

    It looks at all campaigns of an experiment on one host, each with the commit that was checked out when it
    began, for steps and for slow drift, which a comparison of two commits does not show. EXPERIMENT is the
    name of one in the store, or its file; without it, every experiment of which three campaigns know their
    commit. The exit code is 3 where no experiment has enough commits yet.

    Example: `assay trend experiments/quickstart.toml`
    """
    from assay.experiment import load
    from assay.store import Store
    from assay_trend.history import FEWEST_COMMITS
    from assay_trend.words import gathered_history

    if experiment is not None and experiment.endswith(".toml"):
        experiment = load(Path(experiment)).name
    with Store.open(store, create=False) as opened:
        names = _with_history(opened) if experiment is None else [experiment]
        histories = [gathered_history(opened, name) for name in names]
    if experiment is None:
        histories = [(history, of) for history, of in histories if not of.mark]
    for _, of in histories:
        of.reject_pitfall("assay trend")
    if as_json:
        print_json({"histories": [history for history, _ in histories]})
    elif not histories:
        typer.echo(
            f"{store} has no experiment of which three campaigns know their commit: keep the experiment's"
            " file in the git repository of what it measures, and run it at several commits"
        )
    for place, (history, of) in enumerate(() if as_json else histories):
        _print(history, of, blank=place > 0)
    if all(len(history.commits) < FEWEST_COMMITS for history, _ in histories):
        raise typer.Exit(3)


def _with_history(store: "Store") -> list[str]:
    """Return the experiments with a history, the one that ran last first."""
    from collections import Counter

    from assay_trend.history import FEWEST_CAMPAIGNS, commit_of

    known = [of.experiment for of in reversed(store.campaigns()) if of.ended and commit_of(of) is not None]
    return [name for name, count in Counter(known).items() if count >= FEWEST_CAMPAIGNS]


def _print(history: "History", experiment: "Experiment", *, blank: bool) -> None:
    from assay_trend.words import headline, left_out, sentences, unplaced, visible

    told = list(sentences(history, experiment))
    lines = [f"{history.experiment}: {headline(history, experiment)}"]
    lines += [f"  {sentence}" for sentence in told[:SHOWN]]
    if len(told) > SHOWN:
        lines.append(f"  {len(told) - SHOWN} more changes: --json has all.")
    lines += [*(f"  {sentence}" for sentence in unplaced(history)), visible(history), left_out(history)]
    if blank:
        typer.echo()
    for line in filter(None, lines):
        indent = "    " if line.startswith(" ") else ""
        typer.echo(
            fill(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
        )
