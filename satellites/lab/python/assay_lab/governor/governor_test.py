"""The governor on mocked machines: trained, run, ended in every way, and everything is as it was."""

import configparser
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay import programs
from assay.errors import AssayError
from assay.host.journal import Journal, open_journal
from assay.host.system import _SCRIPT, System
from assay.host.testing import CPU, made_machine
from assay.host.tune import Restored, chosen, tune
from assay_lab.governor import control
from assay_lab.governor.control import changes, governed, look, put_back
from assay_lab.governor.state import forget
from assay_lab.governor.training import exponent, load, numbers_of_processors, save
from conftest import ROOT

POLICY = f"{CPU}/cpufreq/policy0"
ZONE = "/sys/class/powercap/intel-rapl:0"
FREQUENCIES = (1_000_000, 2_000_000, 3_000_000)
BY_SPEED = {
    "/etc/machine-id": "0123456789abcdef",
    "/proc/sys/kernel/hostname": "made",
    "/proc/sys/kernel/random/boot_id": "first-boot",
    "/proc/cpuinfo": "processor : 0\nmodel name : Made",
    "/proc/stat": "cpu0 10 0 0 10 0 0 0 0 0 0",
    f"{CPU}/online": "0",
    f"{POLICY}/affected_cpus": "0",
    f"{POLICY}/related_cpus": "0",
    f"{POLICY}/scaling_driver": "acpi-cpufreq",
    f"{POLICY}/scaling_governor": "schedutil",
    f"{POLICY}/scaling_available_governors": "schedutil userspace performance",
    f"{POLICY}/scaling_available_frequencies": "3000000 2000000 1000000",
    f"{POLICY}/scaling_min_freq": "1000000",
    f"{POLICY}/scaling_max_freq": "3000000",
    f"{POLICY}/scaling_setspeed": "1000000",
    f"{ZONE}/name": "package-0",
    f"{ZONE}/energy_uj": "5000000",
    f"{ZONE}/max_energy_range_uj": "99000000000",
}
BY_LIMITS = BY_SPEED | {f"{POLICY}/scaling_available_governors": "performance powersave"}
MAY_CHANGE = tuple(f"{POLICY}/scaling_{name}" for name in ("governor", "min_freq", "max_freq"))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return where journal and state are, and have the program whose counters are made."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as made:
        (Path(made) / "assay-govern").symlink_to(programs.find("mocked_govern"))
        monkeypatch.setenv("ASSAY_PROGRAMS", made)
        monkeypatch.setenv("ASSAY_HOST_STATE", made)
        monkeypatch.setenv("ASSAY_GOVERNOR_STATE", f"{made}/state.json")
        yield Path(made)


@pytest.fixture(params=[BY_SPEED, BY_LIMITS], ids=["by speed", "by limits"])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> System:
    return made_machine(tmp_path / "root", request.param)


def values(system: System) -> dict[str, str | None]:
    return {place: system.read(place) for place in MAY_CHANGE}


def trained(machine: str) -> dict[str, Any]:
    measured = [
        {
            "load": which,
            "processors": 1,
            "frequency_khz": frequency,
            "watts": 10 + (frequency / 1e6) ** 3,
            "instructions_per_second": frequency * 1e3 if which == "compute" else 1e9 / (9 + 1e6 / frequency),
            "cache_misses_per_second": 0.0 if which == "compute" else 1e7,
        }
        for which in ("compute", "memory")
        for frequency in FREQUENCIES
    ]
    return {"machine": machine, "measured": measured}


def request(system: System, folder: Path) -> dict[str, Any]:
    machine = look(system)["machine"]
    state = str(folder / "state.json")
    return {"action": "run", "training": trained(machine), "exponent": 1, "without": [], "state": state}


def begun(system: System, folder: Path, asked: dict[str, Any]) -> subprocess.Popen[str]:
    """Have something governed in a process of its own."""
    code = (
        "import json, sys\nfrom pathlib import Path\nfrom assay_lab.governor.control import governed\n"
        "from assay.host.testing import MadeSystem\n"
        "print(governed(MadeSystem(Path(sys.argv[1])), Path(sys.argv[2]), json.loads(sys.argv[3]), print))"
    )
    words = [sys.executable, "-c", code, str(system.root), str(folder), json.dumps(asked)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def started(system: System, folder: Path) -> subprocess.Popen[str]:
    """Start a governor, and return once it governs."""
    process = begun(system, folder, request(system, folder))
    until(lambda: (folder / "state.json").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def until(come: Callable[[], bool]) -> None:
    """Wait for something that comes; the time-out of tests ends what never does."""
    while not come():
        time.sleep(0.005)


def of_the_loop(folder: Path) -> int:
    return int(json.loads((folder / "state.json").read_text())["process"])


def gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_all_is_as_it_was(system: System, folder: Path, number: int) -> None:
    before = values(system)
    process = started(system, folder)
    assert values(system) != before
    process.send_signal(number)
    said, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert "'decisions'" in said
    assert values(system) == before
    assert not (folder / "host.journal").exists()


def test_kill_9_of_the_loop_is_told_and_all_is_as_it_was(system: System, folder: Path) -> None:
    before = values(system)
    process = started(system, folder)
    os.kill(of_the_loop(folder), signal.SIGKILL)
    errors = process.communicate()[1]
    assert process.returncode == 1
    assert "was ended by signal 9; what it had changed was put back" in errors
    assert values(system) == before


def go_offline(system: System) -> None:
    """Have the one processor of a made machine go: a governor that runs notes it."""
    (system.root / f"{CPU}/online".lstrip("/")).write_text("1\n")


def test_a_note_that_cannot_be_written_ends_the_loop_before_all_is_put_back(
    system: System, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed:
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    loops: list[subprocess.Popen[str]] = []
    handlers = [signal.getsignal(number) for number in control._ENDS]
    forwarded, restore = control._forwarded, control.put_back

    def watched(process: subprocess.Popen[str]) -> Callable[[], None]:
        loops.append(process)
        return forwarded(process)

    def after_the_loop(system: System, journal: Journal) -> list[Restored]:
        assert [loop.returncode for loop in loops] == [-signal.SIGKILL]
        assert [signal.getsignal(number) for number in control._ENDS] == handlers
        return restore(system, journal)

    before = values(system)
    asked = request(system, folder)
    go_offline(system)
    monkeypatch.setattr(control, "_forwarded", watched)
    monkeypatch.setattr(control, "put_back", after_the_loop)
    monkeypatch.setattr(sys, "stderr", Closed())
    with pytest.raises(BrokenPipeError):
        governed(system, folder, asked, print)
    assert loops
    assert values(system) == before
    assert not (folder / "host.journal").exists()


def test_notes_that_nobody_reads_end_it_and_all_is_as_it_was(system: System, folder: Path) -> None:
    before = values(system)
    process = started(system, folder)
    loop = of_the_loop(folder)
    assert process.stderr
    process.stderr.close()
    go_offline(system)
    assert process.wait() != 0
    assert gone(loop)
    assert values(system) == before
    assert not (folder / "host.journal").exists()


def test_kill_9_of_everything_is_put_back_by_the_next_start(system: System, folder: Path) -> None:
    before = values(system)
    process = started(system, folder)
    loop = of_the_loop(folder)
    process.kill()
    process.communicate()
    until(lambda: gone(loop))  # it dies with its parent
    assert values(system) != before
    (folder / "state.json").unlink()
    again = started(system, folder)
    again.terminate()
    again.communicate()
    assert again.returncode == 0
    assert values(system) == before


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from assay_lab.governor import control
from assay.host.testing import MadeSystem
steps = 0
def stepping(real):
    def step(*arguments, **named):
        global steps
        steps += 1
        if steps == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    return step
for name in ("write", "fsync", "ftruncate", "unlink", "replace"):
    setattr(os, name, stepping(getattr(os, name)))
def refuse(command, *_):
    place = "/sys/devices/system/cpu/cpufreq/policy0/scaling_"
    files = ("setspeed",) if MadeSystem(Path(sys.argv[1])).read(place + "governor") == "userspace" else (
        "max_freq", "min_freq")
    for file in files:  # as the loop does
        MadeSystem(Path(sys.argv[1])).write({place + file: "2000000"})
    return {}
control._run_driver = refuse
control.governed(MadeSystem(Path(sys.argv[1])), Path(sys.argv[2]), {}, print)
"""


def test_kill_9_at_each_step_loses_nothing(system: System, folder: Path) -> None:
    before = values(system)
    for number in range(1, 100):
        words = [sys.executable, "-c", KILLED_AT, str(system.root), str(folder), str(number)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        with open_journal(folder, system) as journal:
            assert put_back(system, journal) == []
        assert values(system) == before, number
        if done.returncode == 0:
            break
    assert 5 < number < 100


def driver_that(makes: Callable[[int], int], system: System) -> Callable[..., dict[str, Any]]:
    """Return a loop that sets 3 GHz, of which a driver makes something else."""

    def loop(*_: object) -> dict[str, Any]:
        speed = system.read(f"{POLICY}/scaling_governor") == "userspace"
        for file in ("setspeed",) if speed else ("max_freq", "min_freq"):
            system.write({f"{POLICY}/scaling_{file}": str(makes(3_000_000))})
        return {}

    return loop


@pytest.mark.parametrize("by", [BY_SPEED | {f"{POLICY}/scaling_governor": "userspace"}, BY_LIMITS])
@pytest.mark.parametrize("makes", [lambda khz: khz - 4_000, lambda khz: min(khz, 2_500_000)])
def test_what_a_driver_made_of_a_frequency_is_put_back_too(
    by: dict[str, str],
    makes: Callable[[int], int],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It rounds, or caps while the processor is hot."""
    system = made_machine(tmp_path / "root", by)
    places = [f"{POLICY}/scaling_{file}" for file in ("setspeed", "min_freq", "max_freq")]
    monkeypatch.setattr(control, "_run_driver", driver_that(makes, system))
    said: list[str] = []
    governed(system, folder, {}, said.append)
    assert said == []
    assert {place: system.read(place) for place in places} == {place: by[place] for place in places}
    assert not (folder / "host.journal").exists()


def test_a_governor_that_another_one_chose_meanwhile_stays_and_holds_the_next_start(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = made_machine(tmp_path / "root", BY_SPEED)

    def loop(*_: object) -> dict[str, Any]:
        system.write({f"{POLICY}/scaling_governor": "performance"})
        return {}

    monkeypatch.setattr(control, "_run_driver", loop)
    said: list[str] = []
    governed(system, folder, {}, said.append)
    assert "something else made it performance" in said[0]
    with pytest.raises(AssayError, match="something else made it performance"):
        governed(system, folder, {}, print)
    assert system.read(f"{POLICY}/scaling_governor") == "performance"


@pytest.mark.parametrize("folder_of_tunables", [POLICY, f"{CPU}/cpufreq"])
def test_settings_of_a_governor_that_the_kernel_made_anew_are_told(
    folder_of_tunables: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, other = (f"{folder_of_tunables}/schedutil/{name}" for name in ("rate_limit_us", "other"))
    system = made_machine(tmp_path / "root", BY_SPEED | {limit: "500", other: "1"})

    def loop(*_: object) -> dict[str, Any]:
        assert system.read(f"{POLICY}/scaling_governor") == "userspace"
        system.write({limit: "10000"})  # as the kernel does when schedutil is back
        return {}

    monkeypatch.setattr(control, "_run_driver", loop)
    said: list[str] = []
    governed(system, folder, {}, said.append)
    assert said == [
        f"{limit}: was 500, and is 10000 since userspace ended, as the kernel made it anew: write it again"
    ]
    assert not (folder / "host.journal").exists()


def test_after_another_boot_what_is_there_stays(system: System, folder: Path) -> None:
    process = started(system, folder)
    loop = of_the_loop(folder)
    process.kill()
    process.communicate()
    until(lambda: gone(loop))
    (system.root / "proc/sys/kernel/random/boot_id").write_text("second-boot\n")
    (system.root / f"{POLICY}/scaling_max_freq".lstrip("/")).write_text("2500000\n")
    (system.root / f"{POLICY}/scaling_min_freq".lstrip("/")).unlink()
    before = values(system)
    with open_journal(folder, system) as journal:
        assert journal.pending
        assert put_back(system, journal) == []
    assert values(system) == before
    assert not (folder / "host.journal").exists()


def test_a_policy_whose_processor_is_offline_at_the_end_is_put_back_once_it_can_be(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = f"{CPU}/cpufreq/policy1"
    second = {place.replace(POLICY, other): value for place, value in BY_SPEED.items() if POLICY in place}
    second |= {f"{other}/{name}_cpus": "1" for name in ("affected", "related")}
    system = made_machine(tmp_path / "root", BY_SPEED | second)
    here, away = system.root / other.lstrip("/"), system.root / "away"
    said: list[str] = []
    goes = [True]

    def loop(*_: object) -> dict[str, Any]:
        if goes.pop():
            here.rename(away)
        return {}

    monkeypatch.setattr(control, "_run_driver", loop)
    governed(system, folder, {}, said.append)
    assert "policy1/scaling_governor: has vanished" in said[0]
    goes.append(False)
    governed(system, folder, {}, said.append)  # it does not hold the others
    assert system.read(f"{POLICY}/scaling_governor") == "schedutil"
    away.rename(here)
    assert system.read(f"{other}/scaling_governor") == "userspace"
    with open_journal(folder, system) as journal:
        assert put_back(system, journal) == []
    assert system.read(f"{other}/scaling_governor") == "schedutil"


def test_without_setpriv_it_says_so(system: System, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, asked = values(system), request(system, folder)
    monkeypatch.setenv("PATH", str(folder / "empty"))
    with pytest.raises(AssayError, match=r"setpriv is missing.*install util-linux"):
        governed(system, folder, asked, print)
    assert values(system) == before


def test_policies_that_tell_nothing_are_refused(system: System, folder: Path) -> None:
    with open_journal(folder, system) as journal, pytest.raises(AssayError, match="no policy tells"):
        control._prepare(system, journal, [])


def test_without_permission_nothing_is_changed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = {"lacking": {}, "policies": look(made_machine(tmp_path, BY_SPEED))["policies"]}
    monkeypatch.setattr(control, "look", lambda system: machine)
    monkeypatch.setattr(System, "read", lambda self, place: BY_SPEED.get(place))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(AssayError, match="cannot be changed: only root may; nothing was changed"):
        governed(System(), folder, {}, print)
    assert not (folder / "host.journal").exists()


def test_a_kernel_that_does_not_take_userspace_is_told(folder: Path, tmp_path: Path) -> None:
    class Deaf(System):
        def write(self, values: Mapping[str, str], locks: Sequence[int] = ()) -> dict[str, str]:
            return {}

    deaf = Deaf(made_machine(tmp_path, BY_SPEED).root)
    with pytest.raises(AssayError, match="was set to userspace, and stays schedutil"):
        governed(deaf, folder, {}, print)
    assert not (folder / "host.journal").exists()


def test_two_at_once_are_refused(system: System, folder: Path) -> None:
    process = started(system, folder)
    with pytest.raises(AssayError, match=r"another assay .* tunes this host"):
        governed(system, folder, request(system, folder), print)
    forget(folder / "state.json")
    assert (folder / "state.json").exists()  # the one that runs is to be seen still
    process.terminate()
    process.communicate()
    forget(folder / "state.json")
    assert not (folder / "state.json").exists()


def test_a_host_that_is_tuned_stays_so(system: System, folder: Path) -> None:
    with open_journal(folder, system) as journal:
        tune(system, journal, chosen(["governor"]))
    with pytest.raises(AssayError, match="has been tuned since"):
        governed(system, folder, request(system, folder), print)
    assert system.read(f"{POLICY}/scaling_governor") == "performance"


def test_a_training_of_another_machine_or_frequency_changes_nothing(system: System, folder: Path) -> None:
    before = values(system)
    asked = request(system, folder)
    other = asked | {"training": asked["training"] | {"machine": "another"}}
    with pytest.raises(AssayError, match="of another machine, another; this is Made; 1 processors"):
        governed(system, folder, other, print)
    asked["training"]["measured"][0]["frequency_khz"] = 3_700_000
    with pytest.raises(AssayError, match=r"has 3700000 kHz, which .*policy0 does not take"):
        governed(system, folder, asked, print)
    assert values(system) == before
    assert not (folder / "host.journal").exists()


def test_without_cpufreq_it_says_so(folder: Path, tmp_path: Path) -> None:
    bare = made_machine(tmp_path / "bare", {"/etc/machine-id": "x", f"{CPU}/online": "0"})
    with pytest.raises(AssayError, match="the kernel sets no frequencies here"):
        governed(bare, folder, {"action": "run"}, print)


def test_a_training_is_measured_written_and_read(system: System, folder: Path) -> None:
    before = values(system)
    asked = {
        "action": "train",
        "seconds": 0.02,
        "processors": [1],
        "converged_within": 0,
        "load_bytes": 2**20,
    }
    training = governed(system, folder, asked, print)
    assert values(system) == before
    measured = [(one["load"], one["frequency_khz"]) for one in training["measured"]]
    assert measured == [(which, frequency) for which in ("compute", "memory") for frequency in FREQUENCIES]
    watts = [one["watts"] for one in training["measured"][:3]]
    assert watts == sorted(watts)
    file = folder / "training.json"
    save(file, training)
    assert load(file) == {"machine": training["machine"], "measured": training["measured"]}
    file.write_text(file.read_text().replace("1000000", "1100000", 1))
    with pytest.raises(AssayError, match="is damaged"):
        load(file)


def test_a_training_that_is_interrupted_is_none(system: System, folder: Path) -> None:
    before = values(system)
    asked = {
        "action": "train",
        "seconds": 3600,
        "processors": [1],
        "converged_within": 0,
        "load_bytes": 2**20,
    }
    process = begun(system, folder, asked)
    until(lambda: values(system) != before)
    process.terminate()
    errors = process.communicate()[1]
    assert process.returncode == 1
    assert "the training was ended by a signal" in errors
    assert values(system) == before


def test_a_state_that_cannot_be_written_is_told(system: System, folder: Path) -> None:
    before = values(system)
    asked = request(system, folder) | {"state": str(folder / "none" / "state.json")}
    with pytest.raises(AssayError, match=r"state\.json: No such file or directory; .*ASSAY_GOVERNOR_STATE"):
        governed(system, folder, asked, print)
    assert values(system) == before


def test_the_service_is_not_begun_again_where_it_cannot_work(folder: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(ROOT / "satellites/lab/native/programs/assay-governor.service")
    service = unit["Service"]
    program, *words = service["ExecStart"].split()
    assert program == "assay-governor"
    assert service["Restart"] == "on-failure"
    missing = ["--training", str(folder / "none")]
    for arguments, why in ((missing, "assay-governor train"), (["--optimise", "E"], "--optimise")):
        code = "from assay_lab.cli import governor; governor()"
        command = [sys.executable, "-c", code, *words, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert why in done.stderr
        assert str(done.returncode) in service["RestartPreventExitStatus"].split()
    assert "70" not in service["RestartPreventExitStatus"].split()  # a defect of ours may be rare


def test_without_energy_it_runs_but_does_not_train(system: System, folder: Path) -> None:
    shutil.rmtree(system.root / "sys/class/powercap")
    assert look(system)["lacking"].keys() == {"energy"}
    asked = {"action": "train", "seconds": 0.02, "processors": [1], "converged_within": 0}
    before = values(system)
    with pytest.raises(AssayError, match="a training needs a counter of energy: there is no intel-rapl"):
        governed(system, folder, asked, print)
    process = started(system, folder)
    notes = json.loads((folder / "state.json").read_text())["notes"]
    assert notes == ["without energy counters: the training alone says what power costs"]
    process.terminate()
    process.communicate()
    assert process.returncode == 0
    assert values(system) == before


@pytest.mark.parametrize(
    ("online", "numbers"), [("0-5", [1, 2, 4, 6]), ("0-2,4", [1, 2, 4]), ("0", [1]), (None, [1, 2, 4, 6])]
)
def test_a_training_is_for_the_processors_that_are_online(
    online: str | None, numbers: list[int], tmp_path: Path
) -> None:
    system = made_machine(tmp_path, {f"{CPU}/online": online} if online else {})
    machine = {"policies": [{"processors": [0, 1, 2]}, {"processors": [3, 4, 5]}]}
    assert numbers_of_processors(system, machine) == numbers


@pytest.mark.parametrize(("text", "value"), [("E", 0), ("ED", 1), ("ED2", 2), ("ED^2", 2), ("ED^0.5", 0.5)])
def test_objectives(text: str, value: float) -> None:
    assert exponent(text) == value


@pytest.mark.parametrize("text", ["ED^0", "ED^-1", "ED0", "D", "ED^x", "ED^1000", ""])
def test_other_objectives_are_refused(text: str) -> None:
    with pytest.raises(AssayError, match="--optimize"):
        exponent(text)


def test_every_change_is_admitted_by_the_root_script(system: System) -> None:
    allowed = runpy.run_path(str(_SCRIPT))["ALLOWED"]
    policies = [{"place": POLICY, "governor": "schedutil", "frequencies_khz": FREQUENCIES}]
    for change in changes(system, {"policies": policies}):
        for value in (change.was, change.to):
            assert any(
                re.fullmatch(place, change.place) and re.fullmatch(values, value)
                for place, values in allowed.items()
            ), change


# umockdev's attributes keep what a shorter value leaves of a longer one, so that these are of one length.
UMOCKDEV = """\
P: /devices/system/cpu/cpufreq/policy0
E: SUBSYSTEM=cpu
A: affected_cpus=0
A: related_cpus=0
A: scaling_driver=acpi-cpufreq
A: scaling_governor=schedutil
A: scaling_available_governors=schedutil userspace performance
A: scaling_available_frequencies=3000000 2000000 1000000
A: scaling_min_freq=1000000
A: scaling_max_freq=3000000
A: scaling_setspeed=1000000

P: /devices/virtual/powercap/intel-rapl:0
E: SUBSYSTEM=powercap
A: name=package-0
A: energy_uj=5000000
A: max_energy_range_uj=99000000000
"""

SESSION = """
set -e
MAIN='from assay_lab.cli import governor; governor()'
governor() { "$PYTHON" -c "$MAIN" "$@"; }
show() { cat /sys/devices/system/cpu/cpufreq/policy0/scaling_governor; echo; }
begin() {
    "$PYTHON" -c "$MAIN" run --training "$STATE/training" --optimize ED2 & running=$!
    until [ -e "$STATE/state.json" ]; do kill -0 $running; sleep 0.01; done
}
governor train --output "$STATE/training" --within 20ms --load-mib 1 --converge 0; show
begin; show; governor status; governor explain
kill $running; wait $running; show
begin; kill -9 $running; wait $running || echo killed; show
governor restore; show
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_commands_on_a_mocked_sys_with_made_counters(folder: Path) -> None:
    """The root script and the real /proc have their part here, too."""
    machine = folder / "machine.umockdev"
    machine.write_text(UMOCKDEV)
    environment = os.environ | {"STATE": str(folder), "PYTHON": sys.executable}
    command = ["umockdev-run", "--device", str(machine), "--", "sh", "-c", SESSION]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    shown = [line for line in done.stdout.splitlines() if line in {"schedutil", "userspace", "killed"}]
    assert shown == ["schedutil", "userspace", "schedutil", "killed", "userspace", "schedutil"]
    assert "6 measurements of " in done.stdout
    assert "assay-governor run: works here\nassay-governor train: works here" in done.stdout
    assert ", for ED^2\n" in done.stdout
    assert "\nprocessors 0: " in done.stdout
    assert "of 1 places put back" in done.stdout
