"""What holds for every test."""

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main
from hypothesis import settings

# NumPy's threads wait busily for each other over arrays as small as those of tests: twice the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from assay import programs
from assay.runner import load

if TYPE_CHECKING:
    from assay.store.testing import TestServer

# Typer would make all commands from their functions again for each call, which takes 15 ms.
typer.main.get_command = cache(typer.main.get_command)

# Otherwise each `assay` that tests start would compile hundreds of files before it does anything.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# An example may take as long as the machine needs: no test is about time.
# The same examples in every run: what has passed once does not fail on somebody else's change.
settings.register_profile("assay", deadline=None, derandomize=True, database=None)
settings.load_profile("assay")

# Tests send themselves and others these signals, which are ignored under nohup and in a script's background.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is measured is the same on any host, and no trial is disturbed.
TRIAL = """#!/bin/sh
test $# -eq 0 || exec {program} "$@"
read -r request
case $request in *'"subject": "noop"'*) rate=2e6;; *) rate=1e6;; esac
metrics='"throughput": '$rate', "find_throughput": '$rate
echo '{{"protocol": 1, "status": "valid", "metrics": {{'$metrics'}}}}'
"""

CALIBRATION = {
    "protocol": 1,
    "cpus": [0],
    "metrics": {"memory_ns": 90.0, "arithmetic_ns": 1.0},
    "unavailable": {"core_to_core_ns": "a test's"},
    "elapsed_ms": 1,
}


@pytest.fixture(scope="session", autouse=True)
def host_to_itself() -> Iterator[None]:
    """Take the host for quiet, as far as trials go: tests run beside each other.

    For the whole session, as fixtures of modules run campaigns before a test's own fixtures are there.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "counts", lambda: None)
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator["TestServer"]:
    """Return a PostgreSQL server, which is started when the first test asks for it."""
    from assay.store.testing import running_server  # noqa: PLC0415 - most runs of tests need none

    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def steady_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of our programs, in which the calibration always says the same, at once."""
    folder = tmp_path_factory.mktemp("programs")
    for program in programs.find("assay-trial").parent.glob("assay-*"):
        (folder / program.name).symlink_to(program)
    put(
        folder / "assay-calibrate",
        f"#!/bin/sh\nread -r request\necho {shlex.quote(json.dumps(CALIBRATION))}\n",
    )
    return folder


def put(program: Path, text: str) -> None:
    """Put a script in the place of a program."""
    program.unlink()
    program.write_text(text)
    program.chmod(0o755)


@pytest.fixture(scope="session")
def constant_programs(steady_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of our programs, in which `noop` always is twice as fast as any other subject.

    For tests that expect a verdict, and are about something else: on a busy host a thread may not run at all
    while a trial of milliseconds is measured.
    """
    folder = tmp_path_factory.mktemp("constant")
    for program in steady_programs.iterdir():
        (folder / program.name).symlink_to(program)
    put(folder / "assay-trial", TRIAL.format(program=shlex.quote(str(programs.find("assay-trial")))))
    return folder


@pytest.fixture
def steady_host(steady_programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a host that is always the same: its calibration takes many times as long as a tiny trial."""
    monkeypatch.setenv("ASSAY_PROGRAMS", str(steady_programs))


@pytest.fixture
def constant_trials(constant_programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have trials of our subjects that measure the same on every host."""
    monkeypatch.setenv("ASSAY_PROGRAMS", str(constant_programs))
