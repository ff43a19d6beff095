"""The two ways to link a program in another order of its sections: a recorded link, and a command."""

import os
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


class Link(Protocol):
    """A way to link one program."""

    def __call__(self, layout: int, output: Path) -> None:
        """Link it to a file in the order that a seed gives; the same seed gives the same file.

        Raises:
            CannotStartError: it failed.
            Interrupted: the user asked to stop.
        """


@dataclass(frozen=True)
class Command:
    """The link command of a [subjects.NAME].

    Attributes:
        table: NAME.
        command: for the shell, with its placeholders.
        folder: of the experiment's file, where it runs.
        show_output: is given the last lines of one that failed.
        stop: ends it.
    """

    table: str
    command: str
    folder: Path
    show_output: Callable[[str], None]
    stop: StopSignals | None

    def __call__(self, layout: int, output: Path) -> None:
        """Link as `Link` says."""
        values = {"output": shlex.quote(str(output)), "layout": layout}
        if "lld" in placeholders.names(self.command):
            values["lld"] = shlex.quote(str(self._folder_of_lld()))
        command = placeholders.fill(self.command, values)
        run_shell("link", command, self.folder, self.show_output, self.stop)
        if not output.is_file():
            raise CannotStartError(
                f"subjects.{self.table}.link: {show(command)} made no such file; have it write to {{output}}"
            )

    def _folder_of_lld(self) -> Path:
        """Return the folder in which lld is called ld.lld, by which compilers know it."""
        linker = lld()
        if linker is None:
            raise CannotStartError(
                f"subjects.{self.table}.link: lld is not installed, which {{lld}} stands for; install it"
            )
        return Path(linker).resolve().parent


@dataclass(frozen=True)
class Recorded:
    """A link that lld recorded when the program was built: all that went into it, and how.

    Attributes:
        record: the file.
        folder: holds what was in it, once that is needed.
        show_output: is given the last lines of a link that failed.
        stop: ends it.
    """

    record: Path
    folder: Path
    show_output: Callable[[str], None]
    stop: StopSignals | None

    def __call__(self, layout: int, output: Path) -> None:
        """Link as `Link` says."""
        if not self.folder.exists():
            self.folder.mkdir()
            self._run("tar", "-xf", str(self.record), "--strip-components=1", "-C", str(self.folder))
        shuffles = [f"--shuffle-sections={sections}={layout}" for sections in SHUFFLED]
        linker = lld() or "ld.lld"
        self._run(linker, "@response.txt", "-o", str(output), "--build-id=sha1", *shuffles)

    def _run(self, program: str, *arguments: str) -> None:
        ended = run_process(
            shutil.which(program) or program,
            "",
            environment=os.environ,
            arguments=arguments,
            directory=self.folder,
            stop=self.stop,
        )
        if ended.exit_code != 0:
            show_end(ended, self.show_output)
            raise CannotStartError(
                f"{self.record}: {program} cannot link what it holds; build the program again"
            )


def lld() -> str | None:
    """Return the path of lld, whose newest version counts; None where it is not installed."""
    return next((path for name in LINKERS if (path := shutil.which(name))), None)
