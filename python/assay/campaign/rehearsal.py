"""A rehearsal: every condition once, before a campaign, to see that it works and how long it takes."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

from assay.campaign.prepare import check_built, check_programs, executor_of, plan_trials
from assay.campaign.reporter import Reporter
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.metrics import why_missing
from assay.layout import Layouts
from assay.plan.make_plan import without_layouts
from assay.plan.types import PlannedTrial
from assay.runner.process import StopSignals
from assay.runner.types import Outcome
from assay.store.ended import metrics_of
from assay.words import condition_name, counted

_SHORTEST_S = 0.1


class RehearsalError(AssayError):
    """A trial of a rehearsal is not valid, or lacks the compared metric.

    Attributes:
        why: the reason.
        trial: the trial.
        outcome: its outcome.
    """

    def __init__(self, place: str, why: str, trial: PlannedTrial, outcome: Outcome) -> None:
        super().__init__(f"{place}: {why}")
        self.why = why
        self.trial = trial
        self.outcome = outcome


def _refuse(error: RehearsalError) -> None:
    raise error


def _go_on(_part_s: float, _block_s: float) -> None:
    pass


def rehearse(
    experiment: Experiment,
    ends: float,
    stop: StopSignals,
    reporter: Reporter,
    *,
    built: bool = False,
    failed: Callable[[RehearsalError], None] = _refuse,
    check: Callable[[float, float], None] = _go_on,
) -> float:
    """Plan an experiment, build what is measured, and run the first block without recording anything.

    Args:
        experiment: is rehearsed.
        ends: the moment of the monotonic clock when time is up: no trial may take longer than is left.
        stop: stops the rehearsal.
        reporter: shows progress.
        built: whether the caller has run the builds.
        failed: gets each trial that is not valid, or lacks the compared metric; by default such a trial ends
            the rehearsal.
        check: gets, after each group, how long the groups that worked took, and how long the block will take,
            seconds; it may raise an error that ends the rehearsal.

    Returns:
        How long the block took, seconds.

    Raises:
        CannotStartError: a build failed, or a program does not start.
        RehearsalError: a trial is not valid, or lacks the compared metric.
        AssayError: the machine cannot run the experiment, or a program lacks a subject.
        Interrupted: `stop` was signalled.
    """
    plan = plan_trials(experiment)
    block = [trial for trial in plan.trials if trial.block == 0]
    reporter.show(f"rehearsing: {counted(block, 'trial')}")
    check_built(experiment, stop, reporter, built=built)
    began = time.monotonic()
    check_programs(block)
    with Layouts(experiment, reporter.say, stop) as layouts:
        linked = without_layouts(replace(plan, trials=tuple(block)), layouts.fixed(block)).trials
        executor = executor_of(experiment, layouts, stop, reporter.say)
        part_s, done = 0.0, 0
        for _, group in groupby(linked, key=lambda trial: trial.group):
            group_began = time.monotonic()
            left_s = max(ends - group_began, _SHORTEST_S)
            trials = [replace(trial, timeout_s=min(trial.timeout_s, left_s)) for trial in group]
            works = True
            for trial, outcome in zip(trials, executor.execute(trials), strict=True):
                if why := _mistake(experiment, outcome):
                    works = False
                    failed(RehearsalError(_place(experiment, trial), why, trial, outcome))
            now = time.monotonic()
            part_s += now - group_began if works else 0
            done += len(trials)
            check(part_s, (now - began) * len(linked) / done)
    return time.monotonic() - began


def _mistake(experiment: Experiment, outcome: Outcome) -> str:
    """Return why a trial does not count; "" if it counts."""
    if outcome.status != "valid":
        return outcome.reason
    metric, metrics = experiment.comparison.metric, metrics_of(outcome)
    return "" if metric in metrics else why_missing(metric, metrics)


def _place(experiment: Experiment, trial: PlannedTrial) -> str:
    compared = experiment.comparison.factor
    context = {factor: level for factor, level in trial.levels.items() if factor != compared}
    name = str(trial.levels[compared])
    return f"{name} ({condition_name(context)})" if context else name
