"""Plans the trials of an experiment on this machine."""

import secrets

from assay import programs
from assay.experiment import Experiment, check
from assay.experiment.flaws import PROGRAM
from assay.plan.make_plan import make_plan
from assay.plan.types import Plan
from assay.runner.machine import present_machine


def plan_trials(experiment: Experiment) -> Plan:
    """Check an experiment against this machine, and plan its trials.

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
    )
