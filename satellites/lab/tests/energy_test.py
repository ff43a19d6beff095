"""`assay lab energy` as people run it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.host.system import System
from assay.host.testing import CPU, made_machine
from assay_lab.cli.energy import _print_places
from assay_lab.energy import figures, microbenchmarks
from assay_lab.energy.figures import draw
from assay_lab.energy.machines import load_machines
from assay_lab.energy.measure import ProgramMeasurement
from assay_lab.energy.microbenchmarks import errors_of
from assay_lab.energy.model import Work
from conftest import Assay

MACHINES = """
[machines.slow]
frequencies_ghz = [1.0]
memory_ns = 200
cores = 2
idle_watts = 1
core_watts = 1

[machines.fast]
frequencies_ghz = [2.0, 4.0]
memory_ns = 50
cores = 4
idle_watts = 50
core_watts = [20, 100]
"""


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a program that computes for 60 ms of processor time, however fast the processor is."""
    folder = tmp_path_factory.mktemp("walk")
    source = folder / "walk.c"
    source.write_text(
        "#include <time.h>\n"
        "int main(void) {\n"
        "  while (clock() < CLOCKS_PER_SEC * 6 / 100) for (volatile long i = 0; i < 100000; ++i);\n"
        "}\n"
    )
    subprocess.run(["cc", "-O1", "-o", folder / "walk", source], check=True)
    return str(folder / "walk")


def test_a_program_is_predicted_at_every_frequency(assay: Assay, walk: str) -> None:
    answer = json.loads(assay("lab", "energy", "--runs", "6", "--json", walk).stdout)
    assert "simulated" in answer["power"]
    assert answer["program"]["memory_boundness_ns"] < 0.1
    rows = answer["frequencies"]
    assert sorted(name for row in rows for name in row["best"]) == ["E", "ED", "ED^2"]
    slowest, fastest = rows[0], rows[-1]
    ratio = slowest["seconds"]["median"] / fastest["seconds"]["median"]
    assert ratio == pytest.approx(fastest["gigahertz"] / slowest["gigahertz"], rel=0.1)
    low, high = slowest["seconds"]["interval"]
    assert low <= slowest["seconds"]["median"] <= high


def best_by_hand(gigacycles: float, reads: float) -> dict[str, dict[str, tuple[float, float]]]:
    """Return goal -> machine of `MACHINES` -> its best frequency and cost, by the guide's equations.

    Args:
        gigacycles: of one thread.
        reads: billions of them that it waits for.
    """
    described = [("slow", 1.0, 200, 1 + 1), ("fast", 2.0, 50, 50 + 20), ("fast", 4.0, 50, 50 + 100)]
    costs: dict[str, dict[str, tuple[float, float]]] = {"E": {}, "ED": {}, "ED^2": {}}
    for exponent, best in enumerate(costs.values()):
        for name, gigahertz, memory_ns, watts in described:
            seconds = reads * memory_ns + gigacycles / gigahertz
            cost = watts * seconds * seconds**exponent
            if name not in best or cost < best[name][1]:
                best[name] = gigahertz, cost
    return costs


def test_described_machines_are_compared_and_programs_placed(assay: Assay, walk: str, tmp_path: Path) -> None:
    file = tmp_path / "machines.toml"
    file.write_text(MACHINES)
    words = ("lab", "energy", "--runs", "6", "--json", "--machines", str(file))
    answer = json.loads(assay(*words, walk).stdout)
    goals = answer["goals"]
    gigacycles = answer["programs"][0]["gigacycles"]
    # What a read takes here is not said; the time on one machine tells it, and must fit all the others.
    (of_slow,) = (each for each in goals["E"] if each["machine"] == "slow")
    reads = (of_slow["seconds"] - gigacycles) / 200
    assert 0 <= reads * 50 < 0.1 * gigacycles  # it computes
    for goal, by_hand in best_by_hand(gigacycles, reads).items():
        assert [each["machine"] for each in goals[goal]] == sorted(by_hand, key=lambda name: by_hand[name][1])
        for each in goals[goal]:
            gigahertz, cost = by_hand[each["machine"]]
            assert each["gigahertz"] == [gigahertz]
            assert each["cost"] == pytest.approx(cost)

    answer = json.loads(assay(*words, "--place", walk, walk).stdout)
    watts = {("slow", 1.0): (1, 1), ("fast", 2.0): (50, 20), ("fast", 4.0): (50, 100)}
    for exponent, goal in enumerate(("E", "ED", "ED^2")):
        for each in answer["goals"][goal]:
            # Idle power is paid once for both, so that together they cost less than one after another.
            assert each["domains"] == [0, 0]
            idle, core = watts[each["machine"], each["gigahertz"][0]]
            both = (each["joules"] - idle * each["seconds"]) / core  # seconds of the one and of the other
            assert each["seconds"] <= both * (1 + 1e-9) <= 2 * each["seconds"] * (1 + 1e-6)
            assert both >= sum(one["gigacycles"] for one in answer["programs"]) / each["gigahertz"][0] * 0.999
            assert each["cost"] == pytest.approx(each["joules"] * each["seconds"] ** exponent)
            assert each["cost"] < (idle + core) * both * both**exponent


def test_each_program_is_moved_from_the_memory_that_it_was_measured_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "machines.toml"
    file.write_text(MACHINES)
    waits = [
        ProgramMeasurement(("waits",), (Work(0.0, 1.0),) * 6, memory_ns, "made")
        for memory_ns in (200.0, 100.0)
    ]
    _print_places(waits, {"slow": load_machines(file)["slow"]}, as_json=True)
    placed = json.loads(capsys.readouterr().out)["goals"]["ED"][0]
    assert placed["seconds"] == pytest.approx(2.0)  # of the second: a read takes 200 ns there


def test_a_microbenchmark_that_cannot_be_measured_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = f"{CPU}/cpufreq/policy0/scaling"
    values = {
        f"{policy}_min_freq": "1000000",
        f"{policy}_max_freq": "3000000",
        f"{policy}_available_frequencies": "3000000 2000000 1000000",
    }
    at = [0.0]

    @contextmanager
    def hold(_system: System, _folder: Path, gigahertz: float) -> Iterator[None]:
        at[0] = gigahertz
        yield

    def timed(_program: str, name: str) -> float:
        if name == "vector_xor":
            raise AssayError("no vector_xor here")
        return 1 + 1 / at[0]

    monkeypatch.setattr(microbenchmarks, "held", hold)
    monkeypatch.setattr(microbenchmarks, "timed", timed)
    monkeypatch.setattr(microbenchmarks, "root_script", lambda: ["root"])
    found = errors_of("xeon", made_machine(tmp_path, values))
    assert found.missing == ("no vector_xor here",)
    assert "vector_xor" not in {each.name for each in found.each}
    assert len(found.each) == 10
    assert found.mean == pytest.approx(0)


def test_the_models_errors_are_those_of_the_simulated_machine_where_no_frequency_can_be_set(
    tmp_path: Path,
) -> None:
    found = errors_of("xeon", made_machine(tmp_path, {}))
    assert "simulated machine xeon" in found.source
    by_name = {each.name: each for each in found.each}
    assert by_name["volatile_counter"].m == pytest.approx(0, abs=1e-9)
    assert by_name["dependent_reads"].m > by_name["independent_reads"].m > 0
    assert found.mean < 0.019


def test_the_figures_say_that_they_are_simulated(tmp_path: Path) -> None:
    files = draw("xeon", tmp_path, made_machine(tmp_path / "none", {}))
    assert [file.stem for file in files] == [
        "power-by-threads",
        "power-by-frequency",
        "energy-by-frequency",
        "energy-of-best",
        "power-and-throughput",
        "prediction-error",
    ]
    assert all("simulated" in file.read_text() for file in files)


def test_what_waits_for_memory_is_cheapest_at_a_lower_frequency() -> None:
    beside = figures.relative_to_highest(
        [row for row in figures.simulated_rows("xeon") if row["name"] in figures.WORKLOADS]
    )
    cheapest = {
        what: min((row for row in beside if row["workload"] == what), key=lambda row: row["energy"])
        for what in figures.WORKLOADS.values()
    }
    assert cheapest["waits"]["gigahertz"] < cheapest["computes"]["gigahertz"] < 4
    assert {row["workload"] for row in figures.best(beside)} == set(cheapest)
    computes = [row for row in beside if row["workload"] == "computes"]
    for row in computes:
        assert row["throughput"] == pytest.approx(row["gigahertz"] / 4)
    assert sum(row["off"] is None for row in computes) == 2


def test_power_is_measured_where_there_are_energy_counters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joules = iter(range(0, 1000, 30))
    monkeypatch.setattr(figures, "joules_so_far", lambda _: {"package": (float(next(joules)), 1e6)})
    monkeypatch.setattr(figures, "_SECONDS", 0.01)
    files = draw("xeon", tmp_path, made_machine(tmp_path / "none", {}))
    assert [file.name for file in files] == ["power-by-threads.svg"]
    text = files[0].read_text()
    assert "measured on" in text
    assert "simulated" not in text


@pytest.mark.parametrize("lacking", ["vector_multiply", "dependent_reads"])
def test_power_is_drawn_of_what_this_processor_has(
    lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joules = iter(range(0, 1000, 30))
    monkeypatch.setattr(figures, "joules_so_far", lambda _: {"package": (float(next(joules)), 1e6)})

    def timed(_program: str, name: str, _seconds: float, _threads: int) -> float:
        if name == lacking:
            raise AssayError(f"no {lacking} here")
        return 1.0

    monkeypatch.setattr(figures, "timed", timed)
    machine = made_machine(tmp_path / "none", {})
    if lacking in figures.WORKLOADS:  # without it there is no figure
        with pytest.raises(AssayError, match=lacking):
            draw("xeon", tmp_path, machine)
    else:
        (file,) = draw("xeon", tmp_path, machine)
        text = file.read_text()
        assert text.count(lacking) == text.count(f"without {lacking}") > 0  # in the title alone
