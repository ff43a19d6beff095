"""Allocators that are loaded into trials, and what is said where they are not."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import programs
from assay.errors import AssayError
from assay.experiment import SubjectOffer, check, parse
from assay.experiment.testing import experiment_text
from assay.plan.types import PlannedTrial
from assay.runner import allocators
from assay.runner.allocators import library_of
from assay.runner.local import LocalExecutor
from assay.runner.machine import present_machine
from assay.runner.process import CannotStartError, StopSignals
from assay.runner.types import Outcome

CALIBRATION = '{"protocol": 1, "cpus": [0], "metrics": {"memory_ns": 80}, "unavailable": {}, "elapsed_ms": 1}'
REQUEST = {
    "protocol": 1,
    "subject": "std_map_mutex",
    "seed": 7,
    "threads": 1,
    "pinning": "none",
    "key_range": 1000,
    "keys": "dense",
    "mix": {"insert": 20, "erase": 20, "find": 60},
    "duration_ms": 20,
    "interval_ms": 10,
}
EXPERIMENT = experiment_text('subject = ["one", "two"]', trial='allocator = "jemalloc"', baseline="one")


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    library_of.cache_clear()
    yield
    library_of.cache_clear()


@pytest.fixture
def calibrate(tmp_path: Path) -> Path:
    """Return a calibration that fails where something is preloaded."""
    return script(
        tmp_path / "calibrate", f"'LD_PRELOAD' in os.environ and sys.exit(3)\nprint('{CALIBRATION}')"
    )


def script(path: Path, code: str) -> Path:
    path.write_text(f"#!{sys.executable} -IS\nimport json, os, sys\n{code}\n")
    path.chmod(0o755)
    return path


def run(program: Path, calibrate: Path, **request: Any) -> Outcome:
    trial = PlannedTrial(
        ordinal=0,
        block=0,
        group=0,
        levels={"subject": "x"},
        request={**REQUEST, **request},
        program=str(program),
        perturbation={"environment_bytes": 100},
        timeout_s=60,
        memory_limit_mb=2000,
    )
    with StopSignals() as stop:
        [outcome] = LocalExecutor(calibrate, stop).execute([trial])
    return outcome


def check_here(text: str = EXPERIMENT) -> None:
    """Check an experiment with subjects of its own against the allocators of this machine."""
    experiment = parse(text, Path("x.toml"))
    subjects = dict.fromkeys({"one", "two"} - experiment.programs.keys(), SubjectOffer())
    check(experiment, replace(present_machine(), subjects=subjects))


@pytest.mark.parametrize("allocator", ["glibc", "jemalloc", "mimalloc"])
def test_a_trial_runs_with_its_allocator_and_says_so_itself(calibrate: Path, allocator: str) -> None:
    outcome = run(programs.find("assay-trial"), calibrate, allocator=allocator)
    assert (outcome.status, outcome.reason) == ("valid", "")
    assert outcome.calibration_error == ""
    assert outcome.result is not None
    library = outcome.result["environment"]["allocator"]
    assert library["name"] == allocator
    assert Path(library["library"]).name.startswith("libc." if allocator == "glibc" else f"lib{allocator}.")


def test_the_allocator_is_put_under_the_program_alone(tmp_path: Path, calibrate: Path) -> None:
    seen = "{'environment': dict(os.environ), 'mapped': 'libjemalloc' in open('/proc/self/maps').read()}"
    result = f"{{'protocol': 1, 'status': 'valid', 'metrics': {{}}, 'details': {seen}, 'environment': env}}"
    code = f"env = {{'allocator': {{'name': 'jemalloc'}}}}\nprint(json.dumps({result}))"
    outcome = run(script(tmp_path / "subject", code), calibrate, allocator="jemalloc")
    assert (outcome.status, outcome.calibration_error) == ("valid", "")
    assert outcome.result is not None
    details = outcome.result["details"]
    assert details["mapped"]
    assert details["environment"]["LD_PRELOAD"] == "libjemalloc.so.2"
    assert len(details["environment"]["ASSAY_PADDING"]) == 100
    without = run(tmp_path / "subject", calibrate)
    assert without.result is not None
    assert not without.result["details"]["mapped"]
    assert "LD_PRELOAD" not in without.result["details"]["environment"]


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({}, "allocator had to be mimalloc, but the result's environment does not name it"),
        ({"allocator": {"unavailable": "?"}}, "the result's environment does not name it"),
        ({"allocator": {"name": "glibc"}}, "had to be mimalloc, but the result says glibc"),
    ],
)
def test_a_trial_that_does_not_say_it_had_the_allocator_is_invalid(
    tmp_path: Path, calibrate: Path, environment: dict[str, Any], why: str
) -> None:
    result = json.dumps(
        {"protocol": 1, "status": "valid", "metrics": {"throughput": 1}, "environment": environment}
    )
    outcome = run(script(tmp_path / "subject", f"print('{result}')"), calibrate, allocator="mimalloc")
    assert outcome.status == "invalid"
    assert why in outcome.reason


def test_the_linkers_own_complaint_is_kept_where_a_library_does_not_load(
    tmp_path: Path, calibrate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocators, "find_library", lambda _: "libnosuch.so.9")
    outcome = run(programs.find("assay-trial"), calibrate, allocator="jemalloc")
    assert outcome.status != "valid"
    assert "libnosuch.so.9" in outcome.stderr
    assert "glibc" in outcome.reason


def test_an_allocator_that_is_not_installed_is_an_error_before_anything_runs(
    tmp_path: Path, calibrate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_here()
    library_of.cache_clear()
    monkeypatch.setattr(allocators, "find_library", lambda _: None)
    why = ".*jemalloc is not installed; apt-get install libjemalloc2"
    with pytest.raises(AssayError, match=f"x.toml:9: trial.allocator: {why}"):
        check_here()
    with pytest.raises(CannotStartError, match=why):
        run(script(tmp_path / "subject", "open('ran', 'w')"), calibrate, allocator="jemalloc")
    assert not (tmp_path / "ran").exists()
    check_here(EXPERIMENT.replace('"jemalloc"', '"glibc"'))
    check_here(EXPERIMENT.replace('allocator = "jemalloc"', ""))


def test_a_factor_of_allocators_is_checked_by_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    text = EXPERIMENT.replace('allocator = "jemalloc"', "").replace(
        "[trial]", 'allocator = ["glibc", "mimalloc"]\n[trial]'
    )
    check_here(text)
    library_of.cache_clear()
    monkeypatch.setattr(allocators, "find_library", lambda _: None)
    with pytest.raises(AssayError, match=r"x.toml:6: factors.allocator: .*apt-get install libmimalloc2.0"):
        check_here(text)


def test_the_allocator_of_a_command_is_left_to_the_command() -> None:
    program = '[subjects.two]\nprogram = "env"\nextract = "lines"\n'
    with pytest.raises(AssayError, match=r"allocator: .*two is a command"):
        check_here(EXPERIMENT + program)


def test_an_unknown_allocator_is_never_looked_for() -> None:
    with pytest.raises(CannotStartError, match=r'"c"; .*glibc, jemalloc, mimalloc'):
        library_of("c")
