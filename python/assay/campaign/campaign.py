"""One campaign from start to end: plan, build, begin, run, analyse, and record its verdicts."""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from assay import programs
from assay.analysis import Analysis
from assay.campaign.hosts import Hosts, LedCampaign
from assay.campaign.prepare import check_built, check_programs, executor_of, plan_trials
from assay.campaign.progress import ProgressDisplay
from assay.campaign.reporter import Reporter
from assay.campaign.scheduler import Scheduler
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.types import Revisions
from assay.layout import Layouts
from assay.plan.make_plan import without_layouts
from assay.plan.types import LAYOUT, Plan, PlannedTrial
from assay.report import Report, gather
from assay.report.verdicts import record
from assay.runner.build import cleaned_up
from assay.runner.local import LocalExecutor
from assay.runner.machine import host
from assay.runner.process import CannotStartError, Interrupted, StopSignals
from assay.runner.simulate import announcement, simulation_plan
from assay.runner.subjects import facts_of_subjects
from assay.store import Store, StoreName, runner_lock
from assay.versions import Repository, Worktrees

PATIENCE_S = 600
"""A campaign that waits for a quiet host waits at most this long in total, each time that it runs."""


class BrokenCampaignError(AssayError):
    """A build or a program of a campaign that has begun fails; `number` can be resumed."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


@dataclass(frozen=True)
class CampaignResult:
    """How a campaign ended.

    Attributes:
        number: in the store; None if the campaign was stopped before it began.
        report: None if the campaign was stopped.
        signal: which stopped the campaign; None if it was not stopped.
    """

    number: int | None
    report: Report | None = None
    signal: int | None = None


def run_campaign(
    name: StoreName,
    experiment_or_number: Experiment | int,
    stop: StopSignals,
    reporter: Reporter,
    *,
    built: bool = False,
    tuned: bool = False,
    pilot: int | None = None,
    on: Hosts | None = None,
) -> CampaignResult:
    """Run a new campaign or resume one, record its findings and verdicts in the store, and report it.

    When trials have ended, `stop` acts at once, until the caller leaves it.

    Args:
        name: the store, which is created if a new campaign needs it.
        experiment_or_number: the experiment of a new campaign, or the number of a campaign to resume.
        stop: stops the campaign; every trial that has ended is kept.
        reporter: shows progress.
        built: the caller has run builds, and runs cleanups.
        tuned: trials run at the highest priority that is allowed.
        pilot: the campaign is a pilot, which ends after this many blocks.
        on: the hosts that run the trials; None: this machine.

    Raises:
        CannotStartError: before the campaign began, a build failed, or a program does not start.
        BrokenCampaignError: the same after it began.
        NothingExtractedError: the output of a command does not contain its metrics.
        AssayError: the machine cannot run the experiment; a program lacks a subject or a compared metric; the
            campaign is finished; another runner uses the store; or the store cannot be written.
    """
    # Each host has this lock while it runs trials; the one that leads them may be one of them.
    alone = nullcontext if on else runner_lock
    if isinstance(experiment_or_number, int):
        with Store.open(name, create=False) as store, alone(name):
            number = experiment_or_number
            if store.campaign(number).finished:
                raise AssayError(f"nothing to resume: campaign {number} is finished")
            resumed = _Campaign(store, stop, reporter, number, built, tuned, pilot, on)
            return resumed.run(store.experiment(number), None)
    plan = plan_trials(experiment_or_number, on.count if on else 1)
    with Store.open(name) as store, alone(name):
        begun = _Campaign(store, stop, reporter, None, built, tuned, pilot, on)
        return begun.run(experiment_or_number, plan)


@dataclass
class _Campaign:
    """A campaign in an open store whose `runner_lock` is held; the others are arguments of `run_campaign`."""

    store: Store
    stop: StopSignals
    reporter: Reporter
    number: int | None
    built: bool
    tuned: bool
    pilot: int | None
    on: Hosts | None

    def run(self, experiment: Experiment, plan: Plan | None) -> CampaignResult:
        """Run what is pending; `plan` is None if the campaign is resumed."""
        try:
            analysis = self._run_trials(experiment, plan)
            assert self.number is not None
            self.stop.act_at_once()
            report = gather(self.store, self.number, analysis)
            record(report, self.store)
        except CannotStartError as error:
            if self.number is None:
                raise
            raise BrokenCampaignError(self.number, str(error)) from error
        except Interrupted as interrupted:
            if self.number is not None:
                self.store.check_in_place(self.number)
            return CampaignResult(self.number, signal=interrupted.signum)
        return CampaignResult(self.number, report)

    def _run_trials(self, experiment: Experiment, plan: Plan | None) -> Analysis | None:
        """Build, begin the campaign if it is new, and run its trials; return what the last look found."""
        worktrees = nullcontext(experiment) if plan else _rebuilt(experiment, self.stop, self.reporter)
        with worktrees as built, self._prepared(built, plan) as executor:
            assert self.number is not None
            with self.store.leading(self.number):
                return self._run_pending(self.number, built, executor)

    def _run_pending(self, number: int, built: Experiment, executor: LocalExecutor) -> Analysis | None:
        store, reporter, design = self.store, self.reporter, built.design
        scheduler = Scheduler(store, number, built, clock=time.monotonic, say=reporter.show, pilot=self.pilot)
        check_programs(scheduler.pending)
        self._check_layouts(scheduler.pending)
        summary = store.campaign(number)
        with ProgressDisplay(
            reporter.console,
            scheduler.pending,
            summary.ended,
            summary.ended - summary.counts.get("valid", 0),
            may_end_early=(design.end, design.minutes, self.pilot) != (None, None, None),
            budget_s=math.inf if design.minutes is None else 60 * design.minutes - scheduler.running_s(),
        ) as progress:
            if self.on is None:
                scheduler.run(executor, progress)
            else:
                led = LedCampaign(store, number, built, self.stop, reporter, self.tuned)
                self.on.run(led, scheduler, progress)
        # Hosts may have recorded more since the last look.
        return None if self.on else scheduler.analysis

    def _check_layouts(self, trials: Iterable[PlannedTrial]) -> None:
        """Check that hosts run no trial that must be linked."""
        if self.on and any(LAYOUT in trial.perturbation for trial in trials):
            raise AssayError(
                "--on: hosts cannot link a program in another layout for each block: leave out --link, or"
                " layout in [perturb]"
            )

    @contextmanager
    def _prepared(self, experiment: Experiment, plan: Plan | None) -> Iterator[LocalExecutor]:
        """Build what is measured, and write the plan of a new campaign into the store."""
        reporter, stop = self.reporter, self.stop
        if self.on:
            self.on.check(experiment, self.store)
        elif self.number is not None and (hosts := self.store.hosts_planned(self.number)) > 1:
            reporter.show(
                f"campaign {self.number} is planned for {hosts} hosts; this machine runs what is left of it"
                " (--on FILE names hosts)"
            )
        programs.find("assay-calibrate")  # before a campaign begins, which could not run without
        commit = _commit(experiment)  # before a build, which may change files in git
        listed = check_built(experiment, stop, reporter, built=self.built)
        with Layouts(experiment, reporter.say, stop) as layouts:
            if plan is not None:
                one_layout = layouts.fixed(plan.trials)
                for subject, reason in one_layout.items():
                    reporter.show(f"{subject} runs in one layout: {reason}")
                plan = without_layouts(plan, one_layout)
                self._check_layouts(plan.trials)
                known = {
                    **host(),
                    **facts_of_subjects(experiment, listed),
                    "one_layout": one_layout,
                    "commit": commit,
                }
                self.number = self.store.begin_campaign(experiment=experiment, plan=plan, host=known)
            executor = executor_of(
                experiment,
                layouts,
                stop,
                reporter.say,
                patience_s=PATIENCE_S if experiment.design.busy == "wait" else 0,
                tuned=self.tuned,
                simulated=simulation_plan(experiment),
            )
            if announced := announcement(experiment):
                reporter.show(announced)
            with nullcontext() if self.built else cleaned_up(experiment, reporter.say):
                yield executor


@contextmanager
def _rebuilt(experiment: Experiment, stop: StopSignals, reporter: Reporter) -> Iterator[Experiment]:
    """Build the revisions of a campaign that is resumed, in new worktrees; they exist within.

    An experiment that compares no revisions stays as it is.

    Raises:
        AssayError: a revision is gone, or does not build any more.
        Interrupted: `stop` was signalled.
    """
    compared = experiment.revisions
    if compared is None:
        yield experiment
        return
    repository = Repository.find(compared.root)
    revisions = {
        level: replace(repository.revision(known.commit), name=known.name, changed=known.changed)
        for level, known in compared.levels.items()
    }
    with Worktrees(
        repository,
        revisions,
        build=experiment.ab.build,
        say=reporter.show,
        show_output=reporter.say,
        stop=stop,
    ) as worktrees:
        again = Revisions(root=compared.root, levels=dict(worktrees.built))
        yield experiment.altered(revisions=again)


def _commit(experiment: Experiment) -> dict[str, Any] | None:
    """Return the commit that an experiment measures, and which files differ from it; None outside git.

    It is the one that the experiment's folder has checked out; if revisions are compared, the last of them.
    """
    compared = experiment.revisions
    revision = list(compared.levels.values())[-1] if compared else Repository.commit_of(experiment.folder)
    if revision is None:
        return None
    return {
        "hash": revision.commit,
        "subject": revision.subject,
        "committed_at": revision.committed_at.isoformat(),
        "changed": revision.changed,
    }
