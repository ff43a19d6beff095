"""What a campaign, its rehearsal and a replay need alike: a plan, programs that work, an executor."""

import secrets
from collections.abc import Callable, Collection
from typing import Any

from assay import programs
from assay.campaign.reporter import Reporter
from assay.experiment import Experiment, check, check_listed
from assay.experiment.flaws import PROGRAM
from assay.layout import Layouts
from assay.plan.make_plan import make_plan
from assay.plan.types import Plan, PlannedTrial
from assay.runner.build import run_builds
from assay.runner.local import LocalExecutor
from assay.runner.machine import present_machine
from assay.runner.process import StopSignals, check_startable
from assay.runner.subjects import Listing, listings


def plan_trials(experiment: Experiment, hosts: int = 1) -> Plan:
    """Check an experiment against this machine, and plan its trials, for each host by itself.

    Raises:
        AssayError: the machine cannot run the experiment.
    """
    machine = present_machine()
    check(experiment, machine)
    trial = programs.find("assay-trial")
    if experiment.flaws():
        programs.find(PROGRAM)
    seed = experiment.design.seed
    return make_plan(
        experiment,
        secrets.randbelow(2**53) if seed is None else seed,
        lambda subject: str(experiment.programs[subject].path if subject in experiment.programs else trial),
        machine.memory_limit_mb,
        hosts=hosts,
    )


def check_built(
    experiment: Experiment, stop: StopSignals, reporter: Reporter, *, built: bool
) -> dict[str, Listing]:
    """Build what is measured, unless it is built; return table of [subjects] -> the subjects of its program.

    Raises:
        CannotStartError: a build failed.
        AssayError: a program lacks a subject.
        Interrupted: `stop` was signalled.
    """
    if not built:
        run_builds(experiment, reporter.show, reporter.say, stop)
    listed: dict[str, Listing] = {}
    for in_worktree in experiment.in_worktrees().values():
        listed = listings(in_worktree, stop)
        check_listed(in_worktree, listed)
    return listed


def check_programs(trials: Collection[PlannedTrial]) -> None:
    """Raise a CannotStartError if a program of some trials cannot be started."""
    for program in {trial.program for trial in trials}:
        check_startable(program)


def executor_of(
    experiment: Experiment,
    layouts: Layouts,
    stop: StopSignals,
    say: Callable[[str], None],
    **more: Any,
) -> LocalExecutor:
    """Return what runs the trials of an experiment on this machine; `more` are fields of it."""
    return LocalExecutor(
        programs.find("assay-calibrate"),
        stop,
        experiment.folder_of,
        say=say,
        surroundings_of=experiment.surroundings,
        **{"binary_of": layouts.binary, **more},
    )
