import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import commands, main
from assay.errors import AssayError


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def app() -> None:
        raise error

    monkeypatch.setattr(commands, "app", app)
    monkeypatch.setattr(signal, "signal", lambda *_: None)


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
    raising(error, monkeypatch)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("error", [ValueError("x"), OSError(errno.EBADF, "x"), RecursionError()])
def test_a_defect_is_not_hidden(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(error, monkeypatch)
    with pytest.raises(type(error)):
        main()


def test_ctrl_c_while_the_command_loads_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ended = subprocess.run(
        # Not ignored, as it is in a shell's background.
        ["/usr/bin/env", "--default-signal=INT", sys.executable, "-m", "assay", "list"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")
