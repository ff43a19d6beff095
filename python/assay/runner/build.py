"""Runs an experiment's shell steps: the builds and cleanups of its programs."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from assay.experiment.types import Experiment, Program
from assay.runner.process import CannotStartError, Ended, StopSignals, run_process
from assay.runner.temporary import Temporary
from assay.words import printable, show

_SHOWN_LINES = 40
_SHOWN_OF_A_LINE = 500  # characters


def run_builds(
    experiment: Experiment,
    say: Callable[[str], None],
    show_output: Callable[[str], None],
    stop: StopSignals | None = None,
) -> None:
    """Run each build step of the measured subjects once, in the folder of the file, however long it takes.

    If revisions are compared, each is built in its worktree.

    Args:
        experiment: its programs are built.
        say: gets a line when a build begins.
        show_output: gets the last lines of a build that failed, safe for a terminal.
        stop: ends the build that is running.

    Raises:
        CannotStartError: a build failed.
        Interrupted: the user asked to stop.
    """
    for level, there in experiment.in_worktrees().items():
        for command in dict.fromkeys(program.build for program in _measured(there)):
            if command is not None:
                say(f"building{' ' * bool(level)}{level}: {printable(command)}")
                run_shell("build", command, there.folder, show_output, stop)


@contextmanager
def cleaned_up(
    experiment: Experiment, show_output: Callable[[str], None], temporary: Temporary | None = None
) -> Iterator[None]:
    """Run each cleanup step of the measured subjects once at the end, however it ends, by `kill -9` too.

    Args:
        experiment: has the steps.
        show_output: is as for `run_builds`.
        temporary: contains the folders of the steps, if they are removed with it.

    Raises:
        CannotStartError: one failed.
    """
    steps = [
        (command, there.folder)
        for there in experiment.in_worktrees().values()
        for command in dict.fromkeys(program.cleanup for program in _measured(there))
        if command is not None
    ]
    if not steps:
        yield
        return
    with nullcontext(temporary) if temporary else Temporary("assay-cleanup-") as janitor:
        janitor.owe(steps)
        try:
            yield
        finally:
            try:
                for command, folder in steps:
                    run_shell("cleanup", command, folder, show_output)
            finally:
                janitor.owe([])


def run_shell(
    what: str,
    command: str,
    folder: Path,
    show_output: Callable[[str], None],
    stop: StopSignals | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Let the shell run a command in a folder; `what` names it where it fails.

    Processes that it leaves behind are ended, and named to `show_output`: they would disturb trials.

    Raises:
        CannotStartError: it failed.
        Interrupted: the user asked to stop.
    """
    ended = run_process(
        "/bin/sh",
        "",
        environment=environment,
        # The end of standard error is kept, however long it is.
        arguments=["-c", f"exec >&2\n{command}"],
        directory=folder,
        stop=stop,
    )
    if ended.exit_code != 0:
        how = "exited with" if ended.exit_code > 0 else "was ended by signal"
        show_end(ended, show_output)
        raise CannotStartError(
            f"the {what} {show(command)} in {folder} {how} {abs(ended.exit_code)}; correct it"
        )
    if ended.left:
        show_output(
            f"the {what} {show(command)} left {ended.left_in_words()} running, now ended; "
            "start before Assay what trials need"
        )


def show_end(ended: Ended, show_output: Callable[[str], None]) -> None:
    """Show the last lines that a process wrote to standard error."""
    for line in ended.stderr.decode(errors="replace").splitlines()[-_SHOWN_LINES:]:
        show_output(printable(line[-_SHOWN_OF_A_LINE:]))


def _measured(experiment: Experiment) -> Iterator[Program]:
    measured = experiment.subjects()
    return (program for subject, program in experiment.programs.items() if subject in measured)
