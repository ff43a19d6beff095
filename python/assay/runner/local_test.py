"""Real processes that do what a subject may do wrong, and what the runner makes of each."""

import ast
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from assay import programs, protocol
from assay.experiment.programs import PROCESS_METRICS
from assay.experiment.types import Extraction
from assay.host.settings import SET_BY_TRIAL
from assay.plan.types import PlannedTrial
from assay.runner import load, local
from assay.runner.local import LocalExecutor
from assay.runner.process import STDERR_KEPT, CannotStartError, Interrupted, StopSignals
from assay.runner.types import Outcome

VALID = '{"protocol": 1, "status": "valid", "metrics": {"throughput": 2.5}}'
CALIBRATION = '{"protocol": 1, "cpus": [0], "metrics": {"memory_ns": 80}, "unavailable": {}, "elapsed_ms": 1}'
REQUEST = {"protocol": 1, "subject": "x", "seed": 7, "threads": 1, "pinning": "none"}

Run = Callable[..., Outcome]


def script(path: Path, code: str) -> Path:
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\n{textwrap.dedent(code)}")
    path.chmod(0o755)
    return path


def planned(
    program: Path, timeout_s: float = 60, memory_limit_mb: int = 1000, padding: int = 0
) -> PlannedTrial:
    return PlannedTrial(
        ordinal=0,
        block=0,
        group=0,
        levels={"subject": "x"},
        request=REQUEST,
        program=str(program),
        perturbation={"environment_bytes": padding},
        timeout_s=timeout_s,
        memory_limit_mb=memory_limit_mb,
    )


def only(executor: LocalExecutor, trial: PlannedTrial) -> Outcome:
    """Run a group of one trial."""
    [outcome] = executor.execute([trial])
    return outcome


@pytest.fixture
def stop() -> Iterator[StopSignals]:
    with StopSignals() as signals:
        yield signals


@pytest.fixture
def executor(tmp_path: Path, stop: StopSignals) -> LocalExecutor:
    return LocalExecutor(script(tmp_path / "calibrate", f"print('{CALIBRATION}')"), stop)


@pytest.fixture
def run(tmp_path: Path, executor: LocalExecutor) -> Run:
    def run(code: str, **limits: float) -> Outcome:
        return only(executor, planned(script(tmp_path / "subject", code), **limits))  # type: ignore[arg-type]

    return run


def test_a_patient_runner_waits_after_a_busy_group_until_its_patience_is_over(
    tmp_path: Path, executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = iter(range(0, 100, 1))

    def counts() -> load.Counts:
        second = next(at)
        return load.Counts(at=second, load=1, pressure=second, busy=3 * second, steal=0, own=0)

    waited: list[float] = []

    def wait(_threads: int, most_s: float, _stop: StopSignals) -> float:
        waited.append(most_s)
        return 40

    said: list[str] = []
    monkeypatch.setattr(load, "counts", counts)
    monkeypatch.setattr(load, "wait_until_quiet", wait)
    executor.patience_s, executor.say = 60, said.append
    trial = planned(script(tmp_path / "subject", f"print('{VALID}')"))
    outcomes = [only(executor, trial) for _ in range(4)]
    assert {outcome.derived["lost_share"] for outcome in outcomes} == {1}
    assert waited == [60, 20]
    assert said[0] == "the host is busy; waiting until it is quiet, for about 60 seconds at most"


def alive(pid: int) -> bool:
    """Tell whether a process still runs; a zombie does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    """Ask again and again; pytest's time-out ends a test in which it never comes to be."""
    while not condition():
        time.sleep(0.005)


def test_a_trial_that_follows_the_protocol_is_valid(run: Run) -> None:
    outcome = run(f"print('{VALID}'); sys.stderr.write('a word')")
    assert outcome.status == "valid"
    assert outcome.reason == ""
    assert outcome.exit_code == 0
    assert outcome.result == json.loads(VALID)
    assert (outcome.stdout, outcome.stderr) == ("", "a word")
    assert outcome.calibration_before == outcome.calibration_after == json.loads(CALIBRATION)
    assert outcome.calibration_error == ""
    assert outcome.started_at.tzinfo is not None
    assert outcome.wall_s > 0


def test_the_program_gets_the_request_in_a_session_environment_and_folder_of_its_own(run: Run) -> None:
    outcome = run(
        """
        import json
        seen = {"request": json.load(sys.stdin), "environment": dict(os.environ), "folder": os.getcwd(),
                "leads": os.getpid() == os.getpgid(0), "session": os.getsid(0)}
        print(json.dumps({"protocol": 1, "status": "valid", "metrics": {}, "details": seen}))
        """,
        padding=3000,
    )
    assert outcome.result is not None
    seen = outcome.result["details"]
    assert seen["request"] == REQUEST
    assert seen["leads"]
    assert seen["session"] != os.getsid(0)
    assert seen["environment"].keys() <= {"PATH", "LANG", "LC_CTYPE", "ASSAY_PADDING"}
    assert seen["environment"]["LANG"] == "C"
    assert len(seen["environment"]["ASSAY_PADDING"]) == 3000


@pytest.mark.parametrize("had", ["none", "rtm"])
def test_the_transactions_of_a_trial_are_those_that_it_asks_for(
    tmp_path: Path, executor: LocalExecutor, had: str
) -> None:
    program = script(
        tmp_path / "subject",
        f"""
        import json
        here = {{"transactions": {{"name": "{had}"}}}}
        seen = {{"wanted": os.environ["ASSAY_TRANSACTIONS"]}}
        result = {{"protocol": 1, "status": "valid", "metrics": {{}}, "environment": here, "details": seen}}
        print(json.dumps(result))
        """,
    )
    trial = planned(program)
    outcome = only(executor, replace(trial, request={**trial.request, "transactions": "none"}))
    assert outcome.result is not None
    assert outcome.result["details"] == {"wanted": "none"}
    assert (outcome.status, outcome.reason) == (
        ("valid", "")
        if had == "none"
        else ("invalid", "transactions had to be none, but the result says rtm")
    )


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM", "SIGFPE"])
def test_death_by_a_signal_is_a_crash_that_names_it(run: Run, name: str) -> None:
    outcome = run(f"import signal; os.kill(os.getpid(), signal.{name})")
    assert (outcome.status, outcome.reason) == ("crashed", f"ended by {name}")
    assert outcome.exit_code == -getattr(signal, name)


def test_a_non_zero_exit_is_a_crash_even_after_a_valid_result(run: Run) -> None:
    outcome = run(f"print('{VALID}'); sys.exit('first\\nerror: no such subject')")
    assert (outcome.status, outcome.reason) == ("crashed", "exited with 1: first / error: no such subject")
    assert outcome.exit_code == 1
    assert outcome.result is None
    assert outcome.stdout.strip() == VALID
    assert outcome.stderr == "first\nerror: no such subject\n"


def test_a_hang_is_killed_and_names_the_time_out(run: Run) -> None:
    outcome = run("time.sleep(3600)", timeout_s=0.3)
    assert (outcome.status, outcome.reason) == ("timed_out", "still ran after its time-out of 0.3 s")
    assert outcome.exit_code == -signal.SIGKILL


def test_a_hang_that_ignores_signals_and_has_closed_its_output_is_killed(run: Run) -> None:
    outcome = run(
        """
        import signal
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.close(1)
        os.close(2)
        time.sleep(3600)
        """,
        timeout_s=0.3,
    )
    assert outcome.status == "timed_out"


def test_a_trial_that_is_killed_dies_with_its_children(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    outcome = run(
        f"""
        child = os.fork()
        if child:
            open({str(note)!r}, "w").write(str(child))
            while True:
                os.write(1, b"x" * 2**20)
        time.sleep(3600)
        """
    )
    assert outcome.reason == "printed more than 64 MiB"
    child = int(note.read_text())
    wait_until(lambda: not alive(child))


BELONGS = "; standard output belongs to the result: print to standard error instead"


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("", "printed no result"),
        (" \n", "printed no result"),
        (
            "Segmentation\tfault",
            r"printed 'Segmentation\tfault', which is not a result: Expecting value: line 1 column 1 (char 0)"
            f"{BELONGS}",
        ),
        (VALID[:40], f"printed '{VALID[:40]}', which is not a result: "),
        (VALID + VALID, f"printed '{VALID[:60]}...' beside its result{BELONGS}"),
        (f"progress: 3%\n{VALID}", f"printed 'progress: 3%' beside its result{BELONGS}"),
        (f"n = 3 {{1}}{VALID}\n", f"printed 'n = 3 {{1}}' beside its result{BELONGS}"),
        (
            f'{{"debug": 1}}\n{VALID}\nbye \x1b[2J {"!" * 60}',
            f"printed '{{\"debug\": 1}}' and 'bye \\x1b[2J {'!' * 51}...' beside its result{BELONGS}",
        ),
        ("[" * 100_000, f"printed '{'[' * 60}...', which is not a result"),
        ("[1, 2]", "printed something that is not a result: $: [1, 2] is not of type 'object'"),
        (VALID.replace("2.5", "NaN"), "NaN is not a JSON number"),
        (VALID.replace("2.5", "1e999"), "larger than a double"),
        (VALID.replace("2.5", "1" + "0" * 400), "larger than a double"),
        (VALID.replace("2.5", '"2.5"'), "$.metrics.throughput: '2.5' is not of type 'number'"),
        (VALID.replace("1,", "2,", 1), "$.protocol: 1 was expected"),
        (VALID.replace("valid", "invalid"), "$: 'reason' is a required property"),
        (
            VALID.replace('"metrics": {"throughput": 2.5}', '"more": 1'),
            "printed something that is not a result",
        ),
    ],
)
def test_output_that_is_no_result_makes_the_trial_invalid(run: Run, printed: str, reason: str) -> None:
    outcome = run(f"sys.stdout.write({printed!r})")
    assert outcome.status == "invalid"
    assert reason in outcome.reason
    assert outcome.result is None
    assert outcome.exit_code == 0
    assert outcome.stdout == printed[: 2**16]


def test_bytes_that_are_no_text_make_the_trial_invalid(run: Run) -> None:
    outcome = run(r"os.write(1, b'\xff\xfe\x00garbage'); os.write(2, b'\xff\xfe')")
    assert outcome.status == "invalid"
    assert "garbage', which is not a result" in outcome.reason
    assert outcome.stdout.endswith("garbage")


def test_a_result_that_calls_itself_invalid_keeps_its_reason_and_is_kept(run: Run) -> None:
    result = VALID.replace('"valid"', '"invalid", "reason": "lost 3 keys \\\\ud800"')
    outcome = run(f"print('{result}')")
    assert outcome.status == "invalid"
    assert outcome.reason == "lost 3 keys ?"
    assert outcome.result is not None


def test_a_huge_result_is_cut_off(run: Run) -> None:
    outcome = run("while True: os.write(1, b'x' * 2**20)")
    assert (outcome.status, outcome.reason) == ("invalid", "printed more than 64 MiB")
    assert len(outcome.stdout) == 2**16


def test_of_a_flood_of_errors_the_end_is_kept(run: Run) -> None:
    outcome = run(
        f"""
        for _ in range(100):
            os.write(2, b"x" * 100_000)
        os.write(2, b"the end")
        print('{VALID}')
        """
    )
    assert outcome.status == "valid"
    assert len(outcome.stderr) == STDERR_KEPT
    assert outcome.stderr.endswith("xthe end")


def test_output_and_errors_larger_than_a_pipe_do_not_block_each_other(run: Run) -> None:
    outcome = run(
        f"""
        os.write(2, b"e" * 1_000_000)
        print('{VALID}' + " " * 1_000_000)
        os.write(2, b"e" * 1_000_000)
        """
    )
    assert outcome.status == "valid"


def test_a_leak_ends_at_the_memory_limit(run: Run) -> None:
    outcome = run(
        """
        kept = []
        while True:
            kept.append(bytearray(2**20))
        """,
        memory_limit_mb=64,
    )
    assert outcome.status == "crashed"
    assert outcome.reason.endswith(" / MemoryError")


@pytest.mark.parametrize(("mode", "why"), [(None, "No such file or directory"), (0o644, "Permission denied")])
@pytest.mark.parametrize("which", ["subject", "calibrate"])
def test_a_program_that_cannot_be_started_is_no_trial(
    tmp_path: Path, stop: StopSignals, which: str, mode: int | None, why: str
) -> None:
    for name, printed in (("subject", VALID), ("calibrate", CALIBRATION)):
        script(tmp_path / name, f"print('{printed}')")
    (tmp_path / which).unlink()
    if mode is not None:
        (tmp_path / which).touch(mode)
    executor = LocalExecutor(tmp_path / "calibrate", stop)
    with pytest.raises(CannotStartError, match=f"{which} cannot be started: {why}"):
        only(executor, planned(tmp_path / "subject"))


def test_a_program_that_the_kernel_refuses_is_no_trial(executor: LocalExecutor, tmp_path: Path) -> None:
    program = tmp_path / "subject"
    program.write_bytes(b"\x7fELF, and no more: the linker has not ended")
    program.chmod(0o755)
    with pytest.raises(CannotStartError, match=r"subject cannot be started: .*[Ee]xec"):
        only(executor, planned(program))
    with script(program, f"print('{VALID}')").open("a"), pytest.raises(CannotStartError, match="busy"):
        only(executor, planned(program))
    assert only(executor, planned(program)).status == "valid"


def test_a_program_that_exits_like_a_shell_without_a_program_is_a_crash(run: Run) -> None:
    outcome = run("sys.exit(127)")
    assert (outcome.status, outcome.reason) == ("crashed", "exited with 127")


def test_once_signals_act_at_once_the_first_is_raised_where_it_comes() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals() as stop:
        stop.act_at_once()
        with pytest.raises(Interrupted) as caught:
            os.kill(os.getpid(), signal.SIGTERM)
        assert caught.value.signum == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_noted_before_signals_act_at_once_is_not_lost() -> None:
    with StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(Interrupted):
            stop.act_at_once()


def test_an_ignored_hang_up_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            stop.check()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("sys.exit(3)", "exited with 3"),
        ("print('x')", "printed no calibration result"),
        ("import signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
    ],
)
def test_a_calibration_that_fails_leaves_the_trial_valid_and_says_why(
    tmp_path: Path, stop: StopSignals, code: str, why: str
) -> None:
    executor = LocalExecutor(script(tmp_path / "broken", code), stop)
    outcome = only(executor, planned(script(tmp_path / "subject", f"print('{VALID}')")))
    assert outcome.status == "valid"
    assert outcome.calibration_before is outcome.calibration_after is None
    assert f"before: {why}" in outcome.calibration_error
    assert f"after: {why}" in outcome.calibration_error


def test_calibrations_run_before_and_after_on_the_processors_of_the_trial(
    tmp_path: Path, stop: StopSignals
) -> None:
    diary = tmp_path / "diary"
    note = f"open({str(diary)!r}, 'a').write({{0!r}} + ' ' + sys.stdin.read() + '\\n')"
    calibrate = script(tmp_path / "calibrate", f"{note.format('calibrate')}; print('{CALIBRATION}')")
    subject = script(tmp_path / "subject", f"{note.format('trial')}; print('{VALID}')")
    only(LocalExecutor(calibrate, stop), planned(subject))
    calibration = 'calibrate {"protocol": 1, "threads": 1, "pinning": "none"}'
    assert diary.read_text().splitlines() == [calibration, f"trial {json.dumps(REQUEST)}", calibration]


@pytest.mark.parametrize(
    ("repeat_ms", "lasts_s", "ran", "around"),
    [
        # Short commands: the trials of a group share, and groups that follow each other.
        (1, math.inf, "1tt2tt3", ["12", "12", "23", "23"]),
        (1, 0, "1t23t45t67t8", ["12", "34", "56", "78"]),  # what is old does not count
        (0, math.inf, "1t23t45t67t8", ["12", "34", "56", "78"]),  # trials that may be long
    ],
)
def test_short_trials_that_follow_each_other_share_calibrations(
    tmp_path: Path,
    stop: StopSignals,
    monkeypatch: pytest.MonkeyPatch,
    repeat_ms: int,
    lasts_s: float,
    ran: str,
    around: list[str],
) -> None:
    monkeypatch.setattr(local, "_CALIBRATION_LASTS_S", lasts_s)
    diary = tmp_path / "diary"
    diary.touch()
    count = f"number = 1 + sum(map(str.isdigit, open({str(diary)!r}).read()))"
    note = f"open({str(diary)!r}, 'a').write"
    printed = CALIBRATION.replace("80", "%d")
    calibrate = script(tmp_path / "calibrate", f"{count}; {note}(str(number)); print({printed!r} % number)")
    trial = command(tmp_path, f"{note}('t')", ())
    trial = replace(trial, request={**REQUEST, "run": {"repeat_ms": repeat_ms}})
    executor = LocalExecutor(calibrate, stop, lambda _: tmp_path)
    outcomes = [outcome for _ in range(2) for outcome in executor.execute([trial, trial])]
    assert diary.read_text() == ran
    assert [
        "".join(
            str(seen["metrics"]["memory_ns"])
            for seen in (one.calibration_before, one.calibration_after)
            if seen
        )
        for one in outcomes
    ] == around


def test_trials_on_other_processors_share_no_calibration(tmp_path: Path, stop: StopSignals) -> None:
    diary = tmp_path / "diary"
    note = f"open({str(diary)!r}, 'a').write(str(json.load(sys.stdin)['threads']))"
    calibrate = script(tmp_path / "calibrate", f"import json; {note}; print('{CALIBRATION}')")
    trial = command(tmp_path, "", ())
    group = [
        replace(trial, request={**REQUEST, "threads": threads, "run": {"repeat_ms": 1}}) for threads in (1, 2)
    ]
    outcomes = list(LocalExecutor(calibrate, stop, lambda _: tmp_path).execute(group))
    assert diary.read_text() == "1122"
    assert all(outcome.calibration_error == "" for outcome in outcomes)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_trial_at_once(run: Run, tmp_path: Path, signum: signal.Signals) -> None:
    note = tmp_path / "pid"
    with pytest.raises(Interrupted) as caught:
        run(
            f"""
            open({str(note)!r}, "w").write(str(os.getpid()))
            os.kill({os.getpid()}, {int(signum)})
            time.sleep(3600)
            """
        )
    assert caught.value.signum == signum
    assert not alive(int(note.read_text()))


def test_signals_act_as_before_once_trials_are_over() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with StopSignals():
        pass
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def command(
    folder: Path, code: str, extract: Literal["protocol", "lines"] | tuple[Extraction, ...], *arguments: str
) -> PlannedTrial:
    return replace(planned(script(folder / "command", code)), arguments=arguments, extract=extract)


def test_a_command_gets_its_arguments_and_no_request_in_the_experiments_folder(
    tmp_path: Path, stop: StopSignals, executor: LocalExecutor
) -> None:
    calibrate = script(tmp_path / "calibrate", f"print('{CALIBRATION}')")
    folder = tmp_path / "experiment"
    folder.mkdir()
    code = "print([sys.argv[1:], sys.stdin.read(), os.getcwd()]); print('a=1.5')"
    trial = command(tmp_path, code, "lines", "two words", "$HOME", "*", "-n")
    outcome = only(LocalExecutor(calibrate, stop, lambda _: folder), trial)
    seen, line = outcome.stdout.splitlines()
    assert ast.literal_eval(seen) == [["two words", "$HOME", "*", "-n"], "", str(folder)]
    assert line == "a=1.5"
    assert outcome.status == "valid"
    assert outcome.result is not None
    assert outcome.result["metrics"]["a"] == 1.5
    protocol.validator("trial-result").validate(outcome.result)


def test_a_program_that_speaks_the_protocol_gets_its_arguments_too(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    code = f"""
    import json
    assert sys.argv[1:] == ["-v"] and json.load(sys.stdin) == {REQUEST}
    print('{VALID}')
    """
    outcome = only(executor, command(tmp_path, code, "protocol", "-v"))
    assert (outcome.status, outcome.stdout) == ("valid", "")


def test_what_a_trial_says_of_the_host_takes_the_place_of_what_was_read_before(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    valid = json.dumps(json.loads(VALID) | {"host": {"swap": "mine"}})
    outcome = only(executor, command(tmp_path, f"print('''{valid}''')", "protocol"))
    assert outcome.host["swap"] == "mine"
    assert "address-randomisation" in outcome.host


def test_what_the_experiment_and_the_program_set_of_the_host_is_named_together(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    executor.surroundings_of = lambda _levels: {"scheduling": "batch"}
    valid = json.dumps(json.loads(VALID) | {"host": {"memory-lock": "locked"}})
    outcome = only(executor, command(tmp_path, f"print('''{valid}''')", "protocol"))
    assert outcome.host["scheduling"] == "batch"
    assert outcome.host[SET_BY_TRIAL] == "memory-lock, scheduling"


def test_a_command_may_print_its_metrics_as_json(tmp_path: Path, executor: LocalExecutor) -> None:
    code = r"""import json; print("begun"); print(json.dumps({"runs": [{"rate": 2.5}]}))"""
    outcome = only(executor, command(tmp_path, code, (Extraction(metric="rate", pointer="/runs/0/rate"),)))
    assert (outcome.status, outcome.reason) == ("valid", "")
    assert outcome.result is not None
    assert outcome.result["metrics"]["rate"] == 2.5


@pytest.mark.parametrize(
    ("printed", "extract", "reason"),
    [
        ("nothing", "lines", "there is no line NAME=DATA with a number"),
        ("a=1\\na=2", "lines", "a: there are two lines a=..."),
        (
            "a=1",
            (Extraction(metric="a", pattern=r"b=(\d)"),),
            r"a: the pattern 'b=(\d)' is nowhere in the output",
        ),
        ("a=1\\na=1", (Extraction(metric="a", pattern=r"a=(\d)"),), "is in the output more than once"),
        ('{"a": "1"}', (Extraction(metric="a", pointer="/a"),), "a: the place '/a' gives '\"1\"', which is"),
    ],
)
def test_a_command_in_whose_output_a_metric_is_not_found_once_is_invalid(
    tmp_path: Path,
    executor: LocalExecutor,
    printed: str,
    extract: Literal["lines"] | tuple[Extraction, ...],
    reason: str,
) -> None:
    outcome = only(executor, command(tmp_path, f"print('{printed}')", extract))
    assert outcome.status == "invalid"
    assert reason in outcome.reason
    assert outcome.result is None
    assert outcome.stdout.splitlines() == printed.split("\\n")


def test_a_command_that_fails_has_crashed_whatever_it_printed(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    outcome = only(executor, command(tmp_path, "print('a=1'); sys.exit('no')", "lines"))
    assert (outcome.status, outcome.reason) == ("crashed", "exited with 1: no")
    outcome = only(executor, command(tmp_path, "print('a=1', flush=True); os.abort()", "lines"))
    assert (outcome.status, outcome.reason) == ("crashed", "ended by SIGABRT")
    assert (outcome.exit_code, outcome.stdout) == (-signal.SIGABRT, "a=1\n")


def run_as(trial: PlannedTrial, **run: object) -> PlannedTrial:
    return replace(trial, request=REQUEST | {"run": run})


def test_a_command_is_repeated_and_reads_its_input_from_the_beginning_each_time(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    (tmp_path / "in").write_text("hello")
    code = "open('log', 'a').write(sys.stdin.read() + chr(10)); print('x' * 10)"
    trial = run_as(command(tmp_path, code, ()), repeat_ms=200, input=str(tmp_path / "in"), output="discarded")
    outcome = only(replace(executor, folder_of=lambda _: tmp_path), trial)
    assert outcome.result is not None
    runs = (tmp_path / "log").read_text().splitlines()
    assert runs == ["hello"] * int(outcome.result["metrics"]["runs"])
    assert outcome.stdout == ""


def test_a_command_that_fails_once_among_several_runs_has_failed(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    code = (
        "n = len(os.listdir('runs')); open(f'runs/{n}', 'w'); n == 1 and sys.exit(1); n == 2 and os.abort()"
    )
    (tmp_path / "runs").mkdir()
    trial = run_as(command(tmp_path, code, ()), repeat_ms=1_000_000)  # the third run ends it at once
    outcome = only(replace(executor, folder_of=lambda _: tmp_path), trial)
    assert (outcome.status, outcome.exit_code) == ("crashed", 1)


def test_a_failure_counts_where_it_is_accepted_and_a_signal_never(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    outcome = only(executor, run_as(command(tmp_path, "sys.exit(3)", ()), ignore_failure=True))
    assert (outcome.status, outcome.exit_code) == ("valid", 3)
    outcome = only(executor, run_as(command(tmp_path, "os.abort()", ()), ignore_failure=True))
    assert outcome.status == "crashed"


def test_output_that_differs_within_a_group_is_invalid(tmp_path: Path, executor: LocalExecutor) -> None:
    def printing(name: str, text: str) -> PlannedTrial:
        program = script(tmp_path / name, f"print('{text}')")
        return run_as(replace(planned(program), extract=(), levels={"entrant": name}), output="same")

    group = [printing("a", "1"), printing("b", "1"), printing("c", "2")]
    statuses = [(outcome.status, outcome.reason) for outcome in executor.execute(group)]
    assert statuses == [("valid", ""), ("valid", ""), ("invalid", "printed something else than a")]


def test_a_preparation_that_fails_ends_the_campaign(tmp_path: Path, executor: LocalExecutor) -> None:
    lines: list[str] = []
    trial = run_as(command(tmp_path, "pass", ()), prepare="echo why; exit 4")
    with pytest.raises(CannotStartError, match=r'the preparation "echo why; exit 4" .* exited with 4'):
        only(replace(executor, folder_of=lambda _: tmp_path, say=lines.append), trial)
    assert lines == ["why"]


def test_bytes_that_are_no_text_hide_no_metric(tmp_path: Path, executor: LocalExecutor) -> None:
    code = r"os.write(1, b'\xff\xfe\x00\na=1\n\xff=2\n\x1b[31mb=3\n')"
    outcome = only(executor, command(tmp_path, code, "lines"))
    assert outcome.status == "valid"
    assert outcome.result is not None
    assert outcome.result["metrics"].keys() - {"instructions"} == {"a", *PROCESS_METRICS}


def test_what_a_command_uses_is_told_and_not_what_started_it(tmp_path: Path, executor: LocalExecutor) -> None:
    held = bytearray(os.urandom(1)) * 300_000_000  # the runner is larger than what it runs
    begins = time.monotonic()
    outcome = only(executor, replace(planned(Path("/bin/true")), extract=()))
    took_ms = 1000 * (time.monotonic() - begins)
    assert outcome.status == "valid", outcome.reason
    assert outcome.result is not None
    small = outcome.result["metrics"]
    assert small.keys() - {"instructions"} == set(PROCESS_METRICS)
    assert 0 < small["peak_resident_bytes"] < 20_000_000 < len(held)
    assert 0 < small["wall_ms"] < took_ms
    code = "x = bytearray(b'1' * 100_000_000)\nwhile time.process_time() < 0.1: pass"
    large = only(executor, command(tmp_path, code, ())).result
    assert large is not None
    assert 100_000_000 < large["metrics"]["peak_resident_bytes"] < 300_000_000
    assert large["metrics"]["user_ms"] + large["metrics"]["system_ms"] > 90
    assert large["metrics"]["wall_ms"] > 90


def test_a_command_cannot_touch_the_account_of_what_it_used(tmp_path: Path, executor: LocalExecutor) -> None:
    code = "print(f'open={len(os.listdir(\"/proc/self/fd\"))}')"
    outcome = only(executor, command(tmp_path, code, "lines"))
    assert outcome.result is not None
    assert outcome.result["metrics"]["open"] == 4  # input, output, errors, and the listing itself


def test_a_command_that_is_killed_dies_with_its_meter(tmp_path: Path, executor: LocalExecutor) -> None:
    note = tmp_path / "pid"
    code = f"""
    open({str(note)!r}, 'w').write(str(os.getpid()))
    while True: os.write(1, b'x' * 2**20)
    """
    outcome = only(executor, command(tmp_path, code, "lines"))
    assert outcome.reason == "printed more than 64 MiB"
    pid = int(note.read_text())
    wait_until(lambda: not alive(pid))


def test_a_command_that_the_kernel_refuses_is_no_trial(tmp_path: Path, executor: LocalExecutor) -> None:
    trial = command(tmp_path, "", "lines")
    Path(trial.program).write_bytes(b"\x7fELF, and no more")
    with pytest.raises(CannotStartError, match=r"command cannot be started: Exec format error"):
        only(executor, trial)


RUNNER = """
import sys
from assay.runner.process import run_process
run_process(sys.argv[1], "", environment={}, measured=sys.argv[2] == "measured")
"""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("#!/bin/sh\r", r"its first line names /bin/sh\r, as its line endings are CR LF; .*core.autocrlf"),
        ("#! /usr/bin/env sh\r", r"its first line names /usr/bin/env sh\r, as its line endings are CR LF"),
        ("#!/bin/sh -e\r", r"its first line names /bin/sh -e\r, as its line endings are CR LF"),
        ("#!/no/such/sh", r"its first line names /no/such/sh, which is not there; install it"),
    ],
)
def test_a_script_whose_first_line_names_no_interpreter_says_so(
    tmp_path: Path, executor: LocalExecutor, line: str, why: str
) -> None:
    text = f"{line}\ntrue\n".encode()
    program = command(tmp_path, "", ())
    Path(program.program).write_bytes(text)
    pattern = "command cannot be started: " + re.escape(why).replace(re.escape(".*"), ".*")
    with pytest.raises(CannotStartError, match=pattern):
        only(executor, program)
    shell = replace(program, program="/bin/sh", arguments=("-c", "cd . && ./command"))
    outcome = only(replace(executor, folder_of=lambda _: tmp_path), shell)
    assert outcome.status == "crashed"
    assert re.search(r"\./" + pattern, outcome.reason)
    lines: list[str] = []
    prepared = run_as(command(tmp_path, "pass", ()), prepare="./script")
    (tmp_path / "script").write_bytes(text)
    (tmp_path / "script").chmod(0o755)
    with pytest.raises(CannotStartError, match="preparation"):
        only(replace(executor, folder_of=lambda _: tmp_path, say=lines.append), prepared)
    assert re.search("script" + pattern.removeprefix("command"), lines[-1])


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sys.exit('no')", "exited with 1: no"),
        (
            "sys.stderr.write('a\\n\\x1b[31mb\\x1b[0m\\n\\n c\\x07\\n'); os.abort()",
            r"ended by SIGABRT: a / b / c\x07",
        ),
        ("sys.stderr.write('a' * 9999); sys.exit(1)", "exited with 1: ..." + 300 * "a"),
        ("sys.stderr.write('why')", "; its standard error ends: why"),
    ],
)
def test_the_last_words_of_a_program_that_fails_are_in_the_reason(
    tmp_path: Path, executor: LocalExecutor, code: str, reason: str
) -> None:
    outcome = only(executor, command(tmp_path, code, "lines"))
    assert outcome.reason.endswith(reason)


def test_the_last_words_of_a_program_that_gives_no_result_are_in_the_reason(run: Run) -> None:
    assert run("sys.stderr.write('no data')").reason == "printed no result: no data"


@pytest.mark.parametrize("measured", ["measured", "not"])
def test_a_trial_dies_with_a_runner_that_is_killed_and_so_does_all_that_it_started(
    tmp_path: Path, measured: str
) -> None:
    subject = script(tmp_path / "subject", leaving("daemon", tmp_path) + "time.sleep(3600)")
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, subject, measured])
    processes = noted(tmp_path, 2)
    runner.kill()
    runner.wait()
    wait_until(lambda: not any(map(alive, processes)))


def test_a_trial_whose_runner_is_gone_before_it_starts_never_starts(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    subject = script(tmp_path / "subject", f"open({str(ran)!r}, 'w')")

    def started_by(parent: int) -> int:
        with (tmp_path / "account").open("w") as account:
            command = [programs.find("assay-meter"), account.fileno(), parent, 0, 0, 0, "", "", subject]
            return subprocess.run(
                list(map(str, command)), pass_fds=[account.fileno()], check=False
            ).returncode

    assert started_by(1 if os.getpid() != 1 else 2) != 0
    assert not ran.exists()
    assert started_by(os.getpid()) == 0
    assert ran.exists()


LEAVE = {
    "child": "if fork() == 0: stay()",
    "grandchild": """
    if fork() == 0:
        if fork() == 0: stay()
        os._exit(0)
    os.wait()
    """,
    "daemon": """
    if fork() == 0:
        os.setsid()
        if fork() == 0: stay()
        os._exit(0)
    os.wait()
    """,
    "three generations": """
    if fork() == 0:
        if fork() == 0:
            os.setsid()
            fork()
            stay()
        stay()
    """,
    "one that ignores signals": """
    import signal
    if fork() == 0:
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
        stay()
    """,
    "one that holds no output": """
    if fork() == 0:
        for file in range(3): os.close(file)
        stay()
    """,
}
"""How a program leaves a process behind: each of these notes its number when it is there."""


def leaving(how: str, notes: Path) -> str:
    """Return code after which the processes of `how` and the program itself have noted their numbers."""
    processes = {"three generations": 4}.get(how, 2)
    return f"""
fork = os.fork
def note():
    os.close(os.open({str(notes)!r} + '/pid-' + str(os.getpid()), os.O_CREAT))
def stay():
    note()
    while True: time.sleep(3600)
note()
{textwrap.dedent(LEAVE[how])}
while str(os.listdir({str(notes)!r})).count('pid-') < {processes}: time.sleep(0.001)
"""


def noted(notes: Path, count: int) -> list[int]:
    wait_until(lambda: len(list(notes.glob("pid-*"))) == count)
    return [int(note.name.removeprefix("pid-")) for note in notes.glob("pid-*")]


@pytest.mark.parametrize("how", LEAVE)
def test_a_command_that_ends_before_what_it_started_is_invalid_and_nothing_is_left(
    tmp_path: Path, executor: LocalExecutor, how: str
) -> None:
    outcome = only(executor, command(tmp_path, leaving(how, tmp_path), ()))
    assert outcome.status == "invalid"
    assert re.match(r"ended while \d process(es)? \(.*\) that it had started still ran; ", outcome.reason)
    assert outcome.result is None
    assert not any(map(alive, noted(tmp_path, 4 if how == "three generations" else 2)))


@pytest.mark.parametrize("how", ["child", "daemon"])
def test_a_program_of_the_protocol_leaves_nothing_behind_either(
    tmp_path: Path, executor: LocalExecutor, how: str
) -> None:
    program = script(tmp_path / "subject", f"{leaving(how, tmp_path)}\nprint({VALID!r})")
    outcome = only(executor, planned(program))
    assert (outcome.status, outcome.reason[:11]) == ("invalid", "ended while")
    assert not any(map(alive, noted(tmp_path, 2)))


@pytest.mark.parametrize("how", LEAVE)
def test_a_trial_that_takes_too_long_leaves_nothing_behind(
    tmp_path: Path, executor: LocalExecutor, how: str
) -> None:
    code = leaving(how, tmp_path) + f"open({str(tmp_path / 'all')!r}, 'w')\ntime.sleep(3600)"
    trial = replace(command(tmp_path, code, ()), timeout_s=1.0)
    while not (tmp_path / "all").exists():  # on a busy machine it may take longer until they are there
        for note in tmp_path.glob("pid-*"):
            note.unlink()
        outcome = only(executor, trial)
        trial = replace(trial, timeout_s=2 * trial.timeout_s)
    assert outcome.status == "timed_out"
    assert not any(map(alive, noted(tmp_path, 4 if how == "three generations" else 2)))


@pytest.mark.parametrize("how", ["child", "daemon"])
def test_a_crash_and_an_interrupt_leave_nothing_behind(
    tmp_path: Path, executor: LocalExecutor, how: str
) -> None:
    outcome = only(executor, command(tmp_path, leaving(how, tmp_path) + "os.abort()", ()))
    assert outcome.status == "crashed"
    assert not any(map(alive, noted(tmp_path, 2)))
    for note in tmp_path.glob("pid-*"):
        note.unlink()
    code = leaving(how, tmp_path) + f"os.kill({os.getpid()}, {int(signal.SIGINT)})\ntime.sleep(3600)"
    with pytest.raises(Interrupted):
        only(executor, command(tmp_path, code, ()))
    assert not any(map(alive, noted(tmp_path, 2)))


def test_one_of_several_runs_that_leaves_a_process_behind_is_found(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    (tmp_path / "runs").mkdir()
    code = f"""
    n = len(os.listdir('runs'))
    open(f'runs/{{n}}', 'w')
    if n == 2:
    {textwrap.indent(leaving("daemon", tmp_path), "        ")}
    """
    trial = run_as(command(tmp_path, code, ()), repeat_ms=1_000_000)  # the third run ends it at once
    outcome = only(replace(executor, folder_of=lambda _: tmp_path), trial)
    assert (outcome.status, outcome.reason[:21]) == ("invalid", "ended while 1 process")
    assert len(list((tmp_path / "runs").iterdir())) == 3
    assert not any(map(alive, noted(tmp_path, 2)))


@pytest.mark.parametrize("session", ["", "os.setsid()"])
def test_what_a_command_started_is_waited_for_and_counted_on_request(
    tmp_path: Path, executor: LocalExecutor, session: str
) -> None:
    code = f"""
    if os.fork() == 0:
        {session}
        while time.process_time() < 0.1: pass
        os.write(1, b'late=1\\n')
        os._exit(0)
    print('early=1')
    """
    outcome = only(executor, run_as(command(tmp_path, code, "lines"), wait_for_children=True))
    assert (outcome.status, outcome.reason) == ("valid", "")
    assert outcome.result is not None
    metrics = outcome.result["metrics"]
    assert metrics["early"] == metrics["late"] == 1
    assert metrics["wall_ms"] > 99 < metrics["user_ms"] + metrics["system_ms"]


def test_what_is_waited_for_ends_with_the_time_of_the_trial(tmp_path: Path, executor: LocalExecutor) -> None:
    trial = run_as(command(tmp_path, leaving("daemon", tmp_path), ()), wait_for_children=True)
    timeout_s = 1.0
    while len([*tmp_path.glob("pid-*")]) < 2:  # on a busy machine it may take longer until they are there
        for note in tmp_path.glob("pid-*"):
            note.unlink()
        outcome = only(executor, replace(trial, timeout_s=timeout_s))
        timeout_s *= 2
    assert outcome.status == "timed_out"
    assert not any(map(alive, noted(tmp_path, 2)))


def test_processes_that_end_with_the_command_are_part_of_it(tmp_path: Path, executor: LocalExecutor) -> None:
    # The reader of a pipe sees its end while the writer, whose parent is gone, is still about to exit.
    code = """
    reads, writes = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            os.close(reads)
            while time.process_time() < 0.05: pass
            os._exit(0)
        os._exit(0)
    os.wait()
    os.close(writes)
    os.read(reads, 1)
    """
    outcome = only(executor, command(tmp_path, code, ()))
    assert (outcome.status, outcome.reason) == ("valid", "")
    assert outcome.result is not None
    metrics = outcome.result["metrics"]
    assert metrics["user_ms"] + metrics["system_ms"] > 49


def test_a_command_may_signal_its_group(tmp_path: Path, executor: LocalExecutor) -> None:
    outcome = only(executor, command(tmp_path, "os.kill(0, 9)", ()))
    assert (outcome.status, outcome.reason) == ("crashed", "ended by SIGKILL")
    outcome = only(executor, command(tmp_path, "import signal; os.kill(0, signal.SIGTERM)", ()))
    assert (outcome.status, outcome.reason) == ("crashed", "ended by SIGTERM")


def test_what_a_preparation_leaves_running_is_ended_and_named(
    tmp_path: Path, executor: LocalExecutor
) -> None:
    program = script(tmp_path / "server", leaving("daemon", tmp_path))
    lines: list[str] = []
    trial = run_as(command(tmp_path, "pass", ()), prepare=shlex.quote(str(program)))
    outcome = only(replace(executor, folder_of=lambda _: tmp_path, say=lines.append), trial)
    assert outcome.status == "valid"
    [line] = lines
    assert re.search(r"the preparation .* left 1 process \(.*\) running, now ended", line)
    assert not any(map(alive, noted(tmp_path, 2)))


@pytest.mark.parametrize(
    ("requested", "reported", "missing"),
    [
        ({"latency": 64}, {}, "latency"),
        ({"latency": "none"}, {}, None),
        ({"roles": []}, {}, "roles"),
        ({"roles": []}, {"roles": []}, None),
    ],
)
def test_a_program_that_ignores_what_it_was_asked_for_gives_no_valid_trial(
    tmp_path: Path,
    stop: StopSignals,
    requested: dict[str, object],
    reported: dict[str, object],
    missing: str | None,
) -> None:
    result = json.dumps({**json.loads(VALID), **reported})
    trial = planned(script(tmp_path / "subject", f"print({result!r})"))
    calibrate = script(tmp_path / "calibrate", f"print({CALIBRATION!r})")
    outcome = only(LocalExecutor(calibrate, stop), replace(trial, request={**REQUEST, **requested}))
    if missing is None:
        assert outcome.status == "valid"
    else:
        assert outcome.status == "invalid"
        assert outcome.reason == f"the result has no {missing}, which the request asked for"


@pytest.mark.parametrize("asked", [[], ["one_seed"]])
@pytest.mark.parametrize("had", [[], ["one_seed"], ["never_inserts"]])
def test_a_trial_misleads_exactly_as_it_was_asked_to(
    tmp_path: Path, stop: StopSignals, asked: list[str], had: list[str]
) -> None:
    def flaws(names: list[str]) -> dict[str, object]:
        return {"flaws": names} if names else {}

    result = json.dumps({**json.loads(VALID), **flaws(had)})
    trial = planned(script(tmp_path / "subject", f"print({result!r})"))
    calibrate = script(tmp_path / "calibrate", f"print({CALIBRATION!r})")
    outcome = only(LocalExecutor(calibrate, stop), replace(trial, request={**REQUEST, **flaws(asked)}))
    assert outcome.status == ("valid" if asked == had else "invalid")
    assert ("flawed on purpose" in outcome.reason) == (asked != had)
