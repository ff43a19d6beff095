"""The rig's program on maps that are wrong on purpose, and tools/soak: how they end, and what they say."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from assay import programs
from conftest import ROOT

SOAK = ROOT / "tools" / "soak"


def rig(
    *words: str, program: str = "assay-rig-flawed", patience_s: float = 60
) -> "subprocess.CompletedProcess[str]":
    """Check a map."""
    return subprocess.run(
        [programs.find(program), *words],
        env=os.environ | {"ASSAY_RIG_PATIENCE": str(patience_s)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("check", ["model", "owners", "progress", "stress", "memory"])
def test_a_map_that_deadlocks_ends_every_check_with_status_3(check: str) -> None:
    completed = rig(check, "deadlocks", "--seed", "7", patience_s=1)
    assert completed.returncode == 3
    assert completed.stdout.startswith(f"check={check} map=deadlocks seed=7\n")
    assert "deadlocks" in completed.stderr
    assert "seed 7" in completed.stderr
    assert re.search(r"thread.* is inside (insert|erase|find)\(", completed.stderr)


@pytest.mark.parametrize("check", ["model", "owners", "progress", "stress", "memory"])
def test_what_a_map_throws_is_a_failure_of_the_map(check: str) -> None:
    completed = rig(check, "throws", "--seed", "7")
    assert completed.returncode == 1
    assert completed.stdout.startswith(f"check={check} map=throws seed=7\n")
    assert "insert failed on purpose" in completed.stdout + completed.stderr


@pytest.mark.parametrize(("check", "call"), [("model", r"insert\(\d+, \d+\)"), ("stress", r"insert\(\d+\)")])
def test_seed_and_operation_are_known_of_a_map_that_crashes(check: str, call: str) -> None:
    completed = rig(check, "crashes", "--seed", "7")
    assert completed.returncode == -signal.SIGSEGV
    first, *rest = completed.stdout.splitlines()
    assert first == f"check={check} map=crashes seed=7"
    assert bool(rest) == (check == "model")
    told = rf"error: {check} of crashes, seed 7: crashed in: {call}\n(  another thread is inside .*\n)*"
    assert re.fullmatch(told, completed.stderr)


def test_what_leads_to_a_crash_of_one_thread_is_made_smaller() -> None:
    printed = rig("model", "crashes", "--seed", "7").stdout
    assert "the smallest of what was tried, on an empty map:" in printed
    assert re.search(r"\n  insert\(.*\)  +ended by Segmentation fault   but std::map: true\n", printed)
    # It crashes about once in 100 inserts, whatever they are of: only they are left.
    before = int(re.findall(r"\.\.\. (\d+) operations before", printed)[0])
    assert before + len(re.findall(r"\n  insert\(.* true\n", printed)) < 100


@pytest.mark.parametrize(
    ("name", "words", "pattern"),
    [
        ("range_without_last", [], r"  insert\(.*\n  range\(.*  but std::map: "),
        (
            "range_misses_key",
            ["--keys", "9000", "--operations", "100000"],
            r"\d{4} elements.* but std::map: \d{4} elements",
        ),
        ("truncates_values", [], r"values of bytes"),
    ],
)
def test_a_difference_is_told_with_what_led_to_it(name: str, words: list[str], pattern: str) -> None:
    completed = rig("model", name, "--seed", "7", *words)
    assert completed.returncode == 1
    assert re.search(pattern, completed.stdout)
    assert completed.stdout.endswith("result=failed\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [("leaks", " MiB "), ("natarajan_leaks", " bytes allocated ")],
)
def test_a_leak_is_seen(name: str, words: str) -> None:
    completed = rig("memory", name, "--seed", "7", "--seconds", "10")  # until it is seen
    assert completed.returncode == 1
    assert words in completed.stdout + completed.stderr


def test_a_mistake_that_takes_a_long_delay_is_seen_with_high_randomness() -> None:
    completed = rig("stress", "reuses_places", "--randomness", "5", "--seconds", "200")  # until it is seen
    assert completed.returncode == 1
    assert "searches returned a value other than the key's" in completed.stdout


@pytest.mark.parametrize("check", ["linearizability", "owners"])
def test_a_sound_map_passes_with_high_randomness(check: str) -> None:
    completed = rig(check, "std_map_mutex", "--randomness", "5", "--seconds", "1", program="assay-rig")
    # How much it does in a second depends on the machine.
    assert completed.stdout.endswith(("result=passed\n", "result=incomplete\n")), completed
    assert completed.returncode == (2 if completed.stdout.endswith("incomplete\n") else 0)


def test_a_check_without_time_says_what_it_had_no_time_for() -> None:
    completed = rig("owners", "std_map_mutex", "--seconds", "0.000001", program="assay-rig")
    assert completed.returncode == 2
    assert re.search(r"^no time for 8 rounds: there were [1-7]$", completed.stdout, re.M)
    assert completed.stdout.endswith("result=incomplete\n")


@pytest.mark.parametrize(
    ("c", "words"),
    [("-1", "is -1: it must be from 0, none, to 10"), ("11", "is 11: it must"), ("wild", "--randomness")],
)
def test_randomness_that_there_is_not_ends_with_status_2(c: str, words: str) -> None:
    completed = rig("stress", "reuses_places", "--randomness", c)
    assert completed.returncode == 2
    assert words in completed.stderr


def test_where_there_is_nothing_to_check_nothing_is_said_to_have_passed() -> None:
    completed = rig("memory", "ticket_bst_leaking", program="assay-rig")
    assert completed.returncode == 0
    assert completed.stdout.endswith("operations=0 result=nothing_to_check\n")


def test_a_map_without_marks_has_its_threads_suspended_anywhere() -> None:
    completed = rig("progress", "std_map_mutex", program="assay-rig")
    assert completed.returncode == 0
    assert re.search(
        r"^anywhere, \d+ times: .* waits for the suspended thread, .* asleep$", completed.stdout, re.M
    )
    assert completed.stdout.endswith("result=passed\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing_of_the_kind", "did you mean"),
        ("noop", "nothing"),
        ("absl_btree_unsynchronised", "several threads"),
        ("elb_multimap", "a multimap"),
        ("elb_priority_queue", "a queue"),
    ],
)
def test_what_cannot_be_checked_ends_with_status_2(name: str, words: str) -> None:
    completed = rig("stress", name, program="assay-rig")
    assert completed.returncode == 2
    assert re.fullmatch(f"error: .*{name}.*{words}.*\n", completed.stderr)


def test_the_list_names_every_check() -> None:
    listed = rig("list", program="assay-rig").stdout
    assert "map=natarajan_mittal_bst threads=many lock_free=yes " in listed
    assert "checks=model,linearizability,owners,progress,stress,memory\n" in listed
    assert "multimap" not in listed
    shown = rig("--help", program="assay-rig").stdout
    for check in ("model", "linearizability", "owners", "progress", "stress", "memory"):
        assert f"  {check} " in shown


FAKE_RIG = """
    def say(seed, result):
        print(f"check={sys.argv[1]} map={sys.argv[2]} seed={seed} histories=2 operations=10 result={result}")

    if sys.argv[1] == "list":
        for name in ("sound", "slow", "wrong", "silent", "crashing", "unmarked"):
            print(f"map={name} threads=many lock_free=no checks=model,progress")
    elif sys.argv[1].startswith("--gtest"):
        print(sys.argv[1:])
    else:
        match sys.argv[2]:
            case "sound":
                say(1, "passed")
            case "wrong":
                say(1, "failed")
                sys.exit(1)
            case "crashing":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "unmarked":
                say(1, "nothing_to_check")
            case "slow":
                say(1, "incomplete")
                sys.exit(2)
"""


def fake(path: Path, code: str) -> Path:
    path.write_text(f"#!{sys.executable} -IS\nimport os, signal, sys, time\n{textwrap.dedent(code)}")
    path.chmod(0o755)
    return path


# Its time is the number of jobs that have ended, and so a minute is 60 of them, however fast the host is.
SOAK_BY_JOBS = """
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import SimpleNamespace
loader = SourceFileLoader("soak", sys.argv.pop(1))
soak = sys.modules["soak"] = module_from_spec(spec_from_loader("soak", loader))
loader.exec_module(soak)
ended = []
take_note = soak.Soak.take_note
soak.Soak.take_note = lambda self, outcome: (ended.append(outcome), take_note(self, outcome))
soak.time = SimpleNamespace(monotonic=lambda: len(ended))
sys.exit(soak.main())
"""


def soak(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", SOAK_BY_JOBS, SOAK, *words], capture_output=True, text=True, check=False
    )


def rows(printed: str) -> dict[str, list[str]]:
    lines = [line.replace(",", "").split() for line in printed.splitlines()]  # 1,870 as a number
    return {words[0]: words[1:] for words in lines if words}


def test_soaking_sums_up_every_map_and_program(tmp_path: Path) -> None:
    program = fake(tmp_path / "rig", FAKE_RIG)
    completed = soak(program, "--tests", program, "--minutes", "0.5")  # 30 jobs, more than two of each
    assert completed.returncode == 1
    sums = rows(completed.stdout)
    assert sums["map"] == [
        *("model", "linearizability", "owners", "progress", "stress", "memory"),
        *("histories", "operations", "failures"),
    ]
    model, linearizability, owners, progress, stress, memory, histories, operations, failures = map(
        int, sums["sound"]
    )
    assert (linearizability, owners, stress, memory, failures) == (0, 0, 0, 0, 0)
    assert model > 0
    assert progress > 0
    assert (histories, operations) == (2 * (model + progress), 10 * (model + progress))
    assert sums["unmarked"] == ["0"] * 9
    assert int(sums["slow"][0]) > 0
    assert sums["slow"][-1] == "0"
    for name in ("wrong", "silent", "crashing"):
        assert int(sums[name][-1]) == int(sums[name][0]) + int(sums[name][3]) > 0
    assert "ended by signal 11" in completed.stdout
    assert re.search(r"^failed.*/rig model wrong --seed \d+$", completed.stdout, re.M)
    assert re.match(
        r"in all: [\d,]+ runs, [\d,]+ histories, [\d,]+ operations, [\d,]+ failures$",
        completed.stdout.splitlines()[-1],
    )


def test_soaking_ends_well_if_nothing_failed(tmp_path: Path) -> None:
    tests = fake(tmp_path / "tests", "print(sys.argv)")
    completed = soak("--tests", tests, "--minutes", "0.1")
    assert completed.returncode == 0, completed.stdout
    assert int(rows(completed.stdout)[str(tests)][0]) > 0


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_soak_leaves_no_child_behind(tmp_path: Path, signum: signal.Signals) -> None:
    begun = tmp_path / "begun"  # several run at once: each adds its line to those of the others
    code = f"os.write(os.open({str(begun)!r}, os.O_WRONLY | os.O_APPEND), b'%d\\n' % os.getpid())"
    tests = fake(tmp_path / "tests", f"{code}\ntime.sleep(3600)")
    begun.touch()
    process = subprocess.Popen([sys.executable, SOAK, "--tests", tests], stdout=subprocess.PIPE, text=True)
    while not begun.read_text():
        time.sleep(0.01)
    process.send_signal(signum)
    printed, _ = process.communicate()
    assert process.returncode == 0
    assert "interrupted" in printed
    assert rows(printed)[str(tests)] == ["0", "0"]
    for child in map(int, begun.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
