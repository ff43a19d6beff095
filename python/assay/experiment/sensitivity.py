"""Turns an experiment into one that asks how sensitive its conditions are to what is arbitrary.

Blackwell 1998, section 5.3.2: N configurations are drawn near the experiment's own, and each is run M times.
Here that is a factor `configuration` with N levels, and M blocks. A factor `perturbed` says what is drawn:
nothing, each thing alone, everything, and everything with randomness added anew in every trial.
"""

from collections.abc import Mapping, Sequence

from assay.errors import AssayError
from assay.experiment.perturb import LARGEST_NUMBER, UNMOVED
from assay.experiment.types import Experiment, Level, Varied, about

PERTURBED = "perturbed"
CONFIGURATION = "configuration"
NOTHING = "nothing"
EVERYTHING = "everything"

RANDOMNESS = (0.5, 1.0, 2.0)


def sensitive(
    experiment: Experiment,
    configurations: int,
    replicates: int,
    randomness: Sequence[float] | None = None,
) -> Experiment:
    """Return the experiment that measures the sensitivity of another one's conditions.

    Args:
        experiment: whose conditions, metric and `perturb` are taken.
        configurations: N, of each level of `perturbed`.
        replicates: M, of each configuration.
        randomness: multiples of every C with which each trial of a configuration is moved once more; by
            default those of `RANDOMNESS` that no C is too large for, and none where nothing has a C.

    Raises:
        AssayError: it perturbs nothing, has a factor of one of the two names, or a multiple is too large.
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
    numbers = moved.scaled(1).names()
    limits = (("C", moved.amounts, 1.0), ("uniform", moved.uniform, LARGEST_NUMBER))
    beyond = {
        scale: f"{scale:g} times the {key} of {largest:g} is more than {limit:g}"
        for key, held, limit in limits
        for scale in (RANDOMNESS if randomness is None else randomness)
        if (largest := max(held.values(), default=0.0)) * scale > limit
    }
    if randomness is None:
        randomness = [scale for scale in RANDOMNESS if numbers and scale not in beyond]
    elif randomness and not numbers:
        raise AssayError(f"{where}perturb: nothing has a C to be multiplied; use --randomness none")
    elif beyond:
        raise AssayError(f"{where}perturb: {next(iter(beyond.values()))}; use a smaller one")
    varied = {NOTHING: Varied(moved=moved.nothing())}
    if len(moved.names()) > 1:
        varied |= {name: Varied(moved=moved.alone(name)) for name in moved.names()}
    varied[EVERYTHING] = Varied(moved=moved)
    for scale in randomness:
        varied[with_randomness(scale)] = Varied(moved=moved, redrawn=moved.scaled(scale), scale=scale)
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


def with_randomness(scale: float) -> str:
    """Return the level of `perturbed` at which every trial is moved once more, by this many times C."""
    return f"{EVERYTHING} and {scale:g} C anew"
