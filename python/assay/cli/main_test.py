import errno
import os
import re
import shlex
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


def exit_code() -> object:
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def ended_by(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> object:
    """Return the exit code after an error."""

    def app(**_: object) -> None:
        raise error

    monkeypatch.setattr(commands, "app", app)
    return exit_code()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (AssayError("one"), "error: one\n"),
        (AssayError("x.toml:1: one\nx.toml:2: two"), "error: x.toml:1: one\nerror: x.toml:2: two\n"),
        (MemoryError(), "error: there is not enough memory for this\n"),
    ],
)
def test_what_a_user_can_put_right_is_a_message_for_each_mistake(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_by(error, monkeypatch) == 2
    assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("words", "place", "remedy"),
    [
        ("rnu", "assay:", "run"),
        ("xyzzy", "assay:", "assay -h"),
        ("new subjct", "assay new:", "subject"),
        ("--verison", "assay:", "--version"),
        ("run x --blcoks 3", "assay run:", "--blocks"),
        ("run x -z", "assay run:", "assay run -h"),
        ("run x --blocks", "assay run: option '--blocks'", "-h"),
        ("report --campaign 1 --campaign 2", "assay report: --campaign:", "once"),
        ("store list subjects --campaign 1", "--campaign:", "leave it out"),
        ("run x --within 1e9h", "assay run: --within:", "write 60s"),
        ("store list --store sqlite:///x.sqlite?mode=ro", "sqlite:///x.sqlite?mode=ro", "name its file"),
        ("store list --store sqlite:x.sqlite", "sqlite:x.sqlite", "name its file"),
        ("store list --store sqlite:///:memory:", ":memory:", "name its file"),
        ("store list --store ", "not a store", "name its file"),
        ("run x --quiet=3", "--quiet", "-h"),
        ("run x --blocks 0", "assay run: --blocks:", "1 or more"),
        ("run x --blocks 1e9", "assay run: --blocks:", "100,000 or less"),
        ("run x --blocks 1.5", "assay run: --blocks:", "digits"),
        ("run x --within 999999h", "assay run: --within:", "16,666h or less"),
        ("plan x --width -1", "assay plan: --width:", "0.001 or more"),
        ("run x --fail-on slow", "assay run: --fail-on:", "slower"),
        ("run x --seed 1\x1b[2J", "assay run: --seed:", "digits"),
        ("run", "EXPERIMENT", "assay run -h"),
        ("run x y", "y", "assay run -h"),
        ("store show x", "assay store show: TRIAL:", "digits"),
        (f"store show {'9' * 30}", "assay store show: TRIAL:", "or less"),
        (f"store query x --campaign {'9' * 30}", "assay store query: --campaign:", "or less"),
        ("store list planets", "assay store list: WHAT:", "subjects"),
    ],
)
def test_words_that_are_not_understood_end_in_one_line_with_place_and_remedy(
    words: str, place: str, remedy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["assay", *words.split(" ")])
    assert exit_code() == 2
    output, message = capsys.readouterr()
    assert output == ""
    assert message.startswith("error: ")
    assert message.isascii()
    assert message.count("\n") == 1
    assert message.removesuffix("\n").isprintable()
    assert place in message
    assert remedy in message


@pytest.mark.parametrize(
    "hostile", ["\x1b[31m", "\u202e", "x" * 10**6, "a " * 10**5, "one\ntwo", "bad\udcff"]
)
@pytest.mark.parametrize(
    "words",
    [
        "",
        "run",
        "store show",
        "store list --store",
        "store list subjects --with",
        "report --campaign",
    ],
)
def test_messages_quote_little_and_nothing_that_moves_a_cursor(
    words: str, hostile: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["assay", *words.split(), hostile])
    assert exit_code() == 2
    output, message = capsys.readouterr()
    assert output == ""
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert message.removesuffix("\n").isprintable()
    assert len(message) < 1000


def test_no_words_at_all_get_the_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["assay"])
    assert exit_code() == 2
    assert "Measure:" in capsys.readouterr().out


@pytest.mark.parametrize("error", [ValueError("x"), OSError(errno.EBADF, "x"), RecursionError()])
def test_a_defect_is_not_hidden(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_by(error, monkeypatch) == 70
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
        ["/usr/bin/env", "--default-signal=INT", sys.executable, "-m", "assay", "store", "list"],
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


@pytest.mark.parametrize("words", ["--version", "-h", "", "run -h"])
@pytest.mark.parametrize(
    ("redirection", "why"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_output_that_cannot_be_written_is_an_error(words: str, redirection: str, why: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m assay {words} {redirection}"
    ended = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, f"error: the output could not be written: {why}\n")


@pytest.mark.parametrize("words", ["report --output -", "new subject x --directory -"])
def test_standard_output_is_no_folder(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "assay", *words.split()], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert re.fullmatch("error: .*name (the|a) folder\n", ended.stderr)
    assert list(tmp_path.iterdir()) == []
