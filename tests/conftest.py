"""What tests of the whole path share: the `assay` command as a user types it, in an empty folder."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import TextIO

import pytest

from assay import cli
from assay.cli.commands import satellites
from assay.experiment.testing import experiment_text
from assay.report import site

Assay = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[1]


def small_experiment(name: str, blocks: int) -> str:
    """Return the text of an experiment of two real subjects whose trials take milliseconds."""
    return experiment_text(
        name=name,
        mix="insert = 10, erase = 10, find = 80",
        trial="duration_ms = 5",
        design=f"blocks = {blocks}",
        baseline="noop",
    )


def verdicts_of_all_groups(printed: str) -> list[str]:
    """Return each comparison's verdict in what `--json` printed, over every group that is valid.

    A difference that no host can hide is found here on any host. The verdict itself leaves out the groups in
    which the host changed its mode, and on a busy host those may be most.
    """
    whole = json.loads(printed)
    return [comparison["all_groups"]["verdict"] for comparison in whole.get("analysis", whole)["comparisons"]]


def assay_in(folder: Path) -> Assay:
    """Return a function that runs `assay` with the given words in `folder` and expects an exit code.

    It runs in this process, which saves the start of an interpreter with all that Assay imports. What it and
    its child processes print is captured at the file descriptors.
    """

    def command(*words: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
        completed = run_assay(folder, *words)
        assert completed.returncode == expect, completed.stdout + completed.stderr
        return completed

    return command


def run_assay(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `assay` in `folder` and return how it ended."""
    program = str(Path(cli.__file__).parents[1] / "__main__.py")
    arguments = [program, *map(str, words)]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as stdout,
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="", errors="backslashreplace") as stderr,
    ):
        code: object = 0
        with (
            _redirected(1, "stdout", stdout),
            _redirected(2, "stderr", stderr),
            _as_program(folder, arguments),
        ):
            try:
                cli.main()
            except SystemExit as system_exit:
                code = system_exit.code
        texts = [(file.seek(0), file.read())[1] for file in (stdout, stderr)]
    return subprocess.CompletedProcess(
        arguments, code if isinstance(code, int) else int(code is not None), *texts
    )


class Started(ForkProcess):
    """`assay` in a process of its own, forked from this one, which has imported what it needs.

    What it prints is in `stdout` and `stderr` once it has ended.
    """

    def __init__(self, folder: Path, *words: str) -> None:
        super().__init__()
        self._folder, self._words = folder, words
        self._printed = folder / "printed.json"

    def run(self) -> None:
        """Run the command; called in the new process."""
        completed = run_assay(self._folder, *self._words)
        self._printed.write_text(json.dumps([completed.stdout, completed.stderr]))
        os._exit(completed.returncode)

    def ended(self) -> tuple[int | None, str, str]:
        """Wait for the end, and return the exit code and what was printed."""
        self.join()
        stdout, stderr = json.loads(self._printed.read_text())
        return self.exitcode, stdout, stderr


@contextlib.contextmanager
def _redirected(descriptor: int, name: str, file: TextIO) -> Iterator[None]:
    """Send what this process writes to a stream, and its children to its descriptor, to a file."""
    before, stream = os.dup(descriptor), getattr(sys, name)
    stream.flush()
    os.dup2(file.fileno(), descriptor)
    setattr(sys, name, file)
    try:
        yield
    finally:
        file.flush()
        setattr(sys, name, stream)
        os.dup2(before, descriptor)
        os.close(before)


@contextlib.contextmanager
def _as_program(folder: Path, arguments: list[str]) -> Iterator[None]:
    """Have the folder, the arguments and the signals that a process of its own would have; restore them."""
    before, handler = sys.argv, signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = arguments
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.argv = before
        signal.signal(signal.SIGINT, handler)


@pytest.fixture
def no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no page: pages have tests of their own, and take longer than most of what leads to them."""
    monkeypatch.setattr(site, "write_page", lambda *_: Path("index.html"))


@pytest.fixture
def assay(tmp_path: Path) -> Assay:
    """Return `assay_in` a folder of the test's own."""
    return assay_in(tmp_path)


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the package is installed."""
    installed = tmp_path_factory.mktemp("prefix")
    subprocess.run(
        ["cmake", "--install", ROOT / "build" / "release", "--prefix", installed],
        check=True,
        capture_output=True,
    )
    return installed


def has_command(name: str) -> bool:
    """Tell whether the satellite is there that has a command."""
    return name in {found.name for _, found in satellites()}
