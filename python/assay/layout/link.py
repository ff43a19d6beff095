"""Two ways to link a program with its sections in another order: a recorded link, and a command."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from assay.experiment import placeholders
from assay.runner.build import run_shell, show_end
from assay.runner.process import CannotStartError, StopSignals, run_process
from assay.words import show

RECORD = ".link.tar"
"""The suffix of the file next to a program that records its link; cmake/AssayLayout.cmake creates it."""

SHUFFLED = (".text*", ".data*", ".bss*", ".rodata*", ".tdata*", ".tbss*")
"""The sections whose order is drawn: functions, variables and constants. Each keeps its own alignment."""

PADDED = "--randomize-section-padding"
"""The option of lld, from version 20 on, that puts gaps at random between sections."""

_RECORDED_WITHIN_S = 60
"""The longest time between lld recording a link and writing the program."""

LINKERS = ("ld.lld", *(f"ld.lld-{version}" for version in range(40, 12, -1)))
"""The names of lld, as in cmake/AssayLayout.cmake; below version 13 it shuffles all sections or none."""


Link = Callable[[int, Path], None]
"""Links one program to a file in the order that a seed gives; the same seed gives the same file.

It raises a CannotStartError if it failed, and Interrupted if the user asked to stop."""


def command_link(
    table: str, command: str, folder: Path, show_output: Callable[[str], None], stop: StopSignals | None
) -> Link:
    """Return the link of a [subjects.NAME] by its own command.

    Args:
        table: NAME.
        command: for the shell, with its placeholders.
        folder: the folder of the experiment's file, in which the command runs.
        show_output: gets the last lines of a command that failed.
        stop: ends it.
    """

    def link(layout: int, output: Path) -> None:
        values = {"output": shlex.quote(str(output)), "layout": layout}
        if "lld" in placeholders.names(command):
            linker = lld()
            if linker is None:
                raise CannotStartError(
                    f"subjects.{table}.link: lld is not installed, which {{lld}} stands for; install it"
                )
            # The folder in which lld is called ld.lld, by which compilers know it.
            values["lld"] = shlex.quote(str(Path(linker).resolve().parent))
        filled = placeholders.fill(command, values)
        run_shell("link", filled, folder, show_output, stop)
        if not output.is_file():
            raise CannotStartError(
                f"subjects.{table}.link: {show(filled)} made no such file; have it write to {{output}}"
            )

    return link


def recorded_link(
    record: Path, folder: Path, show_output: Callable[[str], None], stop: StopSignals | None
) -> Link:
    """Return a link that lld recorded when the program was built: all inputs and options.

    Args:
        record: the file with the record.
        folder: the folder to which the record is unpacked when it is needed.
        show_output: gets the last lines of a link that failed.
        stop: ends it.
    """

    def link(layout: int, output: Path) -> None:
        drawn = [f"--shuffle-sections={sections}={layout}" for sections in SHUFFLED]
        if _pads(lld() or ""):
            drawn.append(f"{PADDED}={layout}")
        link_again(record, folder, output, drawn, show_output=show_output, stop=stop)

    return link


def link_again(
    record: Path,
    folder: Path,
    output: Path,
    options: Sequence[str],
    *,
    show_output: Callable[[str], None],
    stop: StopSignals | None = None,
) -> None:
    """Link a program from what lld recorded, with further options of lld.

    Args:
        record: the file with the record.
        folder: the folder to which the record is unpacked if it is not there.
        output: the program.
        options: of lld.
        show_output: gets the last lines of a link that failed.
        stop: ends it.

    Raises:
        CannotStartError: it failed.
        Interrupted: the user asked to stop.
    """

    linker = lld()
    if linker is None:
        raise CannotStartError(f"{record}: lld is not installed, which links what it holds; install lld")

    def run(why: str, program: str, *arguments: str) -> None:
        ended = run_process(
            shutil.which(program) or program,
            "",
            environment=os.environ,
            arguments=arguments,
            directory=folder,
            stop=stop,
        )
        if ended.exit_code != 0:
            show_end(ended, show_output)
            raise CannotStartError(f"{record}: {why}; build the program again")

    if not folder.exists():
        folder.mkdir()
        run("is damaged", "tar", "-xf", str(record), "--strip-components=1", "-C", str(folder))
    run(
        "lld cannot link what it holds",
        linker,
        "@response.txt",
        "-o",
        str(output),
        "--build-id=sha1",
        *options,
    )


def is_older(record: Path, program: Path) -> bool:
    """Tell whether a program was built again after its link was recorded."""
    return record.stat().st_mtime < program.stat().st_mtime - _RECORDED_WITHIN_S


@cache
def _pads(linker: str) -> bool:
    """Return whether an lld puts gaps between sections."""
    if not linker:
        return False
    said = subprocess.run([linker, "--help"], capture_output=True, text=True, check=False)  # noqa: S603
    return PADDED in said.stdout


def lld() -> str | None:
    """Return the path of the newest lld; None if none is installed."""
    return next((path for name in LINKERS if (path := shutil.which(name))), None)
