from dataclasses import replace

import pytest

from assay.errors import AssayError
from assay_lab.clocks import Clock, measure, recommend

STEADY = Clock("steady_clock", "time", 25.0, 1.0, 10_000, 0, [], None)
COUNTER = replace(STEADY, name="rdtscp", cost_ns=10.0, resolution_ns=0.4)


@pytest.mark.parametrize(
    ("clocks", "duration_ns", "clock", "batch"),
    [
        ([STEADY, COUNTER], 2500, "steady_clock", 1),  # the default wherever it is good enough
        ([STEADY, COUNTER], 2000, "rdtscp", 1),
        ([STEADY, COUNTER], 100, "rdtscp", 10),
        ([STEADY], 100, "steady_clock", 25),
        ([STEADY, replace(COUNTER, unusable_because="it changes its rate")], 2000, "steady_clock", 2),
        ([STEADY, replace(COUNTER, cost_ns=24.0)], 2000, "steady_clock", 2),  # nothing is gained
        ([replace(STEADY, resolution_ns=70.0)], 3500, "steady_clock", 2),  # steps count as costs do
    ],
)
def test_a_clock_is_recommended_for_a_duration(
    clocks: list[Clock], duration_ns: float, clock: str, batch: int
) -> None:
    recommended = recommend(clocks, duration_ns)
    assert (recommended.clock, recommended.batch) == (clock, batch)


@pytest.mark.parametrize(
    "clock", [replace(STEADY, unusable_because="it goes back"), replace(STEADY, resolution_ns=None)]
)
def test_without_a_steady_clock_there_is_nothing_to_recommend(clock: Clock) -> None:
    with pytest.raises(AssayError, match="steady_clock is not usable here"):
        recommend([clock, COUNTER], 1000)


def test_the_clocks_of_this_machine_are_measured() -> None:
    clocks, counter = measure()
    by_name = {clock.name: clock for clock in clocks}
    steady = by_name["steady_clock"]
    assert steady.backwards == 0
    assert steady.cost_ns > 0
    assert steady.shortest_ns
    assert by_name["CLOCK_REALTIME"].unusable_because  # it is set
    assert by_name["getrusage"].measures == "processor time"
    assert counter.keys() == {"invariant", "ns_per_tick", "calibration_error"}
