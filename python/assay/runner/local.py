"""The executor that runs trials on this machine."""

import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from assay import programs, protocol
from assay.experiment.types import Extraction
from assay.plan.types import PlannedTrial
from assay.runner.allocators import library_of, other_allocator
from assay.runner.extract import extract
from assay.runner.process import STDOUT_LIMIT, Ended, StopSignals, run_process
from assay.runner.types import Outcome, Status

_CALIBRATION_TIMEOUT_S = 10.0
_STDOUT_KEPT = 2**16


class LocalExecutor:
    """Runs each trial in a process of its own on this machine, with a calibration before and after it."""

    def __init__(self, calibrate: Path, stop: StopSignals, directory: Path | None = None) -> None:
        """Take what all trials share.

        Args:
            calibrate: the program that calibrates.
            stop: ends the trial that is running.
            directory: where commands run, the folder of the experiment's file; needed for them alone.
        """
        self._calibrate = str(calibrate)
        self._stop = stop
        self._directory = directory

    def execute(self, group: Sequence[PlannedTrial]) -> Iterator[Outcome]:
        """Run the trials of a group one after another, and yield what became of each.

        Raises:
            Interrupted: the user asked to stop.
            CannotStartError: a trial's program, or the one that calibrates, did not start, or its
                allocator is not installed.
        """
        return map(self._outcome, group)

    def _outcome(self, trial: PlannedTrial) -> Outcome:
        environment = trial_environment(int(trial.perturbation.get("environment_bytes", 0)))
        before, error_before = self._calibration(trial, environment)
        started_at = datetime.now(UTC)
        is_command = trial.extract != "protocol"
        ended = run_process(
            trial.program,
            "" if is_command else json.dumps(trial.request),
            environment=environment,
            arguments=trial.arguments,
            directory=self._directory if is_command else None,
            meter=programs.find("assay-meter") if is_command else None,
            timeout_s=trial.timeout_s,
            memory_limit_mb=trial.memory_limit_mb,
            preload=library_of(trial.request.get("allocator", "glibc")),
            stop=self._stop,
        )
        after, error_after = self._calibration(trial, environment)
        status, reason, result = judge(ended, trial)
        errors = {"before": error_before, "after": error_after}
        return Outcome(
            status=status,
            reason=reason,
            exit_code=ended.exit_code,
            result=result,
            stdout="" if result and not is_command else _text(ended.stdout[:_STDOUT_KEPT]),
            stderr=_text(ended.stderr),
            calibration_before=before,
            calibration_after=after,
            calibration_error="; ".join(f"{when}: {error}" for when, error in errors.items() if error),
            started_at=started_at,
            wall_s=ended.wall_s,
        )

    def _calibration(
        self, trial: PlannedTrial, environment: Mapping[str, str]
    ) -> tuple[dict[str, Any] | None, str]:
        """Calibrate the processors of a trial; return the result, or None and the reason."""
        request = {"protocol": 1, "threads": trial.request["threads"], "pinning": trial.request["pinning"]}
        ended = run_process(
            self._calibrate,
            json.dumps(request),
            environment=environment,
            timeout_s=_CALIBRATION_TIMEOUT_S,
            memory_limit_mb=trial.memory_limit_mb,
            stop=self._stop,
        )
        failure = _failure(ended, _CALIBRATION_TIMEOUT_S)
        if failure:
            return None, failure[1]
        try:
            return protocol.parse("calibration-result", ended.stdout.decode()), ""
        except (ValueError, RecursionError) as error:
            return None, _text(f"printed no calibration result: {error}".encode())


def trial_environment(padding: int) -> dict[str, str]:
    """Return the environment of a trial: as little as programs need, and as many bytes of padding as given.

    The size of the environment moves the stack, and with it performance (Mytkowicz et al., ASPLOS 2009).
    """
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C", "ASSAY_PADDING": "x" * padding}


def judge(ended: Ended, trial: PlannedTrial) -> tuple[Status, str, dict[str, Any] | None]:
    """Say what became of a trial from what its process left behind: status, reason, result."""
    failure = _failure(ended, trial.timeout_s)
    if failure:
        return *failure, None
    if trial.extract != "protocol":
        return _extracted(ended, trial.extract)
    status, reason, result = _protocol_result(ended)
    if status == "valid" and result:
        problem = other_allocator(trial.request, result) or _left_out(trial.request, result)
        if problem:
            return "invalid", problem, result
    return status, reason, result


def _left_out(request: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Say what the request asks for and the result lacks, or "": the program measured something else."""
    wanted = {"latency": request.get("latency", "none") != "none", "roles": "roles" in request}
    missing = [name for name in wanted if wanted[name] and name not in result]
    return f"the result has no {missing[0]}, which the request asked for" if missing else ""


def _extracted(
    ended: Ended, rules: Literal["lines"] | Sequence[Extraction]
) -> tuple[Status, str, dict[str, Any] | None]:
    """Make a result of what a command printed and used."""
    try:
        metrics = {**ended.used, **extract(_text(ended.stdout), rules)}
    except ValueError as error:
        return "invalid", str(error), None
    return "valid", "", {"protocol": 1, "status": "valid", "metrics": metrics}


def _protocol_result(ended: Ended) -> tuple[Status, str, dict[str, Any] | None]:
    """Read the result that a program printed."""
    if not ended.stdout.strip():
        return "invalid", "printed no result", None
    try:
        result = protocol.parse("trial-result", ended.stdout.decode())
    except (ValueError, RecursionError) as error:
        return "invalid", _text(f"printed something that is not a result: {error}".encode()), None
    if result["status"] == "invalid":
        return "invalid", _text(result["reason"].encode(errors="replace")), result
    return "valid", "", result


def _failure(ended: Ended, timeout_s: float) -> tuple[Status, str] | None:
    """Say how a process failed whatever it printed, or None."""
    if len(ended.stdout) > STDOUT_LIMIT:
        return "invalid", f"printed more than {STDOUT_LIMIT // 2**20} MiB"
    if ended.timed_out:
        return "timed_out", f"still ran after its time-out of {timeout_s:g} s"
    last_words = _text(ended.stderr).strip().rpartition("\n")[2][:300]
    why = f": {last_words}" if last_words else ""
    if ended.exit_code < 0:
        return "crashed", f"ended by {_signal_name(-ended.exit_code)}{why}"
    if ended.exit_code > 0:
        return "crashed", f"exited with {ended.exit_code}{why}"
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
