"""`assay run --sensitivity`: how far what is arbitrary moves the results of an experiment."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import whole_option
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.experiment import Experiment

CONFIGURATIONS = 12
REPLICATES = 4

SensitivityOption = Annotated[
    bool,
    typer.Option("--sensitivity", help="Measure instead what arbitrary decisions do to the results."),
]
ConfigurationsOption = Annotated[
    int | None,
    whole_option(f"With --sensitivity: draw N configurations. Default: {CONFIGURATIONS}.", 2, 10_000),
]
ReplicatesOption = Annotated[
    int | None,
    whole_option(f"With --sensitivity: run each configuration N times. Default: {REPLICATES}.", 1, 10_000),
]
RandomnessOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIMES,...",
        help="With --sensitivity: multiples of C to add anew in every trial; none leaves it out."
        " Default: 0.5,1,2.",
    ),
]


def with_configurations(
    experiment: "Experiment", configurations: int | None, replicates: int | None, randomness: str | None
) -> "Experiment":
    """Return the experiment that measures how far what is arbitrary moves the results of another one.

    Raises:
        AssayError: it misleads on purpose, or the randomness is not what the option takes.
    """
    from assay.experiment.sensitivity import sensitive

    experiment.check_honest("assay run --sensitivity")
    amounts = None if randomness is None else _amounts(randomness)
    return sensitive(experiment, configurations or CONFIGURATIONS, replicates or REPLICATES, amounts)


def _amounts(text: str) -> list[float]:
    """Return the multiples of C that a user names."""
    if text == "none":
        return []
    amounts: list[float] = []
    for word in text.split(","):
        try:
            amounts.append(float(word))
        except ValueError:
            amounts.append(math.nan)
        if not 0 < amounts[-1] <= 1000:
            raise AssayError(f"--randomness {text}: {word} is not a number above 0 and at most 1000")
    if len({f"{amount:g}" for amount in amounts}) < len(amounts):  # as the levels are called
        raise AssayError(f"--randomness {text}: an amount is named twice; remove it")
    return sorted(amounts)
