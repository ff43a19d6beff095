import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli import commands, main
from assay.errors import AssayError


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Restore what Ctrl-C does to the tests."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


def ended_by(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> object:
    """Return the exit code after an error."""

    def app() -> None:
        raise error

    monkeypatch.setattr(commands, "app", app)
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AssayError("one"), "error: one\n"),
        (AssayError("x.toml:1: one\nx.toml:2: two"), "error: x.toml:1: one\nerror: x.toml:2: two\n"),
        (MemoryError(), "error: there is not enough memory for this\n"),
    ],
)
def test_what_a_user_can_put_right_is_a_message_for_each_mistake(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_by(error, monkeypatch) == 2
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("error", [ValueError("x"), OSError(errno.EBADF, "x"), RecursionError()])
def test_a_defect_is_not_hidden(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_by(error, monkeypatch) == 3
    assert "Traceback" in capsys.readouterr().err


SIGNAL_AT_IMPORT = """
import os, signal, sys

class SignalAtImport:
    reached = False

    def find_spec(self, name, *_):
        if self.reached:
            os.kill(os.getpid(), signal.SIGINT)
        self.reached = name == os.environ["AFTER"]

sys.meta_path.insert(0, SignalAtImport())
"""


@pytest.mark.parametrize("module", ["assay.cli", "assay.cli.commands", "typer"])
def test_ctrl_c_while_modules_load_ends_quietly(tmp_path: Path, module: str) -> None:
    """From the first module that is looked for after `assay.cli`, whichever it is."""
    (tmp_path / "sitecustomize.py").write_text(SIGNAL_AT_IMPORT)
    ended = subprocess.run(
        # Not ignored, as it is in a shell's background.
        ["/usr/bin/env", "--default-signal=INT", sys.executable, "-m", "assay", "list"],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "AFTER": module},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


def test_a_reader_that_leaves_early_is_no_mistake() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as output:
        ended = subprocess.run(
            [sys.executable, "-m", "assay", "--help"], stdout=output, stderr=subprocess.PIPE, check=False
        )
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")
