"""Flaws: how a trial misleads on purpose."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator

from assay.experiment.tables import Table
from assay.words import listed

Flaw = Literal[
    "never_inserts",
    "one_seed",
    "effective_updates",
    "alternating_keys",
    "failed_updates_as_searches",
    "insert_only_prefill",
    "single_threaded_prefill",
    "no_prefill",
    "power_of_two_range",
    "clock_every_operation",
    "nominal_time",
    "half_the_processors",
    "latency_from_start",
    "debug_build",
    "lost_updates",
]
"""Those of the program `assay-pitfalls`; `assay-pitfalls --flaws` says what each does, and who does so."""

NAMES: tuple[str, ...] = get_args(Flaw)
PROGRAM = "assay-pitfalls"
"""Runs the trials that have flaws; `assay-trial` has none."""


def _each_once(flaws: list[Flaw]) -> list[Flaw]:
    twice = [flaw for index, flaw in enumerate(flaws) if flaw in flaws[:index]]
    if twice:
        raise ValueError(f"names {twice[0]} twice; remove it once")
    return flaws


Flaws = Annotated[list[Flaw], AfterValidator(_each_once)]


class PitfallTable(Table):
    """[pitfall]: this experiment misleads on purpose."""

    deliberate: bool = False
    """Whether its trials may have flaws."""


def flaws_of(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the flaws of a trial's settings or of its request."""
    return tuple(settings.get("flaws", ()))


def marked(flaws: tuple[str, ...]) -> str:
    """Return in words what trials with flaws are; empty of honest ones."""
    return f"flawed on purpose: {listed(list(flaws))}" if flaws else ""
