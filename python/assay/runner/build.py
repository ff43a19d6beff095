"""Builds the programs of an experiment, where it says how."""

import os
from collections.abc import Callable

from assay.experiment.types import Experiment
from assay.runner.process import CannotStartError, StopSignals, run_process

_SHOWN_LINES = 40


def run_builds(experiment: Experiment, say: Callable[[str], None], stop: StopSignals | None = None) -> None:
    """Run each build step of an experiment once, in the folder of its file, for as long as it takes.

    Args:
        experiment: whose programs are to be built.
        say: is told of each build that begins.
        stop: ends the build that is running.

    Raises:
        CannotStartError: a build failed; with the end of what it printed.
        Interrupted: the user asked to stop.
    """
    folder = experiment.path.parent.absolute()
    for command in dict.fromkeys(program.build for program in experiment.programs.values()):
        if command is None:
            continue
        say(f"building: {command}")
        ended = run_process(
            "/bin/sh",
            "",
            environment=os.environ,
            arguments=["-c", f"exec 2>&1\n{command}"],
            directory=folder,
            stop=stop,
        )
        if ended.exit_code != 0:
            how = "exited with" if ended.exit_code > 0 else "was ended by signal"
            printed = ended.stdout.decode(errors="replace").splitlines()[-_SHOWN_LINES:]
            why = f"the build `{command}` in {folder} {how} {abs(ended.exit_code)}; put that right"
            raise CannotStartError("\n".join([*printed, why]))
