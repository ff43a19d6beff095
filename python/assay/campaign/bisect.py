"""Searches for the commit that made a project slower: compares one commit after another with a good one."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.analysis import summarise
from assay.analysis.bisection import (
    campaigns_of,
    least_slowdown,
    side_of,
    steps_of,
    threshold_percent,
    width_percent,
)
from assay.campaign.comparison import (
    PreparedComparison,
    RevisionRunner,
    minutes_needed,
    rehearsed,
)
from assay.campaign.reporter import Reporter
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.revisions import only
from assay.experiment.types import Revision
from assay.report import Report
from assay.report.ab import BenchmarkComparison, SkippedBenchmark, benchmarks_of, named
from assay.report.bisection import BisectionResult, Step, Suspect
from assay.runner.process import CannotStartError
from assay.versions import Bisection, BuildFailedError, OtherFilesError, Suspects
from assay.words import counted, shortened

GOOD, COMMIT = "good", "this"
"""Labels of worktrees: those of the two that are compared have the same length."""


class Search:
    """A bisection in progress."""

    def __init__(
        self,
        runner: RevisionRunner,
        ends: tuple[Revision, Revision],
        measure: Callable[[Experiment], Report],
        reporter: Reporter,
    ) -> None:
        """Search between a good and a bad end; `measure` runs the campaign of a prepared comparison."""
        self._runner, self._ends, self._measure, self._reporter = runner, ends, measure, reporter
        self._known: Bisection | None = None
        self._steps: list[Step] = []
        self._begun = 0  # campaigns

    def run(self, commits: int, within_s: float, *, merges: bool) -> BisectionResult:
        """Search this many commits after the good end; with `merges`, some of them are merges.

        Raises:
            AssayError: the ends cannot be compared, or there is too little time.
            Interrupted, Exit: the user asked to stop.
        """
        self._left_s, self._most = within_s, campaigns_of(commits, merges=merges)
        self._to_come = steps_of(commits)
        self._reporter.show(
            f"searching in {counted(commits, 'commit')}: about {counted(self._to_come, 'comparison')}"
        )
        with self._runner.worktrees({GOOD: self._ends[0]}) as worktrees:
            self._good = worktrees.built
            report = self._compare_ends()
            benchmarks = benchmarks_of(report)
            slower = [benchmark for benchmark in benchmarks if benchmark.is_regression]
            worst = _slowest(report, slower or benchmarks)
            threshold = _threshold(report, worst) if slower else None
            if threshold is None:
                undecided = [benchmark for benchmark in benchmarks if benchmark.is_undecided]
                return BisectionResult(
                    ends=self._ends,
                    commits=commits,
                    shown=undecided[0] if undecided else worst,
                    answer="undecided" if undecided or slower else "not slower",
                    took_s=within_s - self._left_s,
                    minutes_needed=minutes_needed(report),
                    gate_percent=report.experiment.comparison.gate_percent,
                )
            known, slowed = self._search(worst, threshold)
        suspects = known.suspects
        return BisectionResult(
            ends=self._ends,
            commits=commits,
            shown=worst,
            answer="slower",
            threshold_percent=threshold,
            suspects=self._suspects(suspects),
            named=suspects.named is not None,
            first_parent=self._runner.repository.first_parent,
            unknown=self._revisions(suspects.unknown),
            inherited=[
                (self._revision(parent), None if fork is None else self._revision(fork))
                for parent, fork in suspects.inherited.items()
            ],
            reversals=[(self._revision(bad), self._revision(good)) for bad, good in known.reversals],
            slowed=slowed,
            steps=self._steps,
            others=[benchmark.name for benchmark in slower if benchmark is not worst],
            took_s=within_s - self._left_s,
        )

    def say_what_is_left(self) -> None:
        """Say how many commits are left, and how to go on with them."""
        if self._known is None or not self._steps:
            return
        good, bad = self._revision(self._known.good), self._revision(self._known.bad)
        left = counted(len(self._known.suspects.commits), "commit")
        self._reporter.say(f"{left} left; go on with: --good {good.short} --bad {bad.short}")

    def _compare_ends(self) -> Report:
        """Compare the bad end with the good one; if it is slower, measure precisely enough by how much.

        Raises:
            AssayError: there is nothing to compare.
        """
        good, bad = self._ends
        with self._runner.prepared({COMMIT: bad}, self._good) as comparison:
            report, skipped = self._campaign(comparison, lambda experiment: experiment)
            if report is None:
                names = named([f"{left.name} ({left.why or left.kind})" for left in skipped])
                raise AssayError(f"no benchmark works at both ends: {names}; name ends that have one")
            width = _width(report)
            if width is not None:
                self._to_come += 1
                report = self._campaign(comparison, lambda experiment: experiment, width)[0] or report
        for benchmark in benchmarks_of(report):
            self._reporter.show(
                f"{bad.name} against {good.name}: {benchmark.name}: {benchmark.with_interval}"
            )
        return report

    def _campaign(
        self,
        prepared: PreparedComparison,
        adjusted: Callable[[Experiment], Experiment],
        width_percent: float | None = None,
    ) -> tuple[Report | None, tuple[SkippedBenchmark, ...]]:
        """Rehearse and measure a comparison; there is no report if no benchmark works.

        Args:
            prepared: the comparison.
            adjusted: changes what is compared.
            width_percent: end when every interval is this narrow; None: when all is decided.
        """
        began = time.monotonic()
        try:
            if prepared.experiment is None:
                return None, prepared.skipped
            experiment = adjusted(prepared.experiment.altered(comparison={"campaigns": self._most}))
            if not experiment.conditions():
                return None, prepared.skipped
            share_s = self._left_s / self._to_come
            prepared = replace(prepared, experiment=experiment)
            prepared = rehearsed(prepared, share_s, self._runner, shares=self._to_come)
            if prepared.experiment is None:
                return None, prepared.skipped
            experiment = prepared.experiment
            if width_percent is not None:
                experiment = experiment.altered(design={"until": None, "until_width_percent": width_percent})
            self._begun += 1
            return self._measure(experiment), prepared.skipped
        finally:
            self._left_s -= time.monotonic() - began
            self._to_come = max(1, self._to_come - 1)

    def _search(self, worst: BenchmarkComparison, threshold: float) -> tuple[Bisection, BenchmarkComparison]:
        """Try one commit after another; return what is known, and how the oldest slower commit compares."""
        good, bad = self._ends
        known = self._known = Bisection(self._runner.repository, good.commit, bad.commit)
        compared = {bad.commit: worst}
        while self._begun < self._most and (commit := known.next) is not None:
            left = known.suspects
            to_come = self._to_come = max(1, steps_of(len(left.commits)) - 1 + len(left.unknown))
            step = self._try(commit, worst, threshold)
            known.record_answer(commit, step.side, step.why)
            if step.benchmark is not None:
                compared[commit] = step.benchmark
            self._steps.append(step)
            self._reporter.show(
                f"{len(self._steps)} of about {len(self._steps) + to_come - 1}: {step.revision.short}"
                f" {step.line()}; {counted(len(known.suspects.commits), 'commit')} left:"
                f" {shortened(step.revision.subject, 40)}"
            )
        return known, compared[known.bad]

    def _try(self, commit: str, worst: BenchmarkComparison, threshold: float) -> Step:
        """Compare a commit with the good end.

        Raises:
            TooLittleTimeError: there is too little time for that.
            Interrupted, Exit: the user asked to stop.
        """

        def adjusted(experiment: Experiment) -> Experiment:
            gate = {"gate_percent": threshold, "smallest_effect_percent": threshold}
            return only(experiment, worst.comparison.context).altered(comparison=gate)

        revision = self._revision(commit)
        try:
            with self._runner.prepared({COMMIT: revision}, self._good) as comparison:
                report, skipped = self._campaign(comparison, adjusted)
        except (BuildFailedError, CannotStartError, OtherFilesError) as error:
            self._reporter.say(str(error))
            whys = {
                BuildFailedError: "it does not build",
                CannotStartError: "its benchmarks do not run",
                OtherFilesError: "its files are not what you have",
            }
            return Step(revision, "skipped", whys[type(error)])
        if report is None:
            why = next((left.why for left in skipped if left.name == worst.name), "")
            return Step(revision, "skipped", why or f"it lacks {worst.name}")
        [benchmark] = benchmarks_of(report)
        side = side_of(benchmark.comparison.gate)
        why = f"undecided, {benchmark.with_interval}: {benchmark.why}" if side == "skipped" else ""
        return Step(revision, side, why, benchmark)

    def _suspects(self, left: Suspects) -> list[Suspect]:
        """Return the commits that may be the first slow one, the newest first."""
        latest = left.commits[-1]
        every = replace(self._runner.repository, first_parent=False)
        return [
            Suspect(
                self._revision(commit),
                *self._runner.repository.author(commit),
                left.skipped.get(commit, "" if commit == latest else "not tried"),
                is_merge=len(every.parents(commit)) > 1,
            )
            for commit in reversed(left.commits)
        ]

    def _revision(self, commit: str) -> Revision:
        return self._runner.repository.revision(commit)

    def _revisions(self, commits: Sequence[str]) -> list[Revision]:
        return [self._revision(commit) for commit in commits]


def _least(report: Report, benchmark: BenchmarkComparison) -> float:
    """Return the slowdown that a benchmark shows, as a ratio of times; 0 if it shows none."""
    interval = benchmark.comparison.interval
    return least_slowdown(interval, report.experiment.comparison.better) if interval else 0


def _slowest(report: Report, benchmarks: Sequence[BenchmarkComparison]) -> BenchmarkComparison:
    """Return the benchmark with the largest slowdown that is shown."""
    return max(benchmarks, key=lambda benchmark: _least(report, benchmark))


def _width(report: Report) -> float | None:
    """Return how narrow the slowest benchmark's interval must be for a good search, in percent.

    None if it is narrow enough, if a gate decides, or if there is no slowdown.
    """
    worst = _slowest(report, benchmarks_of(report))
    if report.experiment.comparison.gate_percent is not None or not worst.is_regression:
        return None
    assert worst.comparison.ratio is not None
    assert worst.comparison.interval is not None
    better = report.experiment.comparison.better
    return width_percent(worst.comparison.ratio, worst.comparison.interval, better)


def _threshold(report: Report, worst: BenchmarkComparison) -> float | None:
    """Return the slowdown in percent from which a commit counts as slow; None if the ends show none."""
    experiment = report.experiment
    if experiment.comparison.gate_percent is not None:
        return experiment.comparison.gate_percent
    if worst.comparison.interval is None:
        return None

    def is_beyond(percent: float) -> bool:
        gated = experiment.comparison.gated(percent)
        analysis = summarise(report.trials, experiment.altered(comparison=gated))
        return any(
            comparison.context == worst.comparison.context and comparison.gate == "failed"
            for comparison in analysis.comparisons
        )

    return threshold_percent(worst.comparison.interval, experiment.comparison.better, is_beyond)
