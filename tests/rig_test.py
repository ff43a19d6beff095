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


@pytest.mark.parametrize("check", ["model", "progress", "stress", "memory"])
def test_a_map_that_deadlocks_ends_every_check_with_status_3(check: str) -> None:
    ended = rig(check, "deadlocks", "--seed", "7", patience_s=1)
    assert ended.returncode == 3
    assert ended.stdout.startswith(f"check={check} map=deadlocks seed=7\n")
    assert "deadlocks" in ended.stderr
    assert "seed 7" in ended.stderr
    if check != "stress":  # the trial loop does not tell what each of its threads does
        assert re.search(r"thread.* is inside (insert|erase|find)\(", ended.stderr)


@pytest.mark.parametrize("check", ["model", "progress", "stress", "memory"])
def test_what_a_map_throws_is_a_failure_of_the_map(check: str) -> None:
    ended = rig(check, "throws", "--seed", "7")
    assert ended.returncode == 1
    assert ended.stdout.startswith(f"check={check} map=throws seed=7\n")
    assert "insert failed on purpose" in ended.stdout + ended.stderr


def test_the_seed_is_known_of_a_map_that_crashes() -> None:
    ended = rig("model", "crashes", "--seed", "7")
    assert ended.returncode == -signal.SIGSEGV
    assert ended.stdout == "check=model map=crashes seed=7\n"


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("range_without_last", [], r"  insert\(.*\n  range\(.*  but std::map: "),
        (
            "range_misses_key",
            ["--keys", "9000", "--operations", "30000"],
            r"1999 elements.* but std::map: 2000 elements",
        ),
        ("truncates_values", [], r"values of bytes"),
    ],
)
def test_a_difference_is_told_with_what_led_to_it(name: str, words: list[str], said: str) -> None:
    ended = rig("model", name, "--seed", "7", *words)
    assert ended.returncode == 1
    assert re.search(said, ended.stdout)
    assert ended.stdout.endswith("result=failed\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [("leaks", "MiB of memory"), ("natarajan_leaks", "bytes allocated after a map was destroyed")],
)
def test_a_leak_is_seen(name: str, said: str) -> None:
    ended = rig("memory", name, "--seed", "7")
    assert ended.returncode == 1
    assert said in ended.stdout + ended.stderr


def test_where_there_is_nothing_to_check_nothing_is_said_to_have_passed() -> None:
    for words in (["progress", "std_map_mutex"], ["memory", "ticket_bst_leaking"]):
        ended = rig(*words, program="assay-rig")
        assert ended.returncode == 0
        assert ended.stdout.endswith("operations=0 result=nothing_to_check\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing_of_the_kind", 'subject: there is no "nothing_of_the_kind"; did you mean'),
        ("noop", "noop holds nothing"),
        ("absl_btree_unsynchronised", "absl_btree_unsynchronised is not a map for several threads"),
        ("elb_multimap", "elb_multimap is a multimap"),
        ("elb_priority_queue", "elb_priority_queue is a queue"),
    ],
)
def test_what_cannot_be_checked_ends_with_status_2(name: str, said: str) -> None:
    ended = rig("stress", name, program="assay-rig")
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: {said}")


def test_the_list_names_every_check() -> None:
    listed = rig("list", program="assay-rig").stdout
    assert "map=natarajan_mittal_bst threads=many lock_free=yes " in listed
    assert "checks=model,linearizability,progress,stress,memory\n" in listed
    assert "multimap" not in listed
    shown = rig("--help", program="assay-rig").stdout
    for check in ("model", "linearizability", "progress", "stress", "memory"):
        assert f"  {check} " in shown


FAKE_RIG = """
    def say(seed, result):
        print(f"check={sys.argv[1]} map={sys.argv[2]} seed={seed} histories=2 operations=10 result={result}")

    if sys.argv[1] == "list":
        for name in ("sound", "wrong", "silent", "crashing", "unmarked"):
            print(f"map={name} threads=many lock_free=no checks=model,progress")
    elif sys.argv[1].startswith("--gtest"):
        print(sys.argv[1:])
    else:
        time.sleep(0.02)
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
"""


def fake(path: Path, code: str) -> Path:
    path.write_text(f"#!{sys.executable} -IS\nimport os, signal, sys, time\n{textwrap.dedent(code)}")
    path.chmod(0o755)
    return path


def soak(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, SOAK, *words], capture_output=True, text=True, check=False, timeout=60
    )


def rows(printed: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in printed.splitlines() if line.strip()}


def test_soaking_sums_up_every_map_and_program(tmp_path: Path) -> None:
    program = fake(tmp_path / "rig", FAKE_RIG)
    ended = soak(program, "--tests", program, "--minutes", "0.02")
    assert ended.returncode == 1
    found = rows(ended.stdout)
    assert found["map"] == [
        *("model", "linearizability", "progress", "stress", "memory"),
        *("histories", "operations", "failures"),
    ]
    model, linearizability, progress, stress, memory, histories, operations, failures = map(
        int, found["sound"]
    )
    assert (linearizability, stress, memory, failures) == (0, 0, 0, 0)
    assert model > 0
    assert progress > 0
    assert (histories, operations) == (2 * (model + progress), 10 * (model + progress))
    assert found["unmarked"] == ["0"] * 8
    for name in ("wrong", "silent", "crashing"):
        assert int(found[name][-1]) == int(found[name][0]) + int(found[name][2]) > 0
    assert "ended by signal 11" in ended.stdout
    assert re.search(r"^failed; run it again: .*/rig model wrong --seed \d+ --operations", ended.stdout, re.M)
    assert re.match(
        r"in all: \d+ runs, \d+ histories, \d+ operations, \d+ failures$", ended.stdout.splitlines()[-1]
    )


def test_soaking_ends_well_if_nothing_failed(tmp_path: Path) -> None:
    tests = fake(tmp_path / "tests", "print(sys.argv)")
    ended = soak("--tests", tests, "--minutes", "0.01")
    assert ended.returncode == 0, ended.stdout
    assert int(rows(ended.stdout)[str(tests)][0]) > 0


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_soak_leaves_no_child_behind(tmp_path: Path, asked: signal.Signals) -> None:
    begun = tmp_path / "begun"
    tests = fake(tmp_path / "tests", f"open({str(begun)!r}, 'w').write(str(os.getpid()))\ntime.sleep(3600)")
    process = subprocess.Popen([sys.executable, SOAK, "--tests", tests], stdout=subprocess.PIPE, text=True)
    while not begun.exists() or not begun.read_text():
        time.sleep(0.01)
    process.send_signal(asked)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "interrupted: the summary so far" in printed
    assert rows(printed)[str(tests)] == ["0", "0"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
