"""Events simulated by valgrind: of real trials and fixtures, and the reasons why there are none."""

import json
import platform
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import programs
from assay.experiment import Experiment, parse
from assay.plan.types import PlannedTrial, Status
from assay.runner import simulate as simulation
from assay.runner.local import LocalExecutor
from assay.runner.process import StopSignals
from assay.runner.simulate import SimulationPlan, simulate
from assay.runner.types import Binary, Outcome

EVENTS = ["instructions", "L1-dcache-load-misses", "dTLB-load-misses", "cycles"]
REQUEST: dict[str, Any] = {
    "protocol": 1,
    "subject": "std_map_mutex",
    "seed": 11,
    "threads": 1,
    "pinning": "none",
    "key_range": 1000,
    "keys": "dense",
    "mix": {"insert": 5, "erase": 5, "find": 90},
    "duration_ms": 2,
    "interval_ms": 1,
    "events": EVENTS,
}
VALID = {
    "protocol": 1,
    "status": "valid",
    "metrics": {},
    "threads": [{"operations": {"find": {"attempted": 300}, "insert": {"attempted": 100}}}],
}


def planned(program: Path | str = "/program", **changes: Any) -> PlannedTrial:
    return PlannedTrial(
        ordinal=0,
        block=0,
        group=0,
        levels={"subject": "x"},
        request=REQUEST | changes,
        program=str(program),
        perturbation={},
        timeout_s=60,
        memory_limit_mb=2000,
    )


def executed(trials: list[PlannedTrial], operations: int) -> list[Outcome]:
    with StopSignals() as stop:
        executor = LocalExecutor(programs.find("assay-calibrate"), stop, simulated=SimulationPlan(operations))
        return list(executor.execute(trials))


class Faked:
    """Stands for valgrind: writes what callgrind would have, and answers what a program would."""

    def __init__(
        self, totals: str = "Ir Dr D1mr\ntotals: 4000 800 40", answer: tuple[Status, str, Any] | None = None
    ) -> None:
        self.totals = totals
        self.answer = answer or ("valid", "", VALID)
        self.requests: list[Mapping[str, Any]] = []
        self.commands: list[Binary] = []
        self.timeouts: list[float] = []

    def __call__(
        self, binary: Binary, request: Mapping[str, Any], timeout_s: float
    ) -> tuple[Status, str, Any]:
        self.commands.append(binary)
        self.requests.append(request)
        self.timeouts.append(timeout_s)
        [file] = [word.partition("=")[2] for word in binary.arguments if word.startswith("--callgrind-out")]
        if self.totals:
            Path(file).write_text(f"version: 1\nevents: {self.totals}\n", encoding="ascii")
        return self.answer


@pytest.fixture
def valgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/valgrind")


def tried(faked: Faked, operations: int = 100, **changes: Any) -> simulation.Simulation:
    trial = planned(**changes)
    return simulate(trial, operations, Binary("/program", ("--trial",), "/program"), faked)


def test_twice_the_work_takes_twice_the_instructions_and_the_same_draws_the_same_counts() -> None:
    trial = programs.find("assay-trial")
    names = ("std_map_mutex", "std_map_mutex_twice", "std_map_mutex")
    trials = [planned(trial, subject=name) for name in names]
    once, twice, again = executed(trials, 500)
    assert [outcome.status for outcome in (once, twice, again)] == ["valid"] * 3
    assert once.result is not None
    told = once.result["simulated"]
    assert told["operations"] == 500
    assert told["unavailable"] == {"cycles": "valgrind does not simulate it"}
    assert again.result is not None
    counts = again.result["simulated"]["available"]
    assert told["available"]["instructions"] == counts["instructions"]  # misses depend on addresses
    metric = "simulated_instructions_per_operation"
    assert 1.5 < twice.derived[metric] / once.derived[metric] < 2.1  # the loop around it does its work once
    # A thousand nodes of a tree lie in some twenty pages, of which a TLB holds 64.
    pages = once.derived["simulated_dtlb_load_misses_per_operation"]
    lines = once.derived["simulated_l1_dcache_load_misses_per_operation"]
    assert 0 < pages < 0.5
    assert pages < lines < 100
    assert not any("cycles" in name for name in once.derived)


def test_a_fixtures_instructions_grow_with_its_size_and_its_misses_with_the_lines_that_the_cache_lacks() -> (
    None
):
    request = {
        name: value
        for name, value in REQUEST.items()
        if name not in {"key_range", "keys", "mix", "interval_ms"}
    }
    program = programs.find("assay-flawed-fixtures")
    sizes = (100, 300, 2048)  # a line has 64 bytes, and the simulated cache 512 of them
    trials = [
        replace(
            planned(program),
            request=request
            | {
                "subject": "reads_lines",
                "parameters": {"size": size},
                "events": EVENTS[:2],
                "duration_ms": 1,
            },
            arguments=("--trial",),
        )
        for size in sizes
    ]
    small, three, large = executed(trials, 200)
    assert [outcome.status for outcome in (small, three, large)] == ["valid"] * 3

    def of(outcome: Outcome, event: str) -> float:
        return outcome.derived[f"simulated_{event}_per_operation"]

    each = (of(three, "instructions") - of(small, "instructions")) / 200
    assert 2 <= each <= 10
    assert of(large, "instructions") - of(three, "instructions") == pytest.approx(each * 1748, rel=0.02)
    assert of(small, "l1_dcache_load_misses") < 5
    assert of(three, "l1_dcache_load_misses") < 30
    assert of(large, "l1_dcache_load_misses") == pytest.approx(2048, rel=0.02)  # replaced by age: every line


@pytest.mark.usefixtures("valgrind")
def test_the_simulated_run_is_a_short_replay_of_the_trial() -> None:
    faked = Faked()
    simulated = tried(faked, warm_up_ms=50, latency=64, engine={"name": "x", "array": 10**7})
    caches, tlbs = faked.requests
    assert caches == tlbs
    expected = {name: value for name, value in REQUEST.items() if name != "events"}
    assert caches == expected | {
        "operations": [[100, 100]],
        "batch": 512,
        "interval_ms": 60000,
        "engine": {"name": "x", "array": 400},
    }
    assert faked.commands[0].arguments[-2:] == ("/program", "--trial")
    assert "--D1=32768,8,64" in faked.commands[0].arguments
    assert f"--D1={64 * 4096},4,4096" in faked.commands[1].arguments
    assert simulated.metrics() == {
        "simulated_instructions_per_operation": 10.0,
        "simulated_l1_dcache_load_misses_per_operation": 0.1,
        "simulated_dtlb_load_misses_per_operation": 0.1,
    }


@pytest.mark.usefixtures("valgrind")
def test_only_the_last_level_needs_a_prefill_that_is_simulated_too() -> None:
    for events, option in ((["instructions"], "no"), (["LLC-load-misses"], "yes"), (["dTLB-loads"], "no")):
        faked = Faked("Ir Dr DLmr\ntotals: 1 2 3")
        tried(faked, events=events)
        assert [f"--instr-atstart={option}" in command.arguments for command in faked.commands] == [True]


@pytest.mark.usefixtures("valgrind")
def test_a_fixture_is_simulated_as_one_batch() -> None:
    request = {
        name: value
        for name, value in REQUEST.items()
        if name not in {"key_range", "keys", "mix", "interval_ms"}
    }
    trial = replace(planned(), request=request | {"events": ["instructions"], "parameters": {"size": 9}})
    answer = {"protocol": 1, "status": "valid", "metrics": {"iterations": 1, "batch": 100}}
    faked = Faked("Ir\ntotals: 700", ("valid", "", answer))
    simulated = simulate(trial, 100, Binary("/program", (), "/program"), faked)
    assert faked.requests[0]["parameters"] == {"size": 9, "iterations": 1, "batch": 100}
    assert simulated.metrics() == {"simulated_instructions_per_operation": 7.0}


@pytest.mark.usefixtures("valgrind")
@pytest.mark.parametrize(
    ("faked", "changes", "reason"),
    [
        (Faked(), {"threads": 2}, "valgrind runs one thread at a time"),
        (Faked(), {"arrivals": {"rate": 1, "spacing": "even"}}, "threads spin"),
        (Faked(), {"roles": [{"name": "a", "arrivals": {}}]}, "threads spin"),
        (Faked("Ir Dr\ntotals: 0 0"), {}, "marks no measured interval for valgrind"),
        (Faked(""), {}, "marks no measured interval for valgrind"),
        (
            Faked(answer=("timed_out", "still ran", None)),
            {},
            "its run under valgrind was timed out: still ran",
        ),
        (Faked(answer=("crashed", "exited with 2", None)), {}, "was crashed: exited with 2"),
        (Faked(answer=("valid", "", {"metrics": {}})), {}, "does not say how many operations"),
    ],
)
def test_what_is_not_simulated_has_a_reason(faked: Faked, changes: dict[str, Any], reason: str) -> None:
    simulated = tried(faked, events=["instructions"], **changes)
    assert simulated.metrics() == {}
    assert reason in simulated.record()["unavailable"]["instructions"]


def test_without_valgrind_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert tried(Faked()).unavailable["instructions"].startswith("valgrind is not installed; install it")


def asks(more: str = "", threads: int = 1, events: str = '["instructions"]') -> Experiment:
    return parse(
        f"""
name = "x"
question = "q"
[factors]
subject = ["bt_map", "std_map_mutex"]
[trial]
threads = {threads}
key_range = 100
mix = {{ find = 100 }}
events = {events}
{more}
""",
        Path("x.toml"),
    )


@pytest.mark.parametrize(
    ("counts", "more", "operations", "patience_s"),
    [
        (False, "", 10_000, 60),
        (True, "", 0, None),
        (False, "[simulate]\noperations = 0", 0, None),
        (True, "[simulate]\noperations = 7", 7, None),
        (True, '[comparison]\nmetric = "simulated_instructions_per_operation"', 10_000, None),
    ],
)
def test_events_are_simulated_unasked_where_the_processor_counts_none(
    monkeypatch: pytest.MonkeyPatch, counts: bool, more: str, operations: int, patience_s: float | None
) -> None:
    monkeypatch.setattr(simulation, "processor_counts", lambda: counts)
    experiment = asks(more)
    assert simulation.simulation_plan(experiment) == SimulationPlan(operations, patience_s)
    assert bool(simulation.announcement(experiment)) == (patience_s is not None)


def test_what_is_simulated_unasked_is_said_or_why_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "processor_counts", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/valgrind")
    assert "valgrind simulates them, 10,000 operations of each trial (" in simulation.announcement(asks())
    assert "for one thread alone" in simulation.announcement(asks(threads=2))
    assert simulation.announcement(asks(events='["page-faults"]')) == ""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "valgrind is not installed; install it" in simulation.announcement(asks())


@pytest.mark.parametrize(("number", "counts"), [(0, False), (None, True)])
def test_a_processor_is_asked_whether_it_counts(
    monkeypatch: pytest.MonkeyPatch, number: int | None, counts: bool
) -> None:
    numbers = {} if number is None else {platform.machine(): 10**6}  # there is no such system call
    monkeypatch.setattr(simulation, "_PERF_EVENT_OPEN", numbers)
    assert simulation.processor_counts() is counts


def test_a_condition_that_is_given_up_is_not_tried_again_unless_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{json.dumps(VALID | {'threads': []})}'\n")
    program.chmod(0o755)
    tried = []

    def fails(*given: Any) -> simulation.Simulation:
        tried.append(given[-1])
        return simulation.Simulation(unavailable={"instructions": "timed out"}, took_s=60)

    monkeypatch.setattr("assay.runner.local.simulate", fails)
    trials = [planned(program), planned(program), replace(planned(program), levels={"subject": "y"})]
    with StopSignals() as stop:
        for wanted, attempts in ((SimulationPlan(9, 60), [60, 60]), (SimulationPlan(9), [None] * 3)):
            tried.clear()
            executor = LocalExecutor(programs.find("assay-calibrate"), stop, simulated=wanted)
            outcomes = list(executor.execute(trials))
            assert tried == attempts
    assert [outcome.derived["simulation_s"] for outcome in outcomes] == [60, 60, 60]


def test_nothing_is_simulated_where_it_is_not_asked_for(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{json.dumps(VALID | {'threads': []})}'\n")
    program.chmod(0o755)
    trial = planned(program)
    without = {name: value for name, value in REQUEST.items() if name != "events"}
    [outcome] = executed([replace(trial, request=without)], 100)
    assert outcome.result is not None
    assert "simulated" not in outcome.result
