"""A program whose output is lost has failed: a full disk, a closed output, a reader that has left."""

import os
import shlex
import signal
import subprocess

import pytest

from assay import programs

COMMANDS = [
    "assay-trial --list",
    "assay-trial --version",
    "assay-pitfalls --help",
    "assay-engines --list",
    "assay-clocks",
    "assay-calibrate --help",
    "assay-energy --help",
    "assay-govern --help",
    "assay-flawed-fixtures --list",
    "assay-flawed-fixtures sound --iterations 10",
    "assay-rig list",
    "assay-rig --help",
    "assay-rig model std_map_mutex --operations 10 --keys 5",
    "assay-rtm --help",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_in_vain_is_an_error(command: str) -> None:
    name, *words = shlex.split(command)
    program = shlex.join([str(programs.find(name)), *words])
    for redirection in (">/dev/full", ">&-"):
        ended = subprocess.run(
            ["/bin/sh", "-c", f"{program} {redirection}"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert ended.returncode in {1, 2}
        assert "error: cannot write to standard output" in ended.stderr
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as output:
        code = subprocess.call([programs.find(name), *words], stdin=subprocess.DEVNULL, stdout=output)
    assert code == -signal.SIGPIPE
