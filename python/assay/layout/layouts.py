"""The programs of one campaign, linked again for each block.

The addresses of functions and data change results by several percent, and one binary is one accident
(Mytkowicz et al., 2009; Curtsinger and Berger, Stabilizer, 2013). The linker draws the layout, not the
running program: it is as fast as any build, and a seed reproduces its layout. Each block has its own draw:
both sides of a comparison have the same distribution of layouts, and blocks are independent draws from it.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import AssayError
from assay.experiment import Experiment, placeholders
from assay.layout.link import RECORD, Link, command_link, is_older, lld, recorded_link
from assay.plan.types import LAYOUT, PlannedTrial
from assay.runner.elf import layout_of
from assay.runner.local import as_built
from assay.runner.process import StopSignals
from assay.runner.temporary import Temporary
from assay.runner.types import Binary

_TRIED = (1, 2, 3)
"""Seeds whose layouts are compared before a campaign: by chance, five sections have the same order for all
seeds in one of 14,400 cases."""


class Layouts:
    """The programs of trials; if the plan names a layout, linked in this layout.

    While entered, a folder has each program once, in its latest layout.
    """

    def __init__(
        self, experiment: Experiment, show_output: Callable[[str], None], stop: StopSignals | None = None
    ) -> None:
        """Take an experiment whose programs are built.

        Args:
            experiment: the experiment whose trials will run.
            show_output: gets the last lines of a link that failed, safe for a terminal.
            stop: ends a link that is running.
        """
        self._experiment = experiment
        self._show_output = show_output
        self._stop = stop
        self._linked: dict[str, _Linked] = {}
        self._kept = ExitStack()

    def __enter__(self) -> "Layouts":
        """Return itself; the folder is made when it is first needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the folder."""
        self._kept.close()

    def fixed(self, trials: Iterable[PlannedTrial]) -> dict[str, str]:
        """Link each program a few times; return subject -> why it cannot be linked, if there is no way.

        Raises:
            CannotStartError: a link failed.
            AssayError: a program has the same layout whatever the seed.
            Interrupted: the user asked to stop.
        """
        reasons: dict[str, str] = {}
        # If several revisions have the subject's program, each one is tried.
        latest = {
            (trial.request["subject"], trial.program): trial
            for trial in trials
            if LAYOUT in trial.perturbation
        }
        for (subject, _), trial in latest.items():
            link = self._link(trial)
            if isinstance(link, str):
                reasons[subject] = link
            elif not link.has_been_tried:
                link.try_out()
        return reasons

    def binary(self, trial: PlannedTrial) -> Binary:
        """Return the program of a trial; link it if necessary.

        Raises:
            CannotStartError: its program cannot be linked.
            Interrupted: the user asked to stop.
        """
        if LAYOUT not in trial.perturbation:
            return as_built(trial)
        linked = self._link(trial)
        if isinstance(linked, str):
            raise AssayError(f"{trial.program} ran in layouts of its own, and now cannot be linked: {linked}")
        linked.link(int(trial.perturbation[LAYOUT]))
        path = str(linked.output)
        own = self._experiment.programs.get(trial.request["subject"])
        templates = own.arguments if own else ()
        named = [placeholders.LINKED in placeholders.names(template) for template in templates]
        if not any(named):
            return Binary(path, trial.arguments, path)
        arguments = [
            argument.replace(f"{{{placeholders.LINKED}}}", path) if is_named else argument
            for argument, is_named in zip(trial.arguments, named, strict=True)
        ]
        return Binary(trial.program, tuple(arguments), path)

    @cached_property
    def _folder(self) -> Path:
        """Make the folder, under TMPDIR if that is set."""
        return self._kept.enter_context(Temporary("assay-layouts-")).folder

    def _link(self, trial: PlannedTrial) -> "_Linked | str":
        """Return the linkable program of a trial, or why it cannot be linked."""
        own = self._experiment.program_in_worktree(trial.levels, trial.request["subject"])
        there = self._experiment.folder_of(trial.levels).absolute()
        key = f"{own.table} in {there}" if own and own.link else trial.program
        if key in self._linked:
            return self._linked[key]
        program = Path(trial.program)
        folder = self._folder / f"{len(self._linked):03}"
        record = program.with_name(program.name + RECORD)
        if own and own.link:
            link = command_link(own.table, own.link, there, self._show_output, self._stop)
            name = f"subjects.{own.table}.link"
        elif own and own.is_command and not record.is_file():
            return "it has no link command"
        elif not record.is_file():
            return f"there is no {record.name} beside it, and no link command"
        elif is_older(record, program):
            return f"{record.name} is older than it: it was built again without a record"
        elif lld() is None:
            return "lld is not installed"
        else:
            inputs = folder.with_name(f"{folder.name}-inputs")
            link = recorded_link(record, inputs, self._show_output, self._stop)
            name = str(record)
        folder.mkdir()
        self._linked[key] = _Linked(name, link, folder / program.name)
        return self._linked[key]


@dataclass
class _Linked:
    """A program that can be linked.

    Attributes:
        name: the name of its link, for messages.
        output: the program; it has the same path in every layout, as the path's length moves the stack.
    """

    name: str
    link_to: Link
    output: Path
    layout: int | None = None
    has_been_tried: bool = False

    def link(self, layout: int) -> None:
        """Link the program in a layout."""
        if self.layout == layout:
            return
        self.layout = None
        self.output.unlink(missing_ok=True)
        self.link_to(layout, self.output)
        self.output.chmod(0o755)
        # Now, not by the kernel some seconds later, while a trial is measured.
        descriptor = os.open(self.output, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.layout = layout

    def try_out(self) -> None:
        """Check that it can be linked, and that another seed gives another layout."""
        seen = set()
        for layout in _TRIED:
            self.link(layout)
            seen.add(layout_of(self.output))
        if len(seen) == 1:
            raise AssayError(
                f"{self.name}: gives the same layout whatever the seed; compile with -ffunction-sections, and"
                " have lld shuffle by the seed: -fuse-ld=lld -Wl,--shuffle-sections='.text*={layout}'"
            )
        self.has_been_tried = True
