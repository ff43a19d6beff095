"""Flaws: how a trial misleads on purpose, and the lesson that explains each."""

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
"""Those of the program `assay-pitfalls`; `assay-pitfalls --flaws` says of each who does so, too."""

WHAT: Mapping[str, str] = {
    "never_inserts": "every update is an erase, so that the map empties and searches end at its root",
    "one_seed": "all threads draw the same keys and operations from one seed, one after the other",
    "effective_updates": (
        "an insert must succeed before an erase is tried, and an erase before an insert: no thread updates at"
        " random"
    ),
    "alternating_keys": "an erase takes the key that its thread inserted last, which its caches still hold",
    "failed_updates_as_searches": (
        "updates that change nothing are counted as searches, and others are made up for them: the map meets"
        " another mix than was asked for"
    ),
    "insert_only_prefill": (
        "the prefill inserts keys and erases none: the map has a shape that updates at random do not leave it"
    ),
    "single_threaded_prefill": (
        "one thread fills the map for all: its memory lies near this thread, in the order of its inserts"
    ),
    "no_prefill": "the map is empty when the measurement begins, and its size changes all the time",
    "power_of_two_range": (
        "the key range is rounded up to a power of two, and the low bits of a number are its key"
    ),
    "clock_every_operation": "the clock is read after every operation, which is part of what is measured",
    "nominal_time": "operations are divided by the time that was asked for, not by the time that passed",
    "half_the_processors": "all threads share one half of the processors, and the other half is idle",
    "latency_from_start": (
        "latency counts from when an operation began, not from when it was due: nobody sees that it waited"
    ),
    "debug_build": "the map and the loop around it are compiled without optimisation and with assertions",
    "lost_updates": (
        "one insert in 100 that succeeded is lost again, as a map with a mistake loses it, and nobody"
        " compares the map's contents with what its operations answered"
    ),
}
"""Flaw -> what is misleading about it, as a clause. The program and the page of the rule have the same."""

NAMES: tuple[str, ...] = get_args(Flaw)
LESSONS = (
    "never-inserts",
    "effective-updates",
    "failed-updates-as-searches",
    "alternating-keys",
    "clock-every-operation",
    "nominal-time",
    "no-prefill",
    "insert-only-prefill",
    "single-threaded-prefill",
    "latency-from-start",
    "overload",
    "short-trials",
    "ranges-among-updates",
    "warm-up-left-in",
    "mean-of-latencies",
    "one-seed",
    "short-array",
    "hardware-numbers",
    "hidden-lock",
    "patterned-engine",
    "invalid-trials",
    "power-of-two-range",
    "oversubscribed",
    "half-the-processors",
    "unpinned",
    "memory-not-freed",
    "fixed-layout",
    "debug-build",
    "large-environment",
    "too-few-blocks",
    "many-comparisons",
    "two-modes",
    "one-process",
    "baseline-first",
    "looking",
)
"""The names of the course's lessons, in their order. They are written here because the course is a
satellite; its tests hold the two equal."""
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
    lesson: str | None = None
    """The lesson of the course that explains it."""


def flaws_of(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the flaws of a trial's settings or of its request."""
    return tuple(settings.get("flaws", ()))


def lesson_of(flaw: str) -> str:
    """Return the name of the lesson that explains a flaw."""
    # Effective updates hide that updates are lost, so that both have one lesson.
    return "effective-updates" if flaw == "lost_updates" else flaw.replace("_", "-")


def marked(flaws: tuple[str, ...]) -> str:
    """Return in words what trials with flaws are; empty of honest ones."""
    return f"flawed on purpose: {listed(list(flaws))}" if flaws else ""
