"""What is made of what the kernel counts while a trial runs."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from assay.experiment.metrics import LOST
from assay.runner import load
from assay.runner.load import Counts, metrics, wait_until_quiet
from assay.runner.process import Interrupted, StopSignals

COUNTS = load.counts  # before `host_to_itself` replaces it
BEFORE = Counts(at=10, load=1.5, pressure=5, busy=100, steal=1, own=3)
ONE = {"threads": 1, "pinning": "compact"}
PROCESSORS = os.cpu_count() or 1


def after(
    *, elapsed: float = 1, pressure: float | None = 0, others: float = 0, steal: float = 0, own: float = 0.9
) -> Counts:
    """Return what the kernel has counted at the end of a trial that took so long, and what others took."""
    return Counts(
        at=10 + elapsed,
        load=2,
        pressure=None if pressure is None else 5 + pressure,
        busy=100 + own + others,
        steal=1 + steal,
        own=3 + own,
    )


def test_this_machine_counts() -> None:
    first, second = COUNTS(), COUNTS()
    assert first is not None
    assert second is not None
    assert second.at >= first.at
    assert second.busy >= first.busy > 0


def test_what_threads_waited_for_is_lost_where_others_used_it() -> None:
    found = metrics(BEFORE, after(pressure=0.5, others=0.4), ONE, {"waiting_share": 0.25})
    assert found == {
        "host_load": 1.5,
        "host_others_share": pytest.approx(0.4 / PROCESSORS),
        "host_steal_share": 0,
        "host_pressure_share": pytest.approx(0.5),
        LOST: pytest.approx(0.25),
    }


def test_no_more_is_lost_than_others_used_nor_than_anybody_waited() -> None:
    waits = {"waiting_share": 0.5}
    assert metrics(BEFORE, after(pressure=0.9, others=0.1), ONE, waits)[LOST] == pytest.approx(0.1)
    assert metrics(BEFORE, after(pressure=0.2, others=0.9), ONE, waits)[LOST] == pytest.approx(0.2)
    assert metrics(BEFORE, after(pressure=None, others=0.9), ONE, waits)[LOST] == pytest.approx(0.5)


def test_threads_that_outnumber_their_processors_wait_for_each_other() -> None:
    crowded = {"threads": 4, "pinning": [0, 1]}
    found = metrics(BEFORE, after(pressure=1, others=0.4), crowded, {"waiting_share": 0.0})
    assert found[LOST] == pytest.approx(0.1)
    spread = {"threads": 1, "pinning": [0, 1]}
    assert metrics(BEFORE, after(pressure=1, others=0.4), spread, {"waiting_share": 0.0})[LOST] == 0


def test_what_the_hypervisor_takes_is_lost_too() -> None:
    found = metrics(BEFORE, after(steal=0.1 * PROCESSORS), ONE, {"waiting_share": 0.0})
    assert found[LOST] == pytest.approx(0.1)
    everything = metrics(BEFORE, after(others=9, pressure=1, steal=PROCESSORS), ONE, {})
    assert everything[LOST] == 1


def test_a_process_too_short_for_the_kernel_and_a_kernel_that_tells_nothing_give_no_metrics() -> None:
    assert metrics(BEFORE, after(elapsed=0.03), ONE, {}) == {}
    assert metrics(None, BEFORE, ONE, {}) == {}
    assert metrics(BEFORE, None, ONE, {}) == {}


def test_it_waits_until_others_leave_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = [replace(BEFORE, at=second, busy=100 + PROCESSORS * second) for second in range(1, 4)]
    quiet = replace(busy[-1], at=4)
    read = iter([*busy, quiet])
    monkeypatch.setattr(load, "counts", lambda: next(read))
    monkeypatch.setattr(load, "_POLL_S", 0)
    with StopSignals() as stop:
        wait_until_quiet(PROCESSORS, 1000, stop)
    assert next(read, None) is None


def test_it_does_not_wait_for_ever_and_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "counts", lambda: BEFORE)
    with StopSignals() as stop:
        assert wait_until_quiet(1, 0, stop) < 1000
        stop.signum = 2
        os.write(stop._wake, b"x")
        with pytest.raises(Interrupted):
            wait_until_quiet(1, 1000, stop)


def test_a_kernel_without_pressure_tells_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_text

    def without(path: Path, encoding: str | None = None) -> str:
        if "pressure" in str(path):
            raise FileNotFoundError
        return read(path, encoding=encoding)

    monkeypatch.setattr(Path, "read_text", without)
    counted = COUNTS()
    assert counted is not None
    assert counted.pressure is None


def test_heat_is_told_where_the_machine_tells_it() -> None:
    cool, warm = replace(BEFORE, hottest_c=40, throttles=3), replace(after(), hottest_c=71.5, throttles=5)
    found = metrics(cool, warm, ONE, {})
    assert (found["host_hottest_c"], found["host_throttles"]) == (71.5, 2)
    assert "host_throttles" not in metrics(BEFORE, warm, ONE, {})
