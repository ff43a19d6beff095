"""The plain types that the runner hands to the store."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from assay.plan.types import PlannedTrial, Status


@dataclass(frozen=True)
class Binary:
    """The command that starts the process of a trial.

    Attributes:
        program: the executable, an absolute path.
        arguments: its command line's arguments.
        measured: the measured program, which `program` may be or start.
    """

    program: str
    arguments: tuple[str, ...]
    measured: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of one trial.

    Attributes:
        status: valid; invalid (the result says so, or no result follows the protocol);
            crashed (ended by a signal or a non-zero exit); timed_out (killed by the runner).
        reason: why it is not valid, for a person; empty for a valid trial.
        exit_code: the process's exit status, negative for the number of the signal that ended it.
        result: the message that it printed, schema `trial-result`, if one could be read.
        stdout: the start of its output; kept for commands, whose metrics are extracted from it, and if no
            result could be read.
        stderr: the end of its standard error.
        calibration_before, calibration_after: schema `calibration-result`; None with the reason in
            `calibration_error`.
        started_at: when its process was started, UTC.
        wall_s: how long its process ran, seconds.
        derived: metrics that Assay computed in addition to those of the result.
        program_sha256: digest of the program's bytes, by which a replay recognises it.
        build_id: the build id of the same program, in hexadecimal; empty if it has none.
        host: name of a setting of the host -> its value when the trials of the group began, or the value that
            the trial itself reports.
        ran_on: the name of the host that ran it.
    """

    status: Status
    reason: str
    exit_code: int
    result: Mapping[str, Any] | None
    stdout: str
    stderr: str
    calibration_before: Mapping[str, Any] | None
    calibration_after: Mapping[str, Any] | None
    calibration_error: str
    started_at: datetime
    wall_s: float
    derived: Mapping[str, float] = field(default_factory=dict)
    program_sha256: str = ""
    build_id: str = ""
    host: Mapping[str, str] = field(default_factory=dict)
    ran_on: str = ""


class Executor(Protocol):
    """Runs the trials of a group."""

    def execute(self, group: Sequence[PlannedTrial]) -> Iterator[Outcome]:
        """Run trials of one group back to back, and yield the outcome of each when it has been calibrated.

        That is when it has ended, unless short trials share the calibration after them. While the caller
        handles an outcome, no trial of the group runs, as the two would disturb each other.
        """
