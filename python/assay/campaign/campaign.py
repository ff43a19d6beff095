"""One campaign from start to end: build, begin, run and decide."""

import math
import secrets
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from rich.console import Console

from assay import programs
from assay.campaign.course import Course
from assay.campaign.progress import ProgressDisplay
from assay.experiment import Experiment, check, check_listed
from assay.experiment.flaws import PROGRAM
from assay.layout import Layouts
from assay.plan.make_plan import make_plan, without_layouts
from assay.plan.types import Plan
from assay.runner.build import cleaned_up, run_builds
from assay.runner.local import LocalExecutor
from assay.runner.machine import host, present_machine
from assay.runner.process import StopSignals, check_startable
from assay.runner.simulate import announcement, wanted
from assay.runner.subjects import kinds, listings, reclamations
from assay.store import Store
from assay.versions import Repository

PATIENCE_S = 600
"""How long a campaign that waits for a quiet host does so in all, in each of its runs."""


def plan_trials(experiment: Experiment) -> Plan:
    """Check an experiment against this machine, and plan its trials.

    Raises:
        AssayError: the machine cannot do what the experiment asks for.
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
    )


class Campaign:
    """A campaign that is begun or resumed. The caller holds the store's `runner_lock`.

    Attributes:
        number: in the store; None until it has begun.
    """

    def __init__(
        self,
        store: Store,
        experiment: Experiment,
        plan_or_number: Plan | int,
        *,
        built: bool = False,
        tuned: bool = False,
    ) -> None:
        """Take the plan of a new campaign, or the number of a campaign to resume.

        Builds and cleanups are run, unless the caller has built and cleans up. With `tuned`, trials run at
        the highest priority that is allowed.
        """
        self._built = built
        self._tuned = tuned
        self._store = store
        self._experiment = experiment
        self._plan = plan_or_number if isinstance(plan_or_number, Plan) else None
        self.number = plan_or_number if isinstance(plan_or_number, int) else None

    def carry_out(
        self, stop: StopSignals, console: Console, say: Callable[[str], None], *, pilot: int | None = None
    ) -> int:
        """Build what is measured, begin the campaign if it has not, run what is pending; return its number.

        Args:
            stop: ends it; every trial that has ended is kept.
            console: shows how far it is.
            say: is given what a build printed that failed.
            pilot: after how many blocks it ends because it is a pilot; None where it is not.

        Raises:
            CannotStartError: a build failed, or a program does not start.
            NothingExtractedError: what a command prints does not hold its metrics.
            AssayError: a program lacks a subject, or does not give a metric that is compared; or the store
                cannot be written.
            Interrupted: `stop` was signalled.
        """

        def show(line: str) -> None:
            console.print(line, highlight=False, markup=False, soft_wrap=True)

        experiment, store = self._experiment, self._store
        patience_s = PATIENCE_S if experiment.design.busy == "wait" else 0
        calibrate = programs.find("assay-calibrate")  # before anything is begun that it would end
        commit = _commit(experiment)  # as it is before a build, which may change files of git's
        if not self._built:
            run_builds(experiment, show, say, stop)
        for there in experiment.in_worktrees().values():
            listed = listings(there, stop)
            check_listed(there, listed)
        with Layouts(experiment, say, stop) as layouts:
            if self._plan is not None and self.number is None:
                fixed = layouts.fixed(self._plan.trials)
                for subject, reason in fixed.items():
                    show(f"{subject} runs in one layout: {reason}")
                known = {
                    **host(),
                    "subjects": kinds(experiment, listed),
                    "reclaims": reclamations(experiment, listed),
                    "one_layout": fixed,
                    "commit": commit,
                }
                plan = without_layouts(self._plan, fixed)
                self.number = store.begin_campaign(experiment=experiment, plan=plan, host=known)
            assert self.number is not None
            executor = LocalExecutor(
                calibrate,
                stop,
                experiment.folder_of,
                patience_s,
                say,
                layouts.binary,
                tuned=self._tuned,
                simulated=wanted(experiment),
                surroundings_of=experiment.surroundings,
            )
            if said := announcement(experiment):
                show(said)
            with nullcontext() if self._built else cleaned_up(experiment, say):
                self._run(executor, console, show, pilot)
        return self.number

    def _run(
        self, executor: LocalExecutor, console: Console, show: Callable[[str], None], pilot: int | None
    ) -> None:
        """Run what is pending."""
        experiment, store = self._experiment, self._store
        assert self.number is not None
        course = Course(store, self.number, experiment, clock=time.monotonic, say=show, pilot=pilot)
        for program in {trial.program for trial in course.pending}:
            check_startable(program)
        summary = store.campaign(self.number)
        blocks = experiment.design.blocks
        with ProgressDisplay(
            console,
            course.pending,
            summary.ended,
            summary.ended - summary.counts.get("valid", 0),
            may_end_early=(blocks.until, blocks.minutes, pilot) != (None, None, None),
            budget_s=math.inf if blocks.minutes is None else 60 * blocks.minutes - course.running_s(),
        ) as progress:
            course.run(executor, progress)


def _commit(experiment: Experiment) -> dict[str, Any] | None:
    """Return which commit an experiment measures, and what is changed in it; None outside of git.

    It is the one that its folder has checked out; of several revisions, the last.
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
