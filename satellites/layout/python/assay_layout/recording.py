"""Records what a program executes, once for each program and input."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from assay import programs
from assay.errors import AssayError
from assay.runner.temporary import Temporary
from assay.words import printable
from assay_layout.program import Image

_EMULATOR = "qemu-x86_64"
_PLUGIN = "libassay-block-trace.so"


def record(image: Image, arguments: Sequence[str], output: Path, input_file: Path | None = None) -> None:
    """Run a program under qemu-user, and write the trace of its blocks.

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
    with Temporary("assay-layout-") as temporary:
        told, executed, described = (
            temporary.folder / name for name in ("blocks", "executed", "program.json")
        )
        described.write_text(json.dumps(image.as_json()))
        os.mkfifo(executed)
        part = output.with_name(f"{output.name}.part")
        recording = subprocess.Popen(  # noqa: S603
            [recorder, "record", "--program", described, "--blocks", told, "--executed", executed,
             "--output", part],
            stderr=subprocess.PIPE, text=True, env=os.environ | temporary.variables,
        )  # fmt: skip
        with (input_file or Path(os.devnull)).open("rb") as stdin:
            ended = subprocess.run(  # noqa: S603
                [emulator, "-plugin", f"{plugin},blocks={told},executed={executed}", image.path, *arguments],
                stdin=stdin, check=False, env=os.environ | temporary.variables,
            )  # fmt: skip
        if not told.exists():  # the emulator did not begin: nobody else will open the pipe
            os.close(os.open(executed, os.O_WRONLY | os.O_NONBLOCK))
        _, said = recording.communicate()
        if recording.returncode or ended.returncode:
            part.unlink(missing_ok=True)
            why = said.strip().removeprefix("error: ") or f"it ended with status {ended.returncode}"
            raise AssayError(f"{printable(str(image.path))} cannot be recorded: {why}")
        part.replace(output)
