"""What `assay ab` and `assay bisect` share: revisions built in worktrees, rehearsed and measured.

What only one of the revisions has is left out, as is what fails in one.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from assay.cli.benchmarks import Asked, as_asked, left_out_of, written_experiment
from assay.cli.timed import FEWEST_BLOCKS, USUAL_FEWEST, blocks_within, cut, without_place
from assay.errors import AssayError
from assay.words import counted, printable

if TYPE_CHECKING:
    from assay.campaign import RehearsalError
    from assay.experiment import Experiment
    from assay.experiment.types import MeasuredRevision
    from assay.report import Report
    from assay.report.ab import LeftOut
    from assay.runner.process import StopSignals
    from assay.versions import Repository, Revision, Worktrees

_BLOCK = "every benchmark once in each revision"


@dataclass(frozen=True)
class Session:
    """What ends the work of a command, and what it tells people meanwhile.

    Attributes:
        stop: ends it.
        quiet: no progress is shown.
    """

    stop: "StopSignals"
    quiet: bool

    def say(self, line: str) -> None:
        """Print a line beside the answer."""
        typer.echo(line, err=True)

    def show(self, line: str) -> None:
        """Print how far it is."""
        if not self.quiet:
            self.say(line)


@dataclass(frozen=True)
class Share:
    """The share of the time of `--within` that one campaign has.

    Attributes:
        seconds: for measuring.
        of: how many campaigns share the time.
    """

    seconds: float
    of: int = 1


@dataclass(frozen=True)
class Ready:
    """What is compared of some revisions that stand built in worktrees.

    Attributes:
        levels: level of `revision` -> the revision; the first is the baseline.
        experiment: None where no benchmark works in all revisions.
        left_out: the benchmarks that are not compared.
        same_programs: programs of the project that have the same bytes in all revisions.
    """

    levels: "Mapping[str, MeasuredRevision]"
    experiment: "Experiment | None" = None
    left_out: "tuple[LeftOut, ...]" = ()
    same_programs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bench:
    """What measures revisions.

    Attributes:
        asked: what is to be measured.
        own: the experiment, where one is measured.
        repository: whose revisions they are.
        session: tells how far it is.
    """

    asked: Asked
    own: "Experiment | None"
    repository: "Repository"
    session: Session

    def built(self, revisions: "Mapping[str, Revision]") -> "Worktrees":
        """Return worktrees in which revisions stand built while they are entered."""
        from assay.versions import Worktrees

        return Worktrees(
            self.repository,
            revisions,
            build=self.asked.build or (self.own.ab.build if self.own else None),
            say=self.session.show,
            show_output=self.session.say,
            stop=self.session.stop,
        )

    @contextmanager
    def standing(
        self,
        revisions: "Mapping[str, Revision]",
        beside: "Mapping[str, MeasuredRevision] | None" = None,
    ) -> Iterator[Ready]:
        """Build revisions in worktrees, which stand within.

        Args:
            revisions: level of `revision` -> the revision.
            beside: those that stand already; the first of all is the baseline.

        Raises:
            AssayError: there is a mistake in what is asked, a build failed, or a program is in no revision.
            Interrupted: the user asked to stop.
        """
        from assay.experiment.revisions import of_revisions
        from assay.runner.build import cleaned_up, run_builds

        asked, root, session = self.asked, self.repository.root, self.session
        with self.built(revisions) as worktrees:
            levels = {**(beside or {}), **levels_of(worktrees, revisions)}
            own = self.own
            left_out: tuple[LeftOut, ...] = ()
            if own is None:
                own, left_out = written_experiment(asked, root, levels, session.stop)
            if own is None:
                yield Ready(levels, left_out=left_out)
                return
            experiment = as_asked(of_revisions(own, root, levels), asked)
            for of in experiment.in_worktrees().values():
                of.folder.mkdir(parents=True, exist_ok=True)  # it may be newer than what it measures
            with cleaned_up(experiment, session.say, worktrees.temporary):
                run_builds(experiment, session.show, session.say, session.stop)
                common = _common(experiment, levels, session.stop)
                yield replace(common, left_out=(*left_out, *common.left_out))


@contextmanager
def standing_again(experiment: "Experiment", *, quiet: bool) -> "Iterator[Experiment]":
    """Have the revisions of a campaign that is resumed stand built within, in new worktrees.

    An experiment that compares no revisions stays as it is.

    Raises:
        AssayError: a revision is gone, or does not build any more.
        Exit: the user asked to stop.
    """
    from assay.experiment.types import Revisions
    from assay.runner.process import Interrupted, StopSignals
    from assay.versions import Repository, Worktrees

    compared = experiment.revisions
    if compared is None:
        yield experiment
        return
    repository = Repository.find(compared.root)
    revisions = {
        level: replace(repository.revision(of.commit), name=of.name, changed=of.changed)
        for level, of in compared.levels.items()
    }
    with StopSignals() as stop:
        session = Session(stop, quiet)
        try:
            with Worktrees(
                repository,
                revisions,
                build=experiment.ab.build,
                say=session.show,
                show_output=session.say,
                stop=stop,
            ) as worktrees:
                levels = levels_of(worktrees, revisions)
                again = Revisions(root=compared.root, levels=levels)
                yield experiment.model_copy(update={"revisions": again})
        except Interrupted as interrupted:
            session.say("stopped while building; nothing is lost")
            raise typer.Exit(128 + interrupted.signum) from None


def levels_of(worktrees: "Worktrees", revisions: "Mapping[str, Revision]") -> "dict[str, MeasuredRevision]":
    """Return level of `revision` -> the revision that is built in its worktree."""
    from assay.experiment.types import MeasuredRevision

    return {
        level: MeasuredRevision(
            commit=revision.commit,
            name=revision.name,
            subject=revision.subject,
            committed_at=revision.committed_at,
            tree=revision.tree,
            changed=revision.changed,
            folder=worktrees.folders[level],
            changed_by_build=worktrees.changed_by_build.get(level, ()),
        )
        for level, revision in revisions.items()
    }


def _common(experiment: "Experiment", levels: "Mapping[str, MeasuredRevision]", stop: "StopSignals") -> Ready:
    """Return the experiment with those contexts alone that every revision has.

    Raises:
        AssayError: a program is in no revision.
    """
    from assay.experiment.revisions import without
    from assay.experiment.types import REVISION
    from assay.report.ab import name_of
    from assay.runner.subjects import listings

    there = experiment.in_worktrees()
    listed_by = {level: listings(of, stop) for level, of in there.items()}
    left_out, contexts = [], []
    for group in experiment.groups().values():
        subject = str(experiment.settings(group[0])["subject"])
        lacking = [level for level, of in there.items() if not _has(of, listed_by[level], subject)]
        if not lacking:
            continue
        if len(lacking) == len(there):
            program = experiment.programs[subject]
            what = "" if program.is_command else f", or does not have {subject}"
            raise AssayError(
                f"{printable(str(_relative(program.path, experiment.folder)))} is in no revision{what}; name"
                " what the build makes, and the command that makes it: --build"
            )
        context = {factor: level for factor, level in group[0].items() if factor != REVISION}
        contexts.append(context)
        left_out.append(left_out_of(name_of(experiment, context), levels, lacking))
    left = without(experiment, contexts)
    if not left.conditions():
        return Ready(levels, left_out=tuple(left_out))
    return Ready(levels, left, tuple(left_out), _same_programs(left))


def _relative(path: Path, folder: Path) -> Path:
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def _has(there: "Experiment", listed_by: Mapping[str, Any], subject: str) -> bool:
    """Return whether a revision has a subject, as far as can be known without a trial."""
    program = there.programs.get(subject)
    if program is None:
        return True  # one of Assay's own, whichever revision is measured
    known = listed_by.get(program.table)
    return os.access(program.path, os.X_OK) and program.path.is_file() and (not known or subject in known)


def _same_programs(experiment: "Experiment") -> tuple[str, ...]:
    """Return the names of programs of the project that have the same bytes in every revision."""
    from assay.runner.local import digest_of

    there = experiment.in_worktrees().values()
    same = []
    for subject, program in experiment.programs.items():
        own = any(of.programs[subject].path != program.path for of in there) or not program.is_command
        if own and len({digest_of(str(of.programs[subject].path)) for of in there}) == 1:
            same.append(program.path.name)
    return tuple(dict.fromkeys(same))


def rehearsed(ready: Ready, share: Share, session: Session) -> Ready:
    """Run every benchmark once in each revision, without recording anything; leave out what fails.

    The experiment then has as many blocks as there is time for.

    Raises:
        AssayError: no benchmark works in any revision, or there is too little time.
        Interrupted: the user asked to stop.
    """
    from assay.campaign import plan_trials, rehearse
    from assay.experiment.revisions import without
    from assay.experiment.types import REVISION, Blocks
    from assay.report.ab import LeftOut, name_of

    experiment = ready.experiment
    if experiment is None:
        return ready
    ends = time.monotonic() + share.seconds
    try:
        plan = plan_trials(experiment)
    except AssayError as error:
        raise without_place(error, experiment.path) from error
    failures: list[RehearsalError] = []
    session.show(f"rehearsing: {counted(experiment.conditions(), 'trial')}")
    # Where benchmarks are left out, a verdict may take as few blocks as any.
    check = cut(FEWEST_BLOCKS, ends, _BLOCK, share.of)
    block_s = rehearse(
        experiment, plan, ends, session.stop, session.say, built=True, failed=failures.append, check=check
    )
    failed: dict[str, LeftOut] = {}
    contexts = []
    for failure in failures:
        context = {name: level for name, level in failure.trial.levels.items() if name != REVISION}
        name = name_of(experiment, context)
        if name not in failed:
            failed[name] = LeftOut(name, "failed", f"{failure.trial.levels[REVISION]}: {failure.why}")
            contexts.append(context)
    left = without(experiment, contexts)
    if not left.conditions():
        if len({failure.trial.levels[REVISION] for failure in failures}) > 1:  # no revision is to blame
            raise AssayError(str(failures[0]))
        return replace(ready, experiment=None, left_out=(*ready.left_out, *failed.values()))
    block_s *= len(left.conditions()) / len(experiment.conditions())
    left_s = ends - time.monotonic()
    blocks = blocks_within(left, block_s, left_s, _BLOCK, share.of)
    until: Literal["gate", "verdict"] = "verdict" if left.comparison.gate_percent is None else "gate"
    course = Blocks(most=blocks, minutes=left_s / 60, until=until, fewest=min(blocks, USUAL_FEWEST))
    design = left.design.model_copy(update={"blocks": course})
    left = left.model_copy(update={"design": design})
    return replace(ready, experiment=left, left_out=(*ready.left_out, *failed.values()))


def minutes_needed(report: "Report") -> float | None:
    """Return how long it takes in all until every benchmark is decided, as far as what was seen tells."""
    from assay.analysis.planning import forecast

    gated = report.experiment.comparison.gate_percent is not None
    answers = [answer for answer in report.analysis.answers if not answer.withheld]
    if all((answer.gate if gated else answer.verdict) != "undecided" for answer in answers):
        return None
    slowest = forecast([report.trials], report.experiment, "gate" if gated else "verdict").slowest
    return None if slowest is None else slowest.minutes
