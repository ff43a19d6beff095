"""Records what a program executes, once for each program and input."""

import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from assay import files, programs
from assay.errors import AssayError
from assay.runner.temporary import Temporary
from assay.words import printable
from assay_layout.program import Image

_EMULATOR = "qemu-x86_64"
_PLUGIN = "libassay-block-trace.so"
_EMULATOR_ENDED = b"\xfe" * 11
"""Says in the pipe that nothing more comes, as `recorder.h` has it; long enough to follow half a number."""


def record(image: Image, arguments: Sequence[str], output: Path, input_file: Path | None = None) -> int:
    """Run a program under qemu-user, write the trace of its blocks, and return the program's exit code.

    What it prints goes where the caller's output goes.

    Args:
        image: the program.
        arguments: its arguments.
        output: the file of the trace; what was there is replaced when the trace is whole.
        input_file: what it reads on standard input; nothing by default.

    Raises:
        AssayError: it cannot be recorded; no file is left.
    """
    emulator = shutil.which(_EMULATOR)
    if emulator is None:
        raise AssayError(
            f"{_EMULATOR} is not installed, which records what a program executes; install qemu-user"
        )
    recorder = programs.find("assay-layouts")
    plugin = recorder.parent.parent / "lib" / _PLUGIN
    if not plugin.is_file():
        raise AssayError(f"{plugin} is not there; {programs.REMEDY}")
    source = input_file or Path(os.devnull)
    try:
        stdin = source.open("rb")
    except OSError as error:
        raise AssayError(f"--input {printable(str(source))}: cannot be read: {error.strerror}") from None
    with stdin, files.whole_file(output) as part, Temporary("assay-layout-") as temporary:
        blocks, executed, described = (
            temporary.folder / name for name in ("blocks", "executed", "program.json")
        )
        described.write_text(json.dumps(image.as_json()))
        os.mkfifo(executed)
        # QEMU takes a comma for the end of a file's name, unless there are two.
        words = ",".join(
            str(word).replace(",", ",,") for word in (plugin, f"blocks={blocks}", f"executed={executed}")
        )
        # Open at both ends, so that neither process waits for the other to open it.
        pipe = os.open(executed, os.O_RDWR)
        environment = os.environ | temporary.variables
        try:
            recording = subprocess.Popen(  # noqa: S603
                [recorder, "record", "--program", described, "--blocks", blocks, "--executed", executed,
                 "--output", part],
                stderr=subprocess.PIPE, text=True, env=environment,
            )  # fmt: skip
            running = subprocess.Popen(  # noqa: S603
                [emulator, "-plugin", words, image.path, *arguments], stdin=stdin, env=environment
            )
            _, said = _until_both_end(running, recording, pipe)
        finally:
            os.close(pipe)
        if recording.returncode:
            raise AssayError(
                f"{printable(str(image.path))} cannot be recorded: {_why(running, recording, said)}"
            )
    return running.returncode


def _until_both_end(
    running: subprocess.Popen[bytes], recording: subprocess.Popen[str], pipe: int
) -> tuple[str, str]:
    """Wait for the program and its recorder, and return what the recorder printed.

    Either may end first, or be killed: the program is not left to write what nobody reads, and the recorder
    is told in the pipe that nothing more comes.
    """
    ends = [os.pidfd_open(each.pid) for each in (running, recording)]
    try:
        select.select(ends, [], [])
        if running.poll() is None and recording.poll():
            running.kill()
        running.wait()
        # As soon as there is room, or if the recorder ends.
        if select.select(ends[1:], [pipe], [])[1]:
            os.write(pipe, _EMULATOR_ENDED)
    finally:
        for each in ends:
            os.close(each)
    return recording.communicate()


def _why(running: subprocess.Popen[bytes], recording: subprocess.Popen[str], said: str) -> str:
    """Return why there is no trace."""
    message = said.strip().removeprefix("error: ")
    if recording.returncode < 0:
        return f"the recorder was ended by {signal.Signals(-recording.returncode).name}"
    # Killed by us, as the recorder had ended.
    if running.returncode < 0 and running.returncode != -signal.SIGKILL:
        name = signal.Signals(-running.returncode).name
        unknown = " (an instruction that qemu-user does not know?)" if name == "SIGILL" else ""
        return f"it was ended by {name}{unknown}"
    return message
