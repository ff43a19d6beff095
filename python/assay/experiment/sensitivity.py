"""Turns an experiment into one that asks how sensitive its conditions are to what is arbitrary.

Blackwell 1998, section 5.3.2: N configurations are drawn near the experiment's own, and each is run M times.
Here that is a factor `configuration` with N levels, and M blocks. A factor `perturbed` says what is drawn:
nothing, each thing alone, and everything.
"""

from collections.abc import Mapping

from assay.errors import AssayError
from assay.experiment.perturb import UNMOVED
from assay.experiment.types import Experiment, Level, about

PERTURBED = "perturbed"
CONFIGURATION = "configuration"
NOTHING = "nothing"
EVERYTHING = "everything"


def sensitive(experiment: Experiment, configurations: int, replicates: int) -> Experiment:
    """Return the experiment that measures the sensitivity of another one's conditions.

    Args:
        experiment: whose conditions, metric and `perturb` are taken.
        configurations: N, of each level of `perturbed`.
        replicates: M, of each configuration.

    Raises:
        AssayError: it perturbs nothing, or has a factor of one of the two names.
    """
    moved = experiment.perturb
    where = f"{experiment.path}: "
    if experiment.varied:
        raise AssayError(f"{where}measures sensitivity already; run it with assay run")
    if not moved.names():
        raise AssayError(f"{where}perturb: nothing is; name what may vary, such as key_range = 0.01")
    for factor in (PERTURBED, CONFIGURATION):
        if factor in experiment.changes:
            raise AssayError(f"{where}factors.{factor}: --sensitivity has one of this name; rename it")
    varied = {NOTHING: moved.nothing()}
    if len(moved.names()) > 1:
        varied |= {name: moved.alone(name) for name in moved.names()}
    varied[EVERYTHING] = moved
    added: Mapping[str, dict[Level, dict[str, object]]] = {
        PERTURBED: {name: {} for name in varied},
        CONFIGURATION: {number: {} for number in range(1, configurations + 1)},
    }
    metric = experiment.comparison.metric
    return experiment.altered(
        name=name_of(experiment.name),
        question=f"How sensitive is {metric} to what is arbitrary? In: {experiment.question}",
        comparison={**about(PERTURBED, NOTHING), "across": {CONFIGURATION: {}}},
        design=experiment.design.exactly(replicates),
        changes={**experiment.changes, **added},
        perturb=UNMOVED,
        varied=varied,
        charts=(),
        reported=(),
    )


def name_of(experiment: str) -> str:
    """Return what the experiment is called that measures the sensitivity of one of this name."""
    return f"{experiment[:52]}-sensitivity"
