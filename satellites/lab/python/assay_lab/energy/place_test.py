import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay_lab.energy.machines import MachineModel, load_machines
from assay_lab.energy.model import Work
from assay_lab.energy.place import LINE, on, placements, together

COMPUTES = Work(4.0, 0.0)
WAITS = Work(0.4, 2.0, misses=20e6)


def machine(**changes: Any) -> MachineModel:
    usual = {
        "frequencies_ghz": [1.0, 2.0],
        "memory_ns": 100.0,
        "cores": 4,
        "idle_watts": 10.0,
        "core_watts": [2.0, 8.0],
    }
    return MachineModel.model_validate(usual | changes)


def test_alone_it_takes_what_the_model_says_and_power_by_what_it_does() -> None:
    placed = together([WAITS], [0], [2.0], machine(stalled_share=0.5))
    assert placed.seconds == pytest.approx(2.2)
    assert placed.joules == pytest.approx(10 * 2.2 + 8 * (0.2 + 0.5 * 2.0))


def test_on_another_machine_memory_and_cycles_take_what_they_take_there() -> None:
    moved = on(WAITS, machine(cycles=2.0, memory_ns=50.0), 100.0)
    assert moved.seconds(1.0) == pytest.approx(0.8 + 1.0)
    narrow = on(Work(4.0, 0.0, cores=4), machine(cores=2), 100.0)
    assert narrow.seconds(1.0) == pytest.approx(8.0)


def test_programs_share_the_bandwidth_and_the_one_that_is_left_gets_all() -> None:
    alone = 20e6 * 64 / 2.2 / 1e9
    free = together([WAITS, WAITS], [0, 0], [2.0], machine(bandwidth_gb_s=2.5 * alone))
    assert free.seconds == pytest.approx(2.2)
    shared = together([WAITS, WAITS], [0, 0], [2.0], machine(bandwidth_gb_s=alone))
    assert shared.seconds == pytest.approx(4.4)
    longer = Work(0.8, 4.0, misses=40e6)
    both = together([WAITS, longer], [0, 0], [2.0], machine(bandwidth_gb_s=alone))
    assert both.seconds == pytest.approx(6.6)  # as much as the bandwidth serves: three times 2.2


def test_misses_that_nothing_waits_for_cost_what_the_bandwidth_makes_of_them() -> None:
    """As of a program whose reads are all fetched ahead: time outside 0, and misses."""
    fetched = Work(1.0, 0.0, misses=1e8)  # 6.4 GB
    assert together([fetched], [0], [1.0], machine(bandwidth_gb_s=10.0)).seconds == pytest.approx(1.0)
    slow = together([fetched], [0], [1.0], machine(bandwidth_gb_s=1.0, stalled_share=0.5))
    assert slow.seconds == pytest.approx(6.4)
    assert slow.joules == pytest.approx(10 * 6.4 + 2 * (1.0 + 0.5 * 5.4))
    # One that waits longer for each of its reads is slower by as little as what is left asks for.
    waits = Work(1.0, 9.0, misses=1e6)
    both = together([fetched, waits], [0, 0], [1.0], machine(bandwidth_gb_s=1.0))
    assert 10.0 < both.seconds < 10.2


works = st.builds(
    Work,
    gigacycles=st.floats(1e-3, 100),
    outside_s=st.just(0.0) | st.floats(1e-9, 100),
    misses=st.just(0.0) | st.floats(1, 1e11),
)


@given(st.lists(works, min_size=1, max_size=4), st.floats(1e-3, 1e4), st.sampled_from([1.0, 2.0]))
@example([Work(1.0, 0.0, misses=1e8)], 1.0, 1.0)
def test_times_are_finite_and_at_least_that_of_the_bytes_at_the_bandwidth(
    programs: list[Work], bandwidth: float, gigahertz: float
) -> None:
    of = machine(bandwidth_gb_s=bandwidth)
    placed = together(programs, [0] * len(programs), [gigahertz], of)
    assert math.isfinite(placed.seconds)
    assert math.isfinite(placed.joules)
    gigabytes = math.fsum(each.misses for each in programs) * LINE / 1e9
    assert placed.seconds >= gigabytes / bandwidth * (1 - 1e-6)
    # What is alone takes the longer of both, and others make none of it faster.
    alone = [max(each.seconds(gigahertz), each.misses * LINE / 1e9 / bandwidth) for each in programs]
    assert placed.seconds >= max(alone) * (1 - 1e-6)
    if len(programs) == 1:
        assert placed.seconds == pytest.approx(alone[0])


def test_what_waits_and_what_computes_have_a_frequency_each_where_they_can() -> None:
    works = [COMPUTES, Work(0.4, 1.8)]
    best = min(placements(works, machine(domains=2, stalled_share=1.0), "m"), key=lambda each: each.cost(2))
    assert best.domains == (0, 1)
    assert best.gigahertz == (2.0, 1.0)
    one_domain = placements(works, machine(), "m")
    assert {len(each.gigahertz) for each in one_domain} == {1}


def test_what_does_not_fit_runs_one_after_another() -> None:
    found = placements([Work(1.0, 0.0, cores=3)] * 2, machine(), "m")
    assert {each.domains for each in found} == {()}
    assert min(each.seconds for each in found) == pytest.approx(1.0)


def test_a_program_that_is_wider_than_a_domain_has_several() -> None:
    wide = on(Work(4.0, 0.0, cores=16), machine(cores=16, domains=16), 100.0)
    found = placements([wide], machine(cores=16, domains=16), "m")
    assert {each.domains for each in found} == {(0,)}
    assert min(each.seconds for each in found) == pytest.approx(2.0)


@pytest.mark.parametrize("cores", [(6, 2), (2, 6)])
def test_what_a_wide_program_leaves_of_its_domains_others_may_have(cores: tuple[int, int]) -> None:
    works = [Work(4.0, 0.0, cores=each) for each in cores]
    ways = {each.domains for each in placements(works, machine(cores=8, domains=2), "m")}
    assert ways == {(0, 0), ()}
    ways = {each.domains for each in placements(works, machine(cores=12, domains=3), "m")}
    assert ways == {(0, 0), (0, 1), ()}


def test_too_many_ways_are_refused() -> None:
    many = machine(frequencies_ghz=[1.0 + i / 10 for i in range(20)], core_watts=8.0, cores=8, domains=8)
    with pytest.raises(AssayError, match="ways to place 6 programs"):
        placements([COMPUTES] * 6, many, "many")


GOOD = """
[machines.small]
frequencies_ghz = [1.0, 2.0]
memory_ns = 80
cores = 2
idle_watts = 3
core_watts = 4
"""


def test_machines_are_read_and_a_single_power_falls_by_the_cube(tmp_path: Path) -> None:
    file = tmp_path / "machines.toml"
    file.write_text(GOOD)
    small = load_machines(file)["small"]
    assert (small.core_watts_at(2.0), small.core_watts_at(1.0)) == (4.0, 0.5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores = 2", "cores = 0", "machines.toml:5: machines.small.cores: 0 is too small; use 1 or more"),
        ("memory_ns = 80\n", "", "machines.small.memory_ns: is missing"),
        ("core_watts = 4", "core_wats = 4", "machines.toml:7: machines.small.core_wats: unknown key"),
        ("[1.0, 2.0]", "[2.0, 1.0]", "machines.toml:3: machines.small.frequencies_ghz: are not in ascending"),
        (
            "core_watts = 4",
            "core_watts = [1.0]",
            "machines.toml:7: machines.small.core_watts: has 1 values and",
        ),
        (
            "core_watts = 4",
            "core_watts = 4\ndomains = 3",
            "machines.toml:8: machines.small.domains: 3 do not",
        ),
        ("[machines.small]", "[machine.small]", "machines.toml:2: machine: unknown key"),
        ("[1.0, 2.0]", "[1.0, 2.0", "machines.toml: not TOML"),
        (GOOD, "", "describes no machine"),
    ],
)
def test_a_mistake_names_file_line_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "machines.toml"
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(AssayError) as error:
        load_machines(file)
    assert message in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="cannot be read: No such file"):
        load_machines(tmp_path / "none.toml")
