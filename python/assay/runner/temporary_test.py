import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.runner.temporary import Temporary

KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from assay.runner.temporary import Temporary
temporary = Temporary("assay-test-").__enter__()
(temporary.folder / "file").touch()
temporary.owe([("echo never >> log", Path.cwd())])
temporary.owe([("echo first >> log", Path.cwd()), ("exit 1", Path.cwd()), ("echo last >> log", Path.cwd())])
if sys.argv[1] == "paid":
    temporary.owe([])
subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True, env=temporary.variables)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where all temporary folders are."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize(("state", "log"), [("owed", "first\nlast\n"), ("paid", "")])
def test_what_a_killed_process_owes_is_run_once_and_its_folder_is_gone(
    state: str, log: str, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "log").touch()
    ended = subprocess.run([sys.executable, "-c", KILLED, state], cwd=tmp_path, check=False)
    assert ended.returncode == -signal.SIGKILL
    while list(folder.iterdir()):  # the last that a janitor does
        time.sleep(0.01)
    assert (tmp_path / "log").read_text() == log


def test_a_folder_whose_janitor_was_killed_is_removed_by_the_next(tmp_path: Path, folder: Path) -> None:
    (folder / "assay-test-file").touch()
    (folder / "assay-test-link").symlink_to(tmp_path)
    (folder / "other-test-folder").mkdir()
    there = set(folder.iterdir())
    with Temporary("assay-test-") as living:
        left = Temporary("assay-test-").__enter__()
        assert {left.folder, living.folder} == {*folder.iterdir()} - there
        left._janitor.kill()
        left._janitor.wait()
        left.owe([("true", tmp_path)])  # which nobody hears
        with Temporary("assay-test-") as latest:
            assert {latest.folder, living.folder} == {*folder.iterdir()} - there
        assert living.folder.is_dir()
        left._janitor.communicate()
    assert {*folder.iterdir()} == there
    assert tmp_path.is_dir()


def test_a_process_in_the_folder_is_ended(folder: Path) -> None:
    with Temporary("assay-test-") as temporary:
        process = subprocess.Popen(["/bin/sleep", "1000"], cwd=temporary.folder, start_new_session=True)
    assert process.wait() == -signal.SIGKILL
    assert list(folder.iterdir()) == []
