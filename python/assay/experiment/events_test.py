"""Events that experiments name: their form, what libpfm knows of them, and what is simulated."""

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment, Machine, SubjectOffer, check, parse
from assay.experiment.events import base_of, name_of, simulated_metric

TEXT = """
[factors]
threads = [1, 2]
[trial]
subject = "map"
key_range = 100
mix = {{ insert = 10, erase = 10, find = 80 }}
{trial}
{tables}
"""

MACHINE = Machine(
    subjects={"map": SubjectOffer()},
    engines={},
    processors=frozenset({0, 1}),
    memory_limit_mb=1000,
    events=frozenset({"L1-DCACHE-LOAD-MISSES", "DTLB-LOAD-MISSES", "PAGE-FAULTS"}),
)


def read(trial: str = "", tables: str = "") -> Experiment:
    return parse(TEXT.format(trial=trial, tables=tables), Path("x.toml"))


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ("L1-dcache-load-misses", "l1_dcache_load_misses"),
        ("perf::PAGE-FAULTS:u", "page_faults_u"),
        ("skl::MEM_LOAD_RETIRED:L1_MISS", "skl_mem_load_retired_l1_miss"),
    ],
)
def test_the_names_of_metrics_are_those_of_the_meter(event: str, name: str) -> None:
    assert name_of(event) == name  # usage_test.cpp has the same
    assert simulated_metric(event) == f"simulated_{name}_per_operation"


def test_what_libpfm_has_to_know() -> None:
    assert base_of("perf::dTLB-load-misses:u") == "dtlb-load-misses"
    assert base_of("skl::MEM_LOAD_RETIRED:L1_MISS") is None


def test_events_are_settings_and_what_is_simulated_is_of_the_experiment() -> None:
    experiment = read('events = ["dTLB-load-misses:u", "skl::X", "r01c0"]', "[simulate]\noperations = 9")
    check(experiment, MACHINE)
    assert experiment.fixed["events"] == ["dTLB-load-misses:u", "skl::X", "r01c0"]
    assert experiment.simulate.operations == 9
    assert Experiment.model_validate_json(experiment.model_dump_json()).simulate == experiment.simulate


@pytest.mark.parametrize(
    ("trial", "tables", "message"),
    [
        ("events = []", "", "events"),
        ("events = [3]", "", "is not an event of libpfm's"),
        ('events = ["9lives"]', "", "is not an event of libpfm's"),
        ('events = ["a,b"]', "", "is not an event of libpfm's"),
        ('events = ["LLC-loads", "perf::llc-LOADS"]', "", "perf::llc-LOADS is named twice"),
        ('events = ["perf::"]', "", "names no event"),
        (f"events = {[f'e{i}' for i in range(17)]}".replace("'", '"'), "", "events"),
        ("", "[simulate]\noperations = 9", "simulate.operations: simulates no events"),
        ('events = ["cycles"]', "[simulate]\noperations = -1", "simulate.operations"),
        ('events = ["cycles"]', "[simulate]\noperation = 1", "did you mean operations"),
        (
            "",
            '[comparison]\nmetric = "simulated_cycles_per_operation"',
            "no trial simulates simulated_cycles_per_operation; name its event in [trial] events",
        ),
        (
            'events = ["instructions"]',
            '[simulate]\noperations = 0\n[comparison]\nmetric = "simulated_instructions_per_operation"',
            "as [simulate] operations is 0; remove that",
        ),
        (
            'events = ["instructions"]',
            '[simulate]\noperations = 9\n[comparison]\nalso = ["simulated_instruction_per_operation"]',
            "did you mean simulated_instructions_per_operation",
        ),
        (
            'events = ["instructions"]',
            '[simulate]\noperations = 9\n[comparison]\nmetric = "simulated_instructions_per_operation"',
            "is simulated for one thread alone",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(trial: str, tables: str, message: str) -> None:
    with pytest.raises(AssayError) as refused:
        read(trial, tables)
    assert message in str(refused.value)


def test_an_event_that_libpfm_does_not_know_is_a_mistake_before_anything_runs() -> None:
    with pytest.raises(AssayError, match=r'no event "dTLB-load-mises" here.*did you mean dtlb-load-misses'):
        check(read('events = ["dTLB-load-mises"]'), MACHINE)


def test_a_command_counts_no_events() -> None:
    text = """
[factors]
subject = ["a", "b"]
[subjects.a]
program = "true"
protocol = false
[subjects.b]
program = "true"
protocol = false
[trial]
threads = 1
events = ["PAGE-FAULTS"]
"""
    with pytest.raises(AssayError, match="is a command, of which no events are counted"):
        check(parse(text, Path("x.toml")), MACHINE)
