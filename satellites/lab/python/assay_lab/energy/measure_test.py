"""Programs are measured, and what cannot be measured is said; frequencies are held and put back."""

import math
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.campaign.prepare import plan_trials
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.host.joules import joules_between, joules_so_far
from assay.host.system import System
from assay.host.testing import CPU, MadeSystem, made_machine
from assay.store.types import StoredTrial
from assay_lab.energy import frequencies, measure, native, one_run
from assay_lab.energy.frequencies import held, offered
from assay_lab.energy.measure import ProgramMeasurement, two_of
from assay_lab.energy.model import Work
from assay_lab.energy.predict import predict

POLICY = f"{CPU}/cpufreq/policy0"
CPUFREQ = {
    f"{POLICY}/scaling_min_freq": "1000000",
    f"{POLICY}/scaling_max_freq": "3000000",
    f"{POLICY}/cpuinfo_min_freq": "1000000",
    f"{POLICY}/cpuinfo_max_freq": "3000000",
    f"{POLICY}/scaling_available_frequencies": "3000000 2500000 1500000 1000000",
}


def simulated() -> native.Simulated:
    return native.simulated("xeon")


def test_a_frequency_is_held_and_put_back_whatever_happens(tmp_path: Path) -> None:
    system = made_machine(tmp_path / "root", CPUFREQ)
    assert offered(system) == (1.0, 1.5, 2.5, 3.0)
    seen: list[str | None] = []

    def fail() -> None:
        with held(system, tmp_path / "state", 1.5):
            seen.extend(system.read(f"{POLICY}/scaling_{limit}_freq") for limit in ("min", "max"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == ["1500000", "1500000"]
    assert system.read(f"{POLICY}/scaling_min_freq") == "1000000"
    assert system.read(f"{POLICY}/scaling_max_freq") == "3000000"


class Driver(MadeSystem):
    """A made machine whose driver makes something else of what is written while it is held."""

    def __init__(self, root: Path, makes: Callable[[int], int]) -> None:
        super().__init__(made_machine(root, CPUFREQ).root)
        self.makes: Callable[[int], int] | None = makes

    def write(self, values: Mapping[str, str], locks: Sequence[int] = ()) -> dict[str, str]:
        makes = self.makes
        made = {place: str(makes(int(khz)) if makes else khz) for place, khz in values.items()}
        self.makes = None  # what is put back is taken
        return super().write(made, locks)


def limits(system: System) -> list[str | None]:
    return [system.read(f"{POLICY}/scaling_{limit}_freq") for limit in ("min", "max")]


@pytest.mark.parametrize("makes", [lambda khz: min(khz, 2_000_000), lambda khz: khz - 4_000])
def test_a_frequency_that_is_not_taken_is_said_and_nothing_runs_at_it(
    tmp_path: Path, makes: Callable[[int], int]
) -> None:
    """The model would take its time for that of another frequency."""
    system = Driver(tmp_path / "root", makes)
    said = f"scaling_min_freq was set to 2500000 kHz and is {makes(2_500_000)}: the driver .*; let it cool"
    entered = False
    with pytest.raises(AssayError, match=said), held(system, tmp_path / "state", 2.5):
        entered = True
    assert not entered
    assert limits(system) == ["1000000", "3000000"]
    assert not (tmp_path / "state" / "host.journal").exists()


@pytest.mark.parametrize("limit", ["min", "max"])
def test_a_limit_that_changes_while_it_is_held_is_said_and_put_back(tmp_path: Path, limit: str) -> None:
    """The kernel caps a processor that is hot."""
    system = made_machine(tmp_path / "root", CPUFREQ)
    place = f"{POLICY}/scaling_{limit}_freq"
    with (
        pytest.raises(AssayError, match=f"{place} was set to 2500000 kHz and is 2000000"),
        held(system, tmp_path / "state", 2.5),
    ):
        system.write({place: "2000000"})
    assert limits(system) == ["1000000", "3000000"]
    assert not (tmp_path / "state" / "host.journal").exists()


def test_only_frequencies_within_the_limits_and_of_all_processors_are_offered(tmp_path: Path) -> None:
    capped = CPUFREQ | {f"{POLICY}/scaling_min_freq": "1200000", f"{POLICY}/scaling_max_freq": "2600000"}
    assert offered(made_machine(tmp_path / "listed", capped)) == (1.5, 2.5)
    any_at_all = {place: value for place, value in capped.items() if "available" not in place}
    steps = offered(made_machine(tmp_path / "any", any_at_all))
    assert (steps[0], steps[-1], len(steps)) == (1.2, 2.6, 8)
    slower = {
        place.replace("policy0", "policy4"): value.replace("3000000 2500000", "2500000 2000000")
        for place, value in CPUFREQ.items()
    }
    assert offered(made_machine(tmp_path / "two", CPUFREQ | slower)) == (1.0, 1.5, 2.5)
    slower = {
        place: "2100000" if "max_freq" in place else value
        for place, value in slower.items()
        if "available" not in place
    }
    assert offered(made_machine(tmp_path / "kinds", any_at_all | slower))[-1] == 2.1


def test_a_driver_that_takes_any_frequency_has_steps_between_its_limits(tmp_path: Path) -> None:
    places = {place: value for place, value in CPUFREQ.items() if "available" not in place}
    assert offered(made_machine(tmp_path, places))[:3] == (1.0, 1.2, 1.4)
    assert offered(made_machine(tmp_path / "none", {})) == ()


def test_energy_is_read_across_the_end_of_a_counter(tmp_path: Path) -> None:
    counters = zone("0", "package-0", "9000000")
    before = joules_so_far(made_machine(tmp_path / "before", counters))
    after = joules_so_far(made_machine(tmp_path / "after", zone("0", "package-0", "1000000")))
    assert joules_between(before, after) == pytest.approx(2.0)
    assert joules_between(before, {}) is None


def zone(number: str, name: str, microjoules: str) -> dict[str, str]:
    place = f"/sys/class/powercap/intel-rapl:{number}"
    return {
        f"{place}/name": name,
        f"{place}/energy_uj": microjoules,
        f"{place}/max_energy_range_uj": "10000000",
    }


def test_energy_is_that_of_packages_and_their_memory(tmp_path: Path) -> None:
    """As native/assay/host/energy_test.cpp has it of the other meter."""
    parts = (
        ("0", "package-0", "1000000"),
        ("0:0", "core", "2000000"),
        ("0:1", "dram", "3000000"),
        ("1", "package-1", "4000000"),
        ("2", "psys", "5000000"),
        ("2:0", "dram", "6000000"),
    )
    counters = {place: value for part in parts for place, value in zone(*part).items()}
    found = joules_so_far(made_machine(tmp_path / "all", counters))
    assert [joules for joules, _ in found.values()] == [1.0, 3.0, 4.0]
    # Without one of them what was used is not known.
    del counters["/sys/class/powercap/intel-rapl:0:1/energy_uj"]
    assert joules_so_far(made_machine(tmp_path / "fewer", counters)) == {}


def test_the_two_frequencies_are_inside_of_the_range() -> None:
    assert two_of((1.4, 1.6, 1.8, 2.0, 2.2, 3.2, 3.4, 3.6, 4.0)) == (2.0, 3.4)
    assert two_of((1.0, 2.0)) == (1.0, 2.0)


def trials(experiment: Experiment, metrics: Callable[[float], dict[str, float]]) -> list[StoredTrial]:
    """Return what a campaign of an experiment comes to, by the metrics at each frequency."""
    calibration = {"memory_ns": 80.0, "arithmetic_ns": 4 / 3}
    return [
        StoredTrial(
            id=ordinal,
            ordinal=ordinal,
            block=trial.block,
            group=trial.group,
            levels=trial.levels,
            status="valid",
            reason="",
            metrics=metrics(float(trial.arguments[3])),
            calibration_before=calibration,
            calibration_after=calibration,
            started_at=datetime(2024, 1, 1, tzinfo=UTC),
            wall_s=1,
            environment=None,
        )
        for ordinal, trial in enumerate(plan_trials(experiment).trials)
    ]


def test_where_frequencies_can_be_set_two_runs_of_each_give_work_and_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = Work(3.0, 0.5)

    def metrics(gigahertz: float) -> dict[str, float]:
        seconds = truth.seconds(gigahertz)
        return {
            "gigahertz": gigahertz,
            "seconds": seconds,
            "cores": 1.0,
            "joules": seconds * (5 + gigahertz**3),
        }

    monkeypatch.setattr(measure, "root_script", lambda: ["root"])
    machine = made_machine(tmp_path, CPUFREQ)
    found = measure.measure(["true"], 6, lambda experiment: trials(experiment, metrics), machine)
    assert len(found.works) == 6
    assert found.work.gigacycles == pytest.approx(3.0)
    assert found.work.outside_s == pytest.approx(0.5)
    rows = {row.gigahertz: row for row in predict(found, None).rows}
    assert rows[3.0].joules[0] == pytest.approx((5 + 27) * 1.5)
    assert rows[1.0].joules[0] == pytest.approx((5 + 1) * 3.5)


def test_a_run_is_made_at_its_frequency(tmp_path: Path) -> None:
    system = made_machine(tmp_path / "root", CPUFREQ)
    limit = f"{system.root}{POLICY}/scaling_max_freq"
    found = one_run.run(tmp_path / "state", 2.5, ["/usr/bin/grep", "-q", "2500000", limit], system)
    assert found["gigahertz"] == 2.5
    assert found["seconds"] > 0
    assert system.read(f"{POLICY}/scaling_max_freq") == "3000000"


def test_without_frequencies_power_is_simulated_and_what_waits_is_best_at_the_lowest() -> None:
    computes = ProgramMeasurement(("a",), (Work(3.0, 0.0),) * 6, 90.0, "made")
    waits = ProgramMeasurement(("b",), (Work(0.01, 1.0),) * 6, 90.0, "made")
    best = {
        measured.command[0]: {name: row.gigahertz for row in prediction.rows for name in row.best}
        for measured in (computes, waits)
        for prediction in [predict(measured, simulated())]
    }
    assert "simulated" in predict(waits, simulated()).power
    assert best["b"]["E"] == simulated().frequencies[0]
    assert best["a"]["ED^2"] > best["b"]["ED^2"]


def test_power_is_known_of_what_only_waits() -> None:
    assert math.isinf(Work(0.0, 1.0).memory_boundness)
    assert all(watts > 0 for watts in simulated().watts(Work(0.0, 1.0)).values())


def program(folder: Path, text: str) -> str:
    file = folder / "program"
    file.write_text(f"#!{sys.executable}\n{text}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise SystemExit('no input')", "ended with 1: no input"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
        (
            "import os, time; os.fork() or time.sleep(60)",
            r"ended while 1 process \(.*\) that it had started still",
        ),
    ],
)
def test_a_program_that_fails_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        one_run.run(tmp_path, 0, [program(tmp_path, text)], System())


def test_what_cannot_be_measured_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(experiment: Experiment) -> list[StoredTrial]:
        return trials(experiment, lambda _: {"gigahertz": 0, "seconds": 0.01, "cores": 1.0})

    with pytest.raises(AssayError, match="there is no program nowhere"):
        measure.measure(["nowhere"], 6, run)
    plain = tmp_path / "plain"
    plain.touch()
    with pytest.raises(AssayError, match="is not executable; chmod"):
        measure.measure([str(plain)], 6, run)
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, **more: None if name == "valgrind" else which(name, **more)
    )
    none = made_machine(tmp_path / "none", {})
    with pytest.raises(AssayError, match="valgrind is not installed"):
        measure.measure(["true"], 6, run, none)
    monkeypatch.setattr(measure, "root_script", lambda: ["root"])
    with pytest.raises(AssayError, match="true ends after 10 ms, which is too short to measure"):
        measure.measure(["true"], 6, run, made_machine(tmp_path / "short", CPUFREQ))
    monkeypatch.setattr(measure, "root_script", lambda: None)
    with pytest.raises(AssayError, match="not by this user"):
        measure.measure(["true"], 6, run, made_machine(tmp_path / "some", CPUFREQ))
    with pytest.raises(AssayError, match="no simulated machine is called"):
        native.simulated("abacus")
    assert frequencies.offered(none) == ()
