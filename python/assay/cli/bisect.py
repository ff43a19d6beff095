"""`assay bisect`: which commit made it slower?"""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.comparing import measure, with_request
from assay.cli.options import DEFAULT_STORE, JsonOption, QuietOption, StoreOption, print_json, seconds

if TYPE_CHECKING:
    from assay.campaign.benchmarks import ComparisonRequest
    from assay.report.bisection import BisectionResult
    from assay.store import StoreName


@with_request
def bisect(
    *,
    good: Annotated[str, typer.Option(metavar="REV", help="A revision that is not slower yet.")],
    bad: Annotated[str, typer.Option(metavar="REV", help="A later revision that is slower.")] = "HEAD",
    request: "ComparisonRequest",
    within: Annotated[
        Any,
        typer.Option(parser=seconds, metavar="TIME", help="Measure for at most this time in all: 10m, 2h."),
    ] = "30m",
    first_parent: Annotated[
        bool,
        typer.Option(
            "--first-parent", help="Follow the first parent of each merge: which merge made it slower?"
        ),
    ] = False,
    quiet: QuietOption = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Find the commit that made a project slower.

    BENCHMARK is as for `assay ab`. First the two ends are compared: if no slowdown is shown, there is nothing
    to find. Then one commit after another is compared with the good end, each for as long as it takes to
    tell; a wrong commit is named in at most 5% of bisections. A commit is named only if it is slower and
    each of its parents is not. Commits that do not build, lack the benchmark, or cannot be told are passed
    over.

    The exit code is 0 if the commit is found, 1 if no slowdown is shown between the ends, 3 if it could not
    be decided.

    Example: `assay bisect --good v1.2 --build make './bench parse'`
    """
    from assay.campaign import Reporter
    from assay.campaign.benchmarks import own_experiment
    from assay.campaign.bisect import Search
    from assay.campaign.comparison import RevisionRunner
    from assay.campaign.time_budget import TooLittleTimeError
    from assay.report.bisection import screen
    from assay.runner.process import Interrupted, StopSignals
    from assay.versions import Repository

    own = own_experiment(request)
    repository = replace(Repository.find(request.folder), first_parent=first_parent)
    ends = repository.revision(good), repository.revision(bad)
    commits = repository.between(*ends)
    with StopSignals() as stop:
        # The search shows a line for each step; the steps themselves show no progress.
        runner = RevisionRunner(request, own, repository, stop, Reporter(quiet=True))
        search = Search(
            runner, ends, lambda experiment: measure(experiment, store, quiet=True), Reporter(quiet=quiet)
        )
        try:
            bisected = search.run(len(commits), within, merges=repository.has_merges(*ends))
        except (Interrupted, typer.Exit, TooLittleTimeError) as error:
            search.say_what_is_left()
            if isinstance(error, Interrupted):
                raise typer.Exit(128 + error.signum) from None
            raise
    if as_json:
        print_json(_as_object(bisected, store))
    else:
        for line in screen(bisected):
            typer.echo(line)
    if bisected.exit_code:
        raise typer.Exit(bisected.exit_code)


def _as_object(bisected: "BisectionResult", store: "StoreName") -> dict[str, Any]:
    from assay.report.bisection import sentence

    good, bad = bisected.ends
    return {
        "answer": sentence(bisected),
        "exit_code": bisected.exit_code,
        "good": good,
        "bad": bad,
        "commits": bisected.commits,
        "benchmark": bisected.shown.name,
        "threshold_percent": bisected.threshold_percent,
        "suspects": bisected.suspects,
        "named": bisected.named,
        "unknown": bisected.unknown,
        "inherited": [{"parent": parent, "fork": fork} for parent, fork in bisected.inherited],
        "reversals": [{"slower": slower, "later": later} for slower, later in bisected.reversals],
        "slowdown": None if bisected.slowed is None else bisected.slowed.comparison,
        "ends": bisected.shown.comparison,
        "steps": [
            {
                "commit": step.revision.commit,
                "side": step.side,
                "why": step.why,
                "ratio": step.benchmark and step.benchmark.comparison.ratio,
                "interval": step.benchmark and step.benchmark.comparison.interval,
            }
            for step in bisected.steps
        ],
        "others": bisected.others,
        "minutes_needed": bisected.minutes_needed,
        "store": str(store),
    }
