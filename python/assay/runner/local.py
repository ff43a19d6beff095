"""The executor that runs trials on this machine."""

import json
import os
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any

from assay import protocol
from assay.experiment.events import SIMULATION_S
from assay.experiment.flaws import flaws_of, marked
from assay.experiment.metrics import BUSY, LOST
from assay.experiment.tools import BENCHMARK
from assay.experiment.types import CommandRun
from assay.host.joules import joules_between, joules_so_far
from assay.host.priority import started
from assay.host.settings import SET_BY_TRIAL, state
from assay.host.system import System
from assay.plan.types import Level, PlannedTrial, Status
from assay.runner import energy, load
from assay.runner.allocators import library_of
from assay.runner.build import run_shell
from assay.runner.elf import build_id
from assay.runner.extract import extract
from assay.runner.process import STDOUT_LIMIT, CannotStartError, Ended, StopSignals, run_process, signal_name
from assay.runner.simulate import Simulation, SimulationPlan, simulate
from assay.runner.surroundings import Surroundings, surrounded
from assay.runner.tool_output import metrics_in
from assay.runner.types import Binary, Outcome
from assay.words import duration, elapsed, listed, printable, quoted

_CALIBRATION_TIMEOUT_S = 10.0
_CALIBRATION_LASTS_S = 0.25
_STDOUT_KEPT = 2**16
_PLACES_TRIED = 100  # at which a result may begin in what a program printed
_LINES_SAID, _SAID_AT_MOST = 3, 300  # of standard error, in a reason; characters
_STYLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colours and the like, for a terminal
_WAIT = "let it wait for what it starts, or set wait_for_children (of a race: --wait-for-children)"
_BELONGS = "standard output belongs to the result: print to standard error instead"


def as_built(trial: PlannedTrial) -> Binary:
    """Return the program of a trial without a link of its own."""
    return Binary(trial.program, trial.arguments, trial.program)


@dataclass(frozen=True)
class _Calibration:
    """The result of a calibration; `at` is a moment of the monotonic clock."""

    placement: Mapping[str, Any]
    at: float
    result: dict[str, Any] | None
    error: str

    def serves(self, trial: PlannedTrial) -> bool:
        """Return whether it describes the host at this moment as well as a new calibration would.

        A trial that repeats a short command is as short as the calibrations around it, so that neighbours
        share one. A host keeps its mode for seconds or minutes.
        """
        return (
            _run_of(trial).repeat_ms > 0
            and self.result is not None
            and self.placement == _placement(trial)
            and time.monotonic() - self.at < _CALIBRATION_LASTS_S
        )


@dataclass
class LocalExecutor:
    """Runs each trial in its own process on this machine, between two calibrations.

    Short trials of a group may share their calibrations.

    Attributes:
        calibrate: the program that calibrates.
        stop: ends the trial that is running.
        folder_of: returns the folder in which a condition's command runs; by default the program's folder.
        surroundings_of: returns what the runner provides for a condition's process; None: nothing.
        patience_s: the longest total time to wait for a busy host to become quiet.
        say: gets a line when the executor waits, and the output of a preparation that failed.
        binary_of: returns the program of a trial, linked for it if necessary; by default as it was built.
        tuned: trials run at the highest priority that is allowed.
        simulated: the simulation of each trial that names events.
        name: the name of this host in the outcomes.
        facts: what outcomes say of this host beside its settings: processor, libraries.
    """

    calibrate: Path
    stop: StopSignals
    folder_of: Callable[[Mapping[str, Level]], Path] | None = None
    patience_s: float = 0
    say: Callable[[str], None] = print
    binary_of: Callable[[PlannedTrial], Binary] = as_built
    tuned: bool = False
    simulated: SimulationPlan = field(default_factory=SimulationPlan)
    surroundings_of: Callable[[Mapping[str, Level]], Mapping[str, Any]] | None = None
    name: str = field(default_factory=platform.node)
    facts: Mapping[str, str] = field(default_factory=dict)
    _busy: bool = field(default=False, init=False)
    _host: Mapping[str, str] = field(default_factory=dict, init=False)
    _latest: _Calibration | None = field(default=None, init=False)
    _given_up: dict[frozenset[tuple[str, Level]], Simulation] = field(default_factory=dict, init=False)

    def execute(self, group: Sequence[PlannedTrial]) -> Iterator[Outcome]:
        """Run the trials of a group one after another, and yield the outcome of each.

        Raises:
            Interrupted: the user asked to stop.
            CannotStartError: a trial's program, or the one that calibrates, did not start, or its
                allocator is not installed, or it cannot be linked.
        """
        if self._busy and self.patience_s > 0:
            self.say(f"the host is busy; waiting until it is quiet, for {duration(self.patience_s)} at most")
            threads = max(trial.request["threads"] for trial in group)
            self.patience_s -= load.wait_until_quiet(threads, self.patience_s, self.stop)
        self._busy = False
        self._host = {**self.facts, **state(System())}
        return self._outcomes(group)

    def _outcomes(self, group: Sequence[PlannedTrial]) -> Iterator[Outcome]:
        """Run the trials of a group, and yield the outcome of each when it is calibrated."""
        printed: dict[bytes, PlannedTrial] = {}
        waiting: list[tuple[Outcome, _Calibration]] = []
        simulations = [self._simulation(trial) for trial in group]  # first, so that trials stay neighbours
        for trial, following, simulation in zip_longest(group, group[1:], simulations):
            if prepare := _run_of(trial).prepare:
                run_shell("preparation", prepare, self._folder(trial), self.say, self.stop)
            binary = self.binary_of(trial)  # linking one takes time, which belongs before the calibration
            if self._latest is None or not self._latest.serves(trial):
                self._latest = between = self._calibration(trial)
                yield from (_between(before, outcome, between) for outcome, before in waiting)
                waiting = []
            outcome = _with_simulated(self._outcome(trial, binary, printed), simulation)
            waiting.append((outcome, self._latest))
            if following is None or not self._latest.serves(following):
                self._latest = after = self._calibration(trial)
                yield from (_between(before, outcome, after) for outcome, before in waiting)
                waiting = []

    def _outcome(self, trial: PlannedTrial, binary: Binary, printed: dict[bytes, PlannedTrial]) -> Outcome:
        """Run a trial; `printed` has the outputs of its group's commands that must print the same."""
        run = _run_of(trial)
        started_at = datetime.now(UTC)
        is_command = trial.extract != "protocol"
        with self._surrounded(trial, binary) as around:
            counts_before, joules_before = load.counts(), joules_so_far(System())
            ended = self._process(
                trial,
                binary,
                "" if is_command else json.dumps(trial.request),
                measured=is_command,
                repeat_ms=run.repeat_ms,
                wait_for_children=run.wait_for_children,
                stdin_file=Path(run.input) if run.input else None,
                discard=run.output == "discarded",
                timeout_s=trial.timeout_s,
                priority=around.command,
                preload=around.preload,
            )
            counts_after, joules_after = load.counts(), joules_so_far(System())
        accepted = replace(ended, exit_code=0) if run.ignore_failure and ended.exit_code > 0 else ended
        status, reason, result = judge(accepted, trial)
        if run.output == "same" and status == "valid":
            printed.setdefault(digest := sha256(ended.stdout).digest(), trial)
            first_digest, first = next(iter(printed.items()))
            if digest != first_digest:
                other = [str(level) for name, level in first.levels.items() if level != trial.levels[name]]
                status, reason = "invalid", f"printed something else than {listed(other)}"
        reported = {} if result is None else result.get("metrics", {})
        of_host = load.metrics(counts_before, counts_after, trial.request, reported)
        self._busy = self._busy or of_host.get(LOST, 0) > BUSY
        return Outcome(
            status=status,
            reason=reason,
            exit_code=ended.exit_code,
            result=result,
            stdout="" if result and not is_command else _text(ended.stdout[:_STDOUT_KEPT]),
            stderr=_text(ended.stderr),
            calibration_before=None,
            calibration_after=None,
            calibration_error="",
            started_at=started_at,
            wall_s=ended.wall_s,
            derived={**of_host, **energy.metrics(reported, joules_between(joules_before, joules_after))},
            program_sha256=digest_of(binary.measured),
            build_id=build_id(Path(binary.measured)),
            host={**self._host, **_with_own(around.state, result or {})},
            ran_on=self.name,
        )

    @contextmanager
    def _surrounded(self, trial: PlannedTrial, binary: Binary) -> Iterator[Surroundings]:
        """Provide the surroundings of a trial's process: by its settings, then by tuning."""
        requested = self.surroundings_of(trial.levels) if self.surroundings_of else {}
        if self.tuned and (own := sorted(requested)):
            raise CannotStartError(
                f"the trials set {listed(own)} themselves, and --tuned would too; run without --tuned"
            )
        system = System()
        priority = started(system, trial.request, trial.timeout_s if self.tuned else None)
        with surrounded(requested, Path(binary.measured), trial.timeout_s, system) as around:
            set_here = {SET_BY_TRIAL: ", ".join(around.state)} if around.state else {}
            yield replace(
                around,
                command=(*priority.command, *around.command),
                state={**priority.state, **around.state, **set_here},
            )

    def _process(
        self,
        trial: PlannedTrial,
        binary: Binary,
        stdin: str,
        *,
        timeout_s: float,
        preload: str = "",
        **how: Any,
    ) -> Ended:
        """Run a process in the surroundings of a trial."""
        return run_process(
            binary.program,
            stdin,
            environment=trial_environment(int(trial.perturbation.get("environment_bytes", 0)))
            | ({"ASSAY_TRANSACTIONS": wanted} if (wanted := trial.request.get("transactions")) else {}),
            arguments=binary.arguments,
            directory=self._folder(trial),
            timeout_s=timeout_s,
            memory_limit_mb=trial.memory_limit_mb,
            preload=" ".join(filter(None, (library_of(trial.request.get("allocator", "glibc")), preload))),
            fixed_addresses=trial.perturbation.get("address_space") == "fixed",
            stop=self.stop,
            **how,
        )

    def _simulation(self, trial: PlannedTrial) -> Simulation | None:
        """Simulate the events that a trial names, if the simulation plan says so.

        A simulation that nobody requested and that failed is not tried again for the same condition: each
        attempt might take as long.
        """
        if not self.simulated.operations or "events" not in trial.request:
            return None
        condition = frozenset(trial.levels.items())
        if condition in self._given_up:
            return self._given_up[condition]

        def attempt(binary: Binary, request: Mapping[str, Any], timeout_s: float) -> _Judged:
            ended = self._process(trial, binary, json.dumps(request), timeout_s=timeout_s)
            return judge(ended, replace(trial, request=request, timeout_s=timeout_s))

        patience_s = self.simulated.patience_s
        simulation = simulate(trial, self.simulated.operations, self.binary_of(trial), attempt, patience_s)
        if patience_s is not None and not simulation.counts:
            self._given_up[condition] = replace(simulation, took_s=0)
        return simulation

    def _folder(self, trial: PlannedTrial) -> Path:
        """Return the folder in which a trial runs; for a program that speaks the protocol, its own."""
        if self.folder_of is None or trial.extract == "protocol":
            return Path(trial.program).parent
        return self.folder_of(trial.levels)

    def _calibration(self, trial: PlannedTrial) -> _Calibration:
        """Calibrate the processors of a trial."""
        placement = _placement(trial)
        ended = run_process(
            str(self.calibrate),
            json.dumps({"protocol": 1, **placement}),
            environment=trial_environment(0),
            timeout_s=_CALIBRATION_TIMEOUT_S,
            memory_limit_mb=trial.memory_limit_mb,
            priority=started(System(), trial.request).command,
            stop=self.stop,
        )
        failure = _failure(ended, _CALIBRATION_TIMEOUT_S)
        result, error = None, failure[1] if failure else ""
        if not failure:
            try:
                result = protocol.parse("calibration-result", ended.stdout.decode())
            except (ValueError, RecursionError) as problem:
                error = _text(f"printed no calibration result: {problem}".encode())
        return _Calibration(placement, time.monotonic(), result, error)


def _run_of(trial: PlannedTrial) -> CommandRun:
    return CommandRun.model_validate(trial.request.get("run", {}))


def _with_own(state: Mapping[str, str], result: Mapping[str, Any]) -> dict[str, str]:
    """Return the trial's surroundings, with the host's settings that its program says it changed."""
    own = result.get("host", {})
    names = {*own, *filter(None, state.get(SET_BY_TRIAL, "").split(", "))}
    return {**state, **own, **({SET_BY_TRIAL: ", ".join(sorted(names))} if names else {})}


def _placement(trial: PlannedTrial) -> dict[str, Any]:
    """Return what a calibration depends on: a calibration request without the protocol's version."""
    drawn = {
        name: value for name, value in trial.request.get("perturbation", {}).items() if name == "placement"
    }
    return {name: trial.request[name] for name in ("threads", "pinning")} | drawn


def _with_simulated(outcome: Outcome, simulation: Simulation | None) -> Outcome:
    """Return a trial's outcome with its simulation."""
    if simulation is None or outcome.result is None:
        return outcome
    return replace(
        outcome,
        result={**outcome.result, "simulated": simulation.record()},
        derived={**outcome.derived, **simulation.metrics(), SIMULATION_S: simulation.took_s},
    )


def _between(before: _Calibration, outcome: Outcome, after: _Calibration) -> Outcome:
    """Return a trial's outcome with the calibrations around it."""
    errors = {"before": before.error, "after": after.error}
    return replace(
        outcome,
        calibration_before=before.result,
        calibration_after=after.result,
        calibration_error="; ".join(f"{when}: {error}" for when, error in errors.items() if error),
    )


def digest_of(program: str) -> str:
    """Return the SHA-256 of a program's bytes, in hexadecimal; empty if it is gone.

    The file is read again only if it has changed.
    """
    try:
        facts = Path(program).stat()
    except OSError:
        return ""
    return _digest_of(program, facts.st_ino, facts.st_size, facts.st_mtime_ns)


@cache
def _digest_of(program: str, _inode: int, _size: int, _changed_ns: int) -> str:
    return sha256(Path(program).read_bytes()).hexdigest()


def trial_environment(padding: int) -> dict[str, str]:
    """Return the environment of a trial: as little as programs need, and a number of bytes of padding.

    The size of the environment moves the stack, and with it performance (Mytkowicz et al., ASPLOS 2009).
    """
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C", "ASSAY_PADDING": "x" * padding}


_Judged = tuple[Status, str, dict[str, Any] | None]


def judge(ended: Ended, trial: PlannedTrial) -> _Judged:
    """Return the status, reason and result of a trial from how its process ended."""
    failure = _failure(ended, trial.timeout_s)
    if failure:
        return *failure, None
    if trial.extract != "protocol":
        return _extracted(ended, trial)
    status, reason, result = _protocol_result(ended)
    if status == "valid" and result:
        problem = (
            _other_surroundings(trial.request, result)
            or _left_out(trial.request, result)
            or _other_flaws(trial.request, result)
        )
        if problem:
            return "invalid", problem, result
    return status, reason, result


def _other_surroundings(request: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Return how the surroundings that a trial reports differ from its request, or ""."""
    for name in ("allocator", "transactions"):
        if requested := request.get(name):
            try:
                reported = result["environment"][name]["name"]
            except (KeyError, TypeError):
                return f"{name} had to be {requested}, but the result's environment does not name it"
            if reported != requested:
                return f"{name} had to be {requested}, but the result says {reported}"
    return ""


def _left_out(request: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Return what the result lacks of the request, or ""; such a program measured something else."""
    requested = {"latency": request.get("latency", "none") != "none", "roles": "roles" in request}
    missing = [name for name in requested if requested[name] and name not in result]
    return f"the result has no {missing[0]}, which the request asked for" if missing else ""


def _other_flaws(request: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Return which of the requested flaws a trial did not have, or had although not requested, or ""."""
    requested, had = flaws_of(request), flaws_of(result)
    if requested == had:
        return ""
    return f"the result has {marked(had) or 'no flaws'}, and the request {marked(requested) or 'none'}"


def _extracted(ended: Ended, trial: PlannedTrial) -> tuple[Status, str, dict[str, Any] | None]:
    """Make a result from a command's output and its use of time and memory."""
    stdout, rules = _text(ended.stdout), trial.extract
    assert rules != "protocol"
    try:
        if rules == "google-benchmark" or rules == "catch2":  # noqa: PLR1714  # mypy knows no `in`
            found = metrics_in(stdout, rules, trial.request.get("parameters", {}).get(BENCHMARK))
        else:
            found = extract(stdout, rules)
        metrics = {**ended.used, **found}
    except ValueError as error:
        said = _last_words(ended)
        return "invalid", f"{error}{f'; its standard error ends{said}' if said else ''}", None
    return "valid", "", {"protocol": 1, "status": "valid", "metrics": metrics}


def _protocol_result(ended: Ended) -> tuple[Status, str, dict[str, Any] | None]:
    """Read the result that a program printed."""
    if not ended.stdout.strip():
        return "invalid", f"printed no result{_last_words(ended)}", None
    try:
        result = protocol.parse("trial-result", ended.stdout.decode())
    except (ValueError, RecursionError) as error:
        return "invalid", _not_the_result(_text(ended.stdout), error), None
    if result["status"] == "invalid":
        return "invalid", _text(result["reason"].encode(errors="replace")), result
    return "valid", "", result


def _not_the_result(printed: str, error: Exception) -> str:
    """Return in words what a program printed that is not a result: all of it, or text around a result."""
    decoder = json.JSONDecoder()
    begin = printed.find("{")
    for _ in range(_PLACES_TRIED):
        if begin < 0:
            break
        end = begin + 1
        with suppress(ValueError, RecursionError):
            _, end = decoder.raw_decode(printed, begin)
            protocol.parse("trial-result", printed[begin:end])
            others = [text for text in (printed[:begin], printed[end:]) if text.strip()]
            if others:
                return f"printed {listed(list(map(quoted, others)))} beside its result; {_BELONGS}"
        begin = printed.find("{", end)
    try:
        json.loads(printed)
    except (ValueError, RecursionError):
        return _text(f"printed {quoted(printed)}, which is not a result: {error}; {_BELONGS}".encode())
    return _text(f"printed something that is not a result: {error}".encode())


def _failure(ended: Ended, timeout_s: float) -> tuple[Status, str] | None:
    """Return the status and reason of a process that failed, whatever it printed, or None."""
    if len(ended.stdout) > STDOUT_LIMIT:
        return "invalid", f"printed more than {STDOUT_LIMIT // 2**20} MiB"
    why = _last_words(ended)
    if ended.timed_out:
        return "timed_out", f"still ran after its time-out of {elapsed(timeout_s)}{why}"
    if ended.exit_code < 0:
        return "crashed", f"ended by {signal_name(-ended.exit_code)}{why}"
    if ended.exit_code > 0:
        return "crashed", f"exited with {ended.exit_code}{why}"
    if ended.left:
        return "invalid", f"ended while {ended.left_in_words()} that it had started still ran; {_WAIT}"
    return None


def _last_words(ended: Ended) -> str:
    """Return the last lines of a process's standard error, joined in one line after a colon; "" if none."""
    text = _STYLE.sub("", _text(ended.stderr[-_SAID_AT_MOST * _LINES_SAID :]))
    lines = [printable(line.strip()) for line in text.splitlines() if line.strip()]
    said = " / ".join(lines[-_LINES_SAID:])
    return f": {'...' * (len(said) > _SAID_AT_MOST)}{said[-_SAID_AT_MOST:]}" if said else ""


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
