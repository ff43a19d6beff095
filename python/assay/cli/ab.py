"""`assay ab`: is one revision of a project slower than another?"""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.comparing import measure, with_request
from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    OnOption,
    QuietOption,
    StoreOption,
    hosts_in,
    print_json,
    seconds,
)
from assay.errors import AssayError
from assay.files import STANDARD_OUTPUT, check_writable, write

if TYPE_CHECKING:
    from assay.campaign.benchmarks import ComparisonRequest
    from assay.experiment.types import Revision
    from assay.report import Report
    from assay.report.ab import Answer
    from assay.store import StoreName

BASE, HEAD = "base", "head"


@with_request
def ab(
    *,
    base: Annotated[
        str,
        typer.Option(metavar="REV", help="The revision that is compared with: a branch, a tag or a commit."),
    ],
    head: Annotated[
        str | None,
        typer.Option(
            metavar="REV",
            help="The revision in question. Default: the working tree, with what is not committed.",
        ),
    ] = None,
    request: "ComparisonRequest",
    within: Annotated[
        Any,
        typer.Option(parser=seconds, metavar="TIME", help="Measure for at most this time: 90s, 10m, 1h."),
    ] = "10m",
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the answer in Markdown, for a comment on a pull request. -: in place of the screen.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a JUnit file with a test case for each benchmark. -: in place of the screen.",
        ),
    ] = None,
    on: OnOption = None,
    quiet: QuietOption = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say whether a revision is slower than another one.

    They are revisions of the git project in this folder.

    BENCHMARK is an experiment's file, or command lines that run in this folder of each revision. Both
    revisions are built in worktrees of their own, which are removed at the end; your checkout is not
    touched. Trials of the two take turns, in random order.

    The exit code is 0 if no regression is shown, 1 if one is shown (with --gate, one beyond it), 3 if it
    could not be decided within the time.

    Example: `assay ab --base main --build make --gate 2% './bench parse' './bench print'`
    """
    from assay.campaign import Reporter
    from assay.campaign.benchmarks import own_experiment
    from assay.campaign.comparison import RevisionRunner, minutes_needed, rehearsed
    from assay.report.ab import Answer, answer_of
    from assay.runner.process import Interrupted, StopSignals
    from assay.versions import Repository

    own = own_experiment(request)
    for file, option in ((markdown, "--markdown"), (junit, "--junit")):
        if file:
            check_writable(file, option)
    if [markdown == STANDARD_OUTPUT, junit == STANDARD_OUTPUT, as_json].count(True) > 1:
        raise AssayError(
            "--markdown -, --junit - and --json all print; use one of them, and files for others"
        )
    hosts = hosts_in(on)
    request = replace(request, on_hosts=hosts is not None)
    repository = Repository.find(request.folder)
    revisions = {
        BASE: repository.revision(base),
        HEAD: repository.working_tree() if head is None else repository.revision(head),
    }
    _check_different(revisions, head)

    def print_result(answer: Answer) -> None:
        _print_result(answer, store, markdown, junit, as_json=as_json)

    with StopSignals() as stop:
        try:
            runner = RevisionRunner(request, own, repository, stop, Reporter(quiet=quiet))
            with runner.prepared(revisions) as built:
                comparison = rehearsed(built, within, runner)
                answer = Answer(comparison.levels, skipped=comparison.skipped)
                if comparison.experiment is not None:
                    began = time.monotonic()

                    def answered(report: "Report") -> Answer:
                        took_s = time.monotonic() - began
                        return answer_of(
                            report,
                            took_s,
                            comparison.skipped,
                            comparison.same_programs,
                            minutes_needed(report),
                        )

                    def stopped(report: "Report") -> None:
                        print_result(answered(report))

                    report = measure(comparison.experiment, store, quiet=quiet, on=hosts, stopped=stopped)
                    answer = answered(report)
        except Interrupted as interrupted:
            typer.echo("stopped before anything was measured; nothing has been recorded", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
    print_result(answer)
    if answer.exit_code:
        raise typer.Exit(answer.exit_code)


def _check_different(revisions: "Mapping[str, Revision]", head: str | None) -> None:
    """Refuse to compare a commit with itself."""
    if revisions[BASE].commit != revisions[HEAD].commit:
        return
    if head:
        raise AssayError(
            f"--base {revisions[BASE].name} and --head {head} are the same commit, {revisions[BASE].short};"
            " name two"
        )
    raise AssayError(
        f"nothing here differs from --base {revisions[BASE].name}: it is the commit that is checked out, and"
        " no file is changed; change something, or name another revision, such as HEAD~1"
    )


def _print_result(
    answer: "Answer", store: "StoreName", markdown: Path | None, junit: Path | None, *, as_json: bool
) -> None:
    """Print the answer, and write the files that are requested."""
    from assay.report import ab_writers

    more = ""
    if answer.campaign is not None:
        more = invocation("report", "--campaign", str(answer.campaign), "--verbose", store=store)
    if as_json:
        print_json(_as_object(answer, store))
    elif STANDARD_OUTPUT not in (markdown, junit):
        for line in ab_writers.screen(answer, more):
            typer.echo(line)
    if markdown:
        write(markdown, ab_writers.comment(answer), "--markdown")
    if junit:
        write(junit, ab_writers.junit(answer), "--junit")


def _as_object(answer: "Answer", store: "StoreName") -> dict[str, Any]:
    from assay.report.ab import sentence

    trust = answer.trust
    return {
        "answer": sentence(answer),
        "exit_code": answer.exit_code,
        "campaign": answer.campaign,
        "revisions": {
            level: {name: value for name, value in vars(revision).items() if name != "folder"}
            for level, revision in answer.revisions.items()
        },
        "metric": answer.metric or None,
        "gate_percent": answer.gate_percent,
        "benchmarks": [
            {
                "name": benchmark.name,
                BASE: benchmark.base,
                HEAD: benchmark.head,
                "ratio": benchmark.comparison.ratio,
                "difference": benchmark.comparison.difference,
                "interval": benchmark.comparison.interval,
                "verdict": benchmark.verdict,
                "gate": benchmark.comparison.gate,
                "regression": benchmark.is_regression,
                "reason": benchmark.why,
            }
            for benchmark in answer.benchmarks
        ],
        "left_out": answer.skipped,
        "same_programs": answer.same_programs,
        "minutes_needed": answer.minutes_needed,
        "trust": None if trust is None else trust.degree,
        "reasons": () if trust is None else trust.reasons,
        "store": None if answer.campaign is None else store,
    }
