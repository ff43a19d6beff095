"""Events that the processor counts or that are simulated: by libpfm's names, and as metrics have them."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from assay.experiment.tables import Table, explained

SIMULATED = "simulated_"
"""How the name of every metric begins that was simulated."""

COMPUTED = "computed_"
"""How a command names a metric that it computes of nothing measured, as a simulation does."""

SIMULATION_S = "simulation_s"
"""The metric that says how long it took to simulate the events of a trial."""

_OF_THE_KERNEL = "perf::"

_Form = Annotated[
    str,
    Field(pattern=r"^[A-Za-z][A-Za-z0-9_.:=-]*$", max_length=40),
    explained(
        '{value} is not an event of libpfm\'s such as "dTLB-load-misses": at most 40 letters, digits and'
        " _.:=-, a letter first"
    ),
]


def name_of(event: str) -> str:
    """Return what an event is called in the names of metrics; `host/usage.h` says the same in C++."""
    return re.sub("[^a-z0-9]+", "_", event.lower().removeprefix(_OF_THE_KERNEL))


def simulated_metric(event: str) -> str:
    """Return the metric of an event that was simulated; what was counted never has this name."""
    return f"{SIMULATED}{name_of(event)}_per_operation"


def is_simulated(metric: str) -> bool:
    """Return whether a metric is of events that were simulated."""
    return metric.startswith(SIMULATED)


def host_independent(metric: str) -> bool:
    """Return whether the host and its load have no part in a metric: it was simulated, or computed."""
    return metric.startswith((SIMULATED, COMPUTED))


def base_of(event: str) -> str | None:
    """Return an event in lower case without modifiers; None if its prefix names events of one processor."""
    known = event.lower().removeprefix(_OF_THE_KERNEL)
    return None if "::" in known else known.partition(":")[0]


def _apart(events: list[str]) -> list[str]:
    names = [name_of(event) for event in events]
    for index, event in enumerate(events):
        if not names[index]:
            raise ValueError(f"{event} names no event; write it after the prefix")
        if names[index] in names[:index]:
            raise ValueError(f"{event} is named twice; remove it")
    return events


Events = Annotated[list[_Form], Field(min_length=1, max_length=16), AfterValidator(_apart)]


USUAL_OPERATIONS = 10_000
"""How many operations of a trial are simulated where nothing says."""


class Simulate(Table):
    """[simulate]: the events of each trial once more, as valgrind simulates them."""

    operations: Annotated[int, Field(ge=0, le=100_000_000)] | None = None
    """How many operations are simulated for each trial, on every host; 0: none. Without it 10,000 where
    the host counts nothing or the metric of a simulated event is compared."""
