"""How native programs quote hostile words, and end where nobody reads what they print."""

import os
import shlex
import signal
import subprocess

from assay import programs
from assay.words import MESSAGE_AT_MOST

HOSTILE = os.fsencode("x\x1b[31m\r\n\u202e\x85\U000e0041") + b"\xff\xed\xa0\x80 " + b"many words " * 10_000


def quoted(program: str, *words: bytes, asked: bytes = b"") -> str:
    """Return what a program says of words or a request that it does not understand."""
    found = programs.find(program)
    ended = subprocess.run([found, *words], input=asked, capture_output=True, check=False, timeout=60)
    assert ended.returncode != 0
    lines = (ended.stdout + ended.stderr).decode().split("\n")
    assert all(line.isprintable() and len(line) <= MESSAGE_AT_MOST for line in lines)
    return "".join(lines)


def check_unknown_words(program: str) -> None:
    """Check that a program quotes a word that it does not know printable and short."""
    assert len(quoted(program, HOSTILE)) < 600
    assert len(quoted(program, b"--" + HOSTILE)) < 400


def check_lost_output(command: str) -> None:
    """Check that a command whose output is lost has failed: a full disk, a closed output, no reader."""
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
