"""Builds the programs of an experiment, where it says how."""

import os

from assay.errors import AssayError
from assay.experiment.types import Experiment
from assay.runner.process import Ended, StopSignals, run_process

_SHOWN_LINES = 40


def run_builds(experiment: Experiment, stop: StopSignals | None = None) -> None:
    """Run each build step of an experiment once, in the folder of its file, for as long as it takes.

    Args:
        experiment: whose programs are to be built.
        stop: ends the build that is running.

    Raises:
        AssayError: a build failed, with its command and the end of what it printed.
        Interrupted: the user asked to stop.
    """
    folder = experiment.path.parent.absolute()
    for command in dict.fromkeys(program.build for program in experiment.programs.values()):
        if command is None:
            continue
        ended = run_process(
            "/bin/sh",
            "",
            environment=os.environ,
            arguments=["-c", f"exec 2>&1\n{command}"],
            directory=folder,
            stop=stop,
        )
        if ended.exit_code != 0:
            raise AssayError(_failure(command, str(folder), ended))


def _failure(command: str, folder: str, ended: Ended) -> str:
    how = (
        f"exited with {ended.exit_code}" if ended.exit_code > 0 else f"was ended by signal {-ended.exit_code}"
    )
    printed = ended.stdout.decode(errors="replace").splitlines()[-_SHOWN_LINES:]
    return "\n".join([f"the build `{command}` in {folder} {how}; put it right. It printed last:", *printed])
