"""Builds, rehearses and measures revisions in worktrees, for `assay ab` and `assay bisect`.

Benchmarks that a revision lacks, or that fail in one, are skipped.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.analysis.planning import forecast
from assay.campaign.benchmarks import (
    ComparisonRequest,
    apply_overrides,
    missing_benchmark,
    written_experiment,
)
from assay.campaign.rehearsal import RehearsalError, rehearse
from assay.campaign.reporter import Reporter
from assay.campaign.time_budget import FEWEST_BLOCKS, USUAL_FEWEST, blocks_within, cut
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.revisions import of_revisions, without
from assay.experiment.types import REVISION, MeasuredRevision, Revision
from assay.report import Report
from assay.report.ab import SkippedBenchmark, name_of
from assay.runner.build import cleaned_up, run_builds
from assay.runner.local import digest_of
from assay.runner.process import StopSignals
from assay.runner.subjects import listings
from assay.versions import Repository, Worktrees
from assay.words import printable

_BLOCK = "every benchmark once in each revision"


@dataclass(frozen=True)
class PreparedComparison:
    """A comparison of revisions that are built in worktrees.

    Attributes:
        levels: level of `revision` -> the revision; the first is the baseline.
        experiment: None if no benchmark works in all revisions.
        skipped: the benchmarks that are not compared.
        same_programs: programs of the project that have the same bytes in all revisions.
    """

    levels: Mapping[str, MeasuredRevision]
    experiment: Experiment | None = None
    skipped: tuple[SkippedBenchmark, ...] = ()
    same_programs: tuple[str, ...] = ()


@dataclass(frozen=True)
class RevisionRunner:
    """Builds revisions of a project, and prepares comparisons of them.

    Attributes:
        request: what is measured.
        own: the experiment, if one is measured.
        repository: has the revisions.
        stop: stops the work.
        reporter: shows progress.
    """

    request: ComparisonRequest
    own: Experiment | None
    repository: Repository
    stop: StopSignals
    reporter: Reporter

    def worktrees(self, revisions: Mapping[str, Revision]) -> Worktrees:
        """Return worktrees in which revisions are built once they are entered."""
        return Worktrees(
            self.repository,
            revisions,
            build=self.request.build or (self.own.ab.build if self.own else None),
            say=self.reporter.show,
            show_output=self.reporter.say,
            stop=self.stop,
        )

    @contextmanager
    def prepared(
        self,
        revisions: Mapping[str, Revision],
        built: Mapping[str, MeasuredRevision] | None = None,
    ) -> Iterator[PreparedComparison]:
        """Build revisions in worktrees, which exist within.

        Args:
            revisions: level of `revision` -> the revision.
            built: revisions that are built already; the first of all is the baseline.

        Raises:
            AssayError: there is a mistake in the request, a build failed, or a program is in no revision.
            Interrupted: the user asked to stop.
        """
        request, root, reporter, stop = self.request, self.repository.root, self.reporter, self.stop
        with self.worktrees(revisions) as worktrees:
            levels = {**(built or {}), **worktrees.built}
            own = self.own
            skipped: tuple[SkippedBenchmark, ...] = ()
            if own is None:
                own, skipped = written_experiment(request, root, levels, stop)
            if own is None:
                yield PreparedComparison(levels, skipped=skipped)
                return
            experiment = apply_overrides(of_revisions(own, root, levels), request)
            for in_worktree in experiment.in_worktrees().values():
                # The experiment's folder may be newer than the revision.
                in_worktree.folder.mkdir(parents=True, exist_ok=True)
            with cleaned_up(experiment, reporter.say, worktrees.temporary):
                run_builds(experiment, reporter.show, reporter.say, stop)
                common = _common(experiment, levels, stop)
                yield replace(common, skipped=(*skipped, *common.skipped))


def _common(
    experiment: Experiment, levels: Mapping[str, MeasuredRevision], stop: StopSignals
) -> PreparedComparison:
    """Return the experiment, without the contexts that a revision lacks.

    Raises:
        AssayError: a program is in no revision.
    """
    by_level = experiment.in_worktrees()
    listed_by = {level: listings(in_worktree, stop) for level, in_worktree in by_level.items()}
    skipped, contexts = [], []
    for group in experiment.groups().values():
        subject = str(experiment.settings(group[0])["subject"])
        lacking = [
            level
            for level, in_worktree in by_level.items()
            if not _has(in_worktree, listed_by[level], subject)
        ]
        if not lacking:
            continue
        if len(lacking) == len(by_level):
            program = experiment.programs[subject]
            what = "" if program.is_command else f", or does not have {subject}"
            raise AssayError(
                f"{printable(str(_relative(program.path, experiment.folder)))} is in no revision{what}; name"
                " what the build makes, and the command that makes it: --build"
            )
        context = {factor: level for factor, level in group[0].items() if factor != REVISION}
        contexts.append(context)
        skipped.append(missing_benchmark(name_of(experiment, context), levels, lacking))
    rest = without(experiment, contexts)
    if not rest.conditions():
        return PreparedComparison(levels, skipped=tuple(skipped))
    return PreparedComparison(levels, rest, tuple(skipped), _same_programs(rest))


def _relative(path: Path, folder: Path) -> Path:
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def _has(in_worktree: Experiment, listed_by: Mapping[str, Any], subject: str) -> bool:
    """Return whether a revision has a subject, as far as can be known without a trial."""
    program = in_worktree.programs.get(subject)
    if program is None:
        return True  # Assay's own subject, whichever revision is measured
    known = listed_by.get(program.table)
    return os.access(program.path, os.X_OK) and program.path.is_file() and (not known or subject in known)


def _same_programs(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of programs of the project that have the same bytes in every revision."""
    in_worktrees = experiment.in_worktrees().values()
    same = []
    for subject, program in experiment.programs.items():
        paths = [in_worktree.programs[subject].path for in_worktree in in_worktrees]
        own = any(path != program.path for path in paths) or not program.is_command
        if own and len({digest_of(str(path)) for path in paths}) == 1:
            same.append(program.path.name)
    return tuple(dict.fromkeys(same))


def rehearsed(
    prepared: PreparedComparison, seconds: float, runner: RevisionRunner, *, shares: int = 1
) -> PreparedComparison:
    """Run every benchmark once in each revision, without recording anything; skip benchmarks that fail.

    The experiment then has as many blocks as there is time for.

    Args:
        prepared: the comparison.
        seconds: the time that this campaign may measure for.
        runner: has built the revisions.
        shares: how many campaigns share the time of `--within`.

    Raises:
        AssayError: no benchmark works in any revision, or there is too little time.
        Interrupted: the user asked to stop.
    """
    experiment = prepared.experiment
    if experiment is None:
        return prepared
    ends = time.monotonic() + seconds
    failures: list[RehearsalError] = []
    # If benchmarks are skipped, a verdict may take as few blocks as any.
    check = cut(FEWEST_BLOCKS, ends, _BLOCK, shares)
    block_s = rehearse(
        experiment, ends, runner.stop, runner.reporter, built=True, failed=failures.append, check=check
    )
    failed: dict[str, SkippedBenchmark] = {}
    contexts = []
    for failure in failures:
        context = {name: level for name, level in failure.trial.levels.items() if name != REVISION}
        name = name_of(experiment, context)
        if name not in failed:
            failed[name] = SkippedBenchmark(
                name, "failed", f"{failure.trial.levels[REVISION]}: {failure.why}"
            )
            contexts.append(context)
    rest = without(experiment, contexts)
    skipped = (*prepared.skipped, *failed.values())
    if not rest.conditions():
        if len({failure.trial.levels[REVISION] for failure in failures}) > 1:  # no revision is to blame
            raise AssayError(str(failures[0]))
        return replace(prepared, experiment=None, skipped=skipped)
    block_s *= len(rest.conditions()) / len(experiment.conditions())
    left_s = ends - time.monotonic()
    blocks = blocks_within(rest, block_s, left_s, _BLOCK, shares)
    until = "verdict" if rest.comparison.gate_percent is None else "gate"
    design = rest.design.exactly(blocks, left_s / 60).altered(until=until, at_least=min(blocks, USUAL_FEWEST))
    return replace(prepared, experiment=rest.altered(design=design), skipped=skipped)


def minutes_needed(report: Report) -> float | None:
    """Return how long it takes in total until every benchmark is decided, if that can be forecast."""
    gated = report.experiment.comparison.gate_percent is not None
    answers = [answer for answer in report.analysis.answers if not answer.withheld]
    if all((answer.gate if gated else answer.verdict) != "undecided" for answer in answers):
        return None
    slowest = forecast([report.trials], report.experiment, "gate" if gated else "verdict").slowest
    return None if slowest is None else slowest.minutes
