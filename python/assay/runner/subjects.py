"""Lists the subjects of an experiment's programs, once they are built."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay import programs
from assay.experiment import Experiment, placeholders
from assay.experiment.types import Program
from assay.runner.local import trial_environment
from assay.runner.process import CannotStartError, StopSignals, run_process

_ANSWERS_WITHIN_S = 10.0

Listing = Mapping[str, Mapping[str, Any]]
"""Subject -> its description by the program."""


def listings(experiment: Experiment, stop: StopSignals | None = None) -> dict[str, Listing]:
    """Return table of [subjects] -> the subjects of its program, if it speaks the protocol.

    Programs that are not measured are not run. A program that does not exist yet, or cannot list its
    subjects, has none. It runs as described in `docs/reference/protocol.md`: with `--list` after its
    arguments, and empty standard input.

    Raises:
        Interrupted: `stop` was signalled.
    """
    listed: dict[str, Listing] = {}
    for condition in experiment.conditions():
        settings = experiment.settings(condition)
        program = experiment.programs.get(settings["subject"])
        if program is None or program.is_command or program.table in listed:
            continue
        values = placeholders.values_of(settings, 0)
        arguments = [placeholders.fill(argument, values) for argument in program.arguments]
        listed[program.table] = _listing(program, arguments, stop)
    return listed


def subjects_of(program: Path) -> Listing:
    """Return the subjects of a program that speaks the protocol; any other program has none."""
    return _listing(Program(table="program", program=str(program)), [], None)


def facts_of_subjects(experiment: Experiment, listed: Mapping[str, Listing]) -> dict[str, dict[str, str]]:
    """Return the properties that measured subjects report.

    Returns:
        subjects: subject -> "map", "multimap", "queue" or "nothing".
        reclaims: subject -> how it frees erased elements.
    """
    own = {name: entry for listing in listed.values() for name, entry in listing.items()}
    ours = {entry["name"]: entry for entry in programs.listing(programs.find("assay-trial"))}
    entries = {
        subject: (own if subject in experiment.programs else ours).get(subject, {})
        for subject in sorted(experiment.subjects())
    }
    return {
        "subjects": {
            subject: "nothing" if entry.get("holds_nothing") else entry["structure"]
            for subject, entry in entries.items()
            if entry.get("structure") in {"map", "multimap", "queue"}
        },
        "reclaims": {
            subject: entry["reclaims"] for subject, entry in entries.items() if entry.get("reclaims")
        },
    }


def _listing(program: Program, arguments: list[str], stop: StopSignals | None) -> Listing:
    """Return the subjects that a program lists; none if it cannot run, or prints something else."""
    try:
        if b"--list" not in program.path.read_bytes():  # it would be a trial of a program that ignores it
            return {}
        ended = run_process(
            str(program.path),
            "",
            environment=trial_environment(0),
            arguments=[*arguments, "--list"],
            timeout_s=_ANSWERS_WITHIN_S,
            stop=stop,
        )
        if ended.timed_out or ended.exit_code:
            return {}
        return {str(entry["name"]): dict(entry) for entry in json.loads(ended.stdout)}
    except (CannotStartError, OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}
