"""What is left of a process that is killed: nothing, whichever of its ancestors is killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUNNER = """
import os, sys
from assay.runner.process import run_process
program = sys.argv[1]
arguments = ["-c", program, *sys.argv[2:]]
ended = run_process(sys.executable, "", environment=dict(os.environ), arguments=arguments)
print(ended.exit_code)
"""
PROGRAM = """
import os, signal, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open("orphan.part", "w") as file:
            file.write(str(os.getpid()))
        os.rename("orphan.part", "orphan")
        time.sleep(1000)
    time.sleep(1000)
while not os.path.exists("orphan"):
    time.sleep(0.01)
number = os.getpid()
for _ in range(["trial", "meter", "runner"].index(sys.argv[1])):
    with open(f"/proc/{number}/stat") as file:
        number = int(file.read().rpartition(")")[2].split()[1])
os.kill(number, signal.SIGKILL)
time.sleep(1000)
"""


@pytest.mark.parametrize(("killed", "code"), [("trial", 0), ("meter", 0), ("runner", -signal.SIGKILL)])
def test_nothing_is_left_whoever_is_killed(killed: str, code: int, tmp_path: Path) -> None:
    program = PROGRAM.replace('"orphan', f'"{tmp_path}/orphan')
    ended = subprocess.run(
        [sys.executable, "-c", RUNNER, program, killed], stdout=subprocess.PIPE, text=True, check=False
    )
    assert ended.returncode == code
    if killed != "runner":
        assert int(ended.stdout) == -signal.SIGKILL
    orphan = Path("/proc", (tmp_path / "orphan").read_text())
    while killed == "runner" and orphan.exists():  # the meter ends it, and nobody waits for that
        time.sleep(0.01)
    assert not orphan.exists()


def test_the_cleanup_of_a_race_runs_once_after_kill_9(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    # The parent of the meter, which is the parent of the script.
    kill = 'read -r stat < "/proc/$PPID/stat"; set -- ${stat##*) }; kill -9 "$2"; sleep 1000'
    (tmp_path / "kill.sh").write_text(kill)
    words = ["race", "sh kill.sh", "true", "--cleanup", "echo cleaned >> log", "--quiet"]
    ended = subprocess.run([sys.executable, "-m", "assay", *words], cwd=tmp_path, check=False)
    assert ended.returncode == -signal.SIGKILL
    while list(temporary.iterdir()):
        time.sleep(0.01)
    assert (tmp_path / "log").read_text() == "cleaned\n"
