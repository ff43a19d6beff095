"""The two ways to link a program in another order of its sections: a recorded link, and a command."""

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from assay.experiment import placeholders
from assay.runner.build import run_shell, show_end
from assay.runner.process import CannotStartError, StopSignals, run_process
from assay.words import show

RECORD = ".link.tar"
"""Ends the name of the file beside a program that holds its link: cmake/AssayLayout.cmake has it written."""

SHUFFLED = (".text*", ".data*", ".bss*", ".rodata*", ".tdata*", ".tbss*")
"""The sections whose order is drawn: functions, variables and constants. Each keeps its own alignment."""

LINKERS = ("ld.lld", *(f"ld.lld-{version}" for version in range(40, 12, -1)))
"""By what names lld is installed, as in cmake/AssayLayout.cmake; below version 13 it shuffles all sections or
none."""


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
        folder: of the experiment's file, where it runs.
        show_output: is given the last lines of one that failed.
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
    """Return a link that lld recorded when the program was built: all that went into it, and how.

    Args:
        record: the file.
        folder: holds what was in it, once that is needed.
        show_output: is given the last lines of a link that failed.
        stop: ends it.
    """

    def run(program: str, *arguments: str) -> None:
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
            raise CannotStartError(f"{record}: {program} cannot link what it holds; build the program again")

    def link(layout: int, output: Path) -> None:
        if not folder.exists():
            folder.mkdir()
            run("tar", "-xf", str(record), "--strip-components=1", "-C", str(folder))
        shuffles = [f"--shuffle-sections={sections}={layout}" for sections in SHUFFLED]
        run(lld() or "ld.lld", "@response.txt", "-o", str(output), "--build-id=sha1", *shuffles)

    return link


def lld() -> str | None:
    """Return the path of lld, whose newest version counts; None where it is not installed."""
    return next((path for name in LINKERS if (path := shutil.which(name))), None)
