"""`assay check` on small programs that do what a rig program may do."""

import json
import os
import re
import signal
import sys
import textwrap
from pathlib import Path
from shlex import quote
from typing import Any, cast

import pytest
from typer.testing import CliRunner, Result

from assay.cli.commands import app
from assay.runner.process import Ended
from assay_rig import checks as rig

RIG = """
    checks = {"sound": "model,stress", "wrong": "model,stress", "one": "model", "lost": "lost"}
    checks |= {"odd": "crash,hang,bare,refuse,empty", "broken": "model,stress", "noisy": "model,owners"}
    checks |= {"slow": "model,stress"}
    if sys.argv[1] == "list":
        for name, offered in checks.items():
            print(f"map={name} threads=many lock_free=no checks={offered}")
        sys.exit()
    check, name, _, seed, _, seconds, *more = sys.argv[1:]
    assert float(seconds) > 0
    assert more in ([], ["--randomness", "5"])
    print(f"check={check} map={name} seed={seed}", flush=True)

    def end(result, code):
        print(f"check={check} map={name} seed={seed} histories=3 operations=1200000 result={result}")
        sys.exit(code)

    match check if name == "odd" else name:
        case "wrong" if check == "stress":
            print("1 key is missing. The first is 7:\\n" + "  line\\n" * 30)
            print("word " * 20)
            print("  ns   thread 0" + " " * 80 + "thread 1\\n   0" + " " * 80 + "┌ erase(1)")
            end("failed", 1)
        case "broken":
            print("  line\\n" * 30)
            end("failed", 1)
        case "noisy":
            print("from the map")
        case "sound" if more:
            print("delays")
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            print("error: all threads wait:\\n  a thread is inside insert(3)", file=sys.stderr)
            sys.exit(3)
        case "lost":
            time.sleep(3600)
        case "bare":
            print("\\033[1mERROR\\nSUMMARY: AddressSanitizer: heap-use-after-free my.cpp:7", file=sys.stderr)
            sys.exit(1)
        case "slow" if check == "stress":
            print("no time for 7000 operations: there were 12")
            end("incomplete", 2)
        case "refuse":
            print("error: there is no judge", file=sys.stderr)
            sys.exit(2)
        case "empty":
            print(f"no marks, patience {os.environ.get('ASSAY_RIG_PATIENCE')}")
            end("nothing_to_check", 0)
    end("passed", 0)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_RIG_PATIENCE", raising=False)
    path = tmp_path / "rig"
    path.write_text(f"#!{sys.executable} -IS\nimport os, signal, sys, time\n{textwrap.dedent(RIG)}")
    path.chmod(0o755)
    return path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["check", *words], env={"COLUMNS": "80"})


def checked(program: Path, *words: str, expect: int = 0) -> dict[str, Any]:
    ended = run(*words, "--program", str(program), "--json", "--seed", "7")
    assert ended.exit_code == expect, ended.output
    printed: dict[str, Any] = json.loads(ended.stdout)
    return printed


def test_what_each_check_did_comes_first_then_the_answer(program: Path) -> None:
    ended = run("sound", "--program", str(program), "--seed", "7")
    assert ended.exit_code == 0
    lines = ended.stdout.splitlines()
    assert lines[0].split() == ["check", "what", "it", "did", "what", "it", "found"]
    begun = [line.split()[0] for line in lines[1:] if line[:1].strip()]
    assert begun[:3] == ["model", "stress", "sound:"]
    assert "\n\nsound: no mistake found (seed 7)\n" in ended.stdout
    assert "3 histories, 1.2M" in ended.stdout
    assert "--within 10m" in lines[-2]
    assert "--randomness 5" in lines[-1]


def test_a_failure_is_shown_whole_with_the_command_that_repeats_it(program: Path) -> None:
    ended = run("wrong", "--program", str(program), "--seed", "7", "--within", "600ms")
    assert ended.exit_code == 1
    assert "\n\nwrong: stress failed (seed 7)\n" in ended.stdout
    assert "FAILED: 1 key is missing" in ended.stdout
    assert ended.stdout.count("    line\n") == 30
    assert f"\n  {' '.join(['word'] * 15)}\n  {' '.join(['word'] * 5)}\n" in ended.stdout
    assert f"  ns   thread 0{' ' * 80}thread 1\n" in ended.stdout
    assert f"   0{' ' * 80}┌ erase(1)\n" in ended.stdout
    again = ended.stdout.splitlines()[-1]
    assert again.startswith("again: ")
    named = f"check wrong --program {quote(str(program))}"
    assert again.endswith(f"{named} --check stress --within 0.6s --seed 7")
    assert checked(program, "wrong", "--check", "model")["checks"][0]["result"] == "passed"


def test_high_randomness_is_for_the_checks_that_delay_threads(program: Path) -> None:
    made = checked(program, "sound", "--randomness", "5")
    assert made["randomness"] == 5
    assert [(one["check"], one["text"]) for one in made["checks"]] == [("stress", "delays")]
    assert " --randomness 5 " in made["checks"][0]["again"]
    assert checked(program, "sound")["randomness"] is None
    for words, said in (
        (["sound", "--check", "model"], "model delays no threads; linearizability, owners and stress do"),
        (["one"], "no check of one delays threads"),
    ):
        refused = run(*words, "--randomness", "5", "--program", str(program))
        assert said in str(refused.exception)
    assert run("sound", "--randomness", "11", "--program", str(program)).exit_code == 2


def test_of_several_failures_each_shows_its_beginning(program: Path) -> None:
    shown = run("broken", "--program", str(program)).stdout
    assert shown.count("    line\n") == 24
    assert shown.count("... and 18 more lines, which the next command shows") == 2


def test_a_row_is_printed_as_soon_as_its_check_has_ended(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = rig.run_checks
    shown: list[str] = []

    def observed(*arguments: Any, **named: Any) -> Any:
        for outcome in outcomes(*arguments, **named):
            shown.append(cast("Any", sys.stdout).buffer.getvalue().decode())
            yield outcome

    monkeypatch.setattr("assay_rig.checks.run_checks", observed)
    run("sound", "--program", str(program))
    assert ["model" in printed for printed in shown] == [False, True]
    shown.clear()
    checked(program, "sound")
    assert shown == ["", ""]


def test_after_a_hang_the_others_are_given_up_earlier(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def patience(*checks: str) -> str:
        chosen = [word for check in checks for word in ("--check", check)]
        said = checked(program, "odd", *chosen, expect=len(checks) - 1)["checks"][-1]["found"]
        return str(said).removeprefix("no marks, patience ")

    assert patience("empty") == "None"
    assert patience("hang", "empty") == "3"
    monkeypatch.setenv("ASSAY_RIG_PATIENCE", "20")
    assert patience("hang", "empty") == "20"


def test_a_map_that_prints_to_standard_output_is_told(program: Path) -> None:
    found = {entry["check"]: entry["found"] for entry in checked(program, "noisy")["checks"]}
    assert found == {"model": "it prints to standard output", "owners": ""}  # which prints by itself
    shown = run("noisy", "--program", str(program)).stdout
    assert "\nnoisy prints to standard output, which belongs to the result of a trial" in shown


def test_a_check_that_does_not_end_is_killed(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig, "GRACE_S", 0.1)
    [outcome] = checked(program, "lost", "--within", "60ms", expect=1)["checks"]
    assert (outcome["result"], outcome["exit_code"]) == ("failed", None)
    assert outcome["found"].startswith("did not end in ")
    shown = run("lost", "--program", str(program), "--within", "60ms")
    assert "\nlost: did not end in " in shown.stdout, shown.output


def test_whatever_a_check_does_the_others_run(program: Path) -> None:
    printed = checked(program, "odd", expect=1)
    assert printed["map"] == "odd"
    found = {
        entry["check"]: (entry["result"], entry["exit_code"], entry["found"]) for entry in printed["checks"]
    }
    assert found == {
        "crash": ("failed", -signal.SIGSEGV, "crashed: Segmentation fault (signal 11)"),
        "hang": ("failed", 3, "all threads wait"),
        "bare": ("failed", 1, "AddressSanitizer: heap-use-after-free my.cpp:7"),
        "refuse": ("not_checked", 2, "there is no judge"),
        "empty": ("nothing_to_check", 0, "no marks, patience 3"),
    }
    shown = run("odd", "--check", "refuse", "--check", "bare", "--program", str(program)).stdout
    assert "\nodd: bare failed; refuse could not be made (seed " in shown
    assert "\033" not in shown


def test_what_there_was_no_time_for_is_not_called_free_of_mistakes(program: Path) -> None:
    ended = run("slow", "--program", str(program), "--seed", "7")
    assert ended.exit_code == 1
    assert "no mistake found" not in ended.stdout
    assert "slow: stress found no mistake so far, but had too little time (seed 7)\n" in ended.stdout
    assert ended.stdout.endswith(f"check slow --program {quote(str(program))} --check stress --within 3m\n")
    stress = checked(program, "slow", expect=1)["checks"][-1]
    assert (stress["result"], stress["exit_code"]) == ("incomplete", 2)
    assert stress["found"] == "no time for 7000 operations: there were 12"


def test_an_interrupt_ends_with_the_table_so_far(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = rig.run_checks

    def interrupted(*arguments: Any, **named: Any) -> Any:
        running = outcomes(*arguments, **named)
        yield next(running)
        os.kill(os.getpid(), signal.SIGINT)
        yield from running

    monkeypatch.setattr("assay_rig.checks.run_checks", interrupted)
    ended = run("sound", "--program", str(program))
    assert ended.exit_code == 128 + signal.SIGINT
    assert "sound: stress not run: interrupted" in ended.stdout
    assert "1.2M" in ended.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["soun", "--program", "rig"], "rig has no map soun; did you mean sound?"),
        (["one", "--program", "rig", "--check", "stress"], "one has no check stress; there is only model"),
        (["one", "--program", "rig", "--check", "modle"], "one has no check modle; did you mean model?"),
        (["one", "--program", "rig", "--sanitizer", "thread"], "leave out --sanitizer"),
        (["one", "--program", "none"], "none cannot be started: No such file"),
        (["std_map_mutx"], "there is no map std_map_mutx: .* did you mean std_map_mutex?"),
        (["noop"], "there is no map noop: "),
        (["std_map_mutex", "--sanitizer", "thread"], "one of Assay's"),
        (["min"], "did you mean mine?"),
        (["mine"], "experiment.toml describes mine, but there is no CMakeLists.txt"),
        (["mine", "--directory", "none"], "--directory: there is no folder none"),
        (["mine", "--directory", "empty"], "--directory: there is no experiment.toml in empty"),
        (
            ["mine", "--directory", "more"],
            "more/experiment.toml describes no map mine; there are more",
        ),
        (["second"], "second is described in more/experiment.toml: .*check second --directory more$"),
        (["secnd"], "no map secnd: .* did you mean second\\? .*check second --directory more$"),
        (["experiment.toml"], "is not a map but an experiment's file: .*plan experiment.toml --audit looks"),
        (["mor"], "no map mor: .* did you mean more\\?$"),
    ],
)
def test_what_cannot_be_checked_is_said_in_a_line(program: Path, words: list[str], why: str) -> None:
    Path("experiment.toml").write_text("[subjects.mine]\nprogram = 'build/subject'\n")
    Path("empty").mkdir()
    Path("more").mkdir()
    described = "[subjects.more]\nprogram = 'build/subject'\nnames = ['more', 'second']\n"
    Path("more/experiment.toml").write_text(described)
    ended = run(*words)
    assert ended.exit_code != 0
    message = str(ended.exception)
    assert "\n" not in message
    assert re.search(why, message)


def test_of_a_sanitizers_report_the_frames_in_the_map_are_shown() -> None:
    report = """
    Write of size 8 at 0x7b2c00005888 by thread T8:
      #0 std::map<int, int>::insert(int) /usr/include/c++/12/bits/map.h:7 (subject-rig+0x1)
      #1 my_map::insert(unsigned long, unsigned long) /home/me/my_map/my_map.cpp:32 (subject-rig+0x2)
      #2 perform /opt/share/assay/native/assay/trial/worker.cpp:76 (subject-rig+0x3)
      #3 <null> <null> (libstdc++.so.6+0xd44a2)
      #4 0x55f77a13dfd5 in operator() /opt/share/assay/native/assay/trial/run.cpp:220
    SUMMARY: ThreadSanitizer: data race (/home/me/subject-rig+0x1) in std::map<int, int>::insert(int)
    """
    lines = textwrap.dedent(report).strip().splitlines()
    assert [line.split()[0] for line in rig.readable(lines, "subject-rig")] == ["Write", "#1", "SUMMARY:"]
    ended = Ended(66, b"check=stress map=my_map seed=7\n", "\n".join(lines).encode(), False, 1.0)
    place = "my_map::insert(unsigned long, unsigned long), my_map.cpp:32"
    assert rig.outcome_of("stress", ended, 60).found == f"ThreadSanitizer: data race in {place}"


def test_a_frame_of_the_map_without_a_line_is_shown_and_no_heading_without_frames() -> None:
    report = """
    READ of size 8 at 0x602000005110 thread T4
        #0 0x1 in uaf::find(unsigned long) /home/me/uaf.cpp:6

    freed by thread T3 here:
        #0 0x2 in operator delete(void*, unsigned long) ../../src/asan_new_delete.cpp:164
        #1 0x3 in uaf::erase(unsigned long) (/home/me/build/address/subject-rig+0x6e8c21) (BuildId: 0123abcd)
        #2 0x4 in bool assay::plain_handle<uaf>::erase<int>(int const&) (/home/me/subject-rig+0x7)
        #3 0x5 in void std::__invoke<void, uaf::make()::{lambda()#1}>(int) const (/home/me/subject-rig+0x8)
        #4 0x6 in uaf::clear() const [clone .cold] (/home/me/subject-rig+0xa)

    previously allocated by thread T5 here:
        #0 0x6 in operator new(unsigned long) (/home/me/subject-rig+0x9)
        #1 0x7 in std::thread::_M_start_thread(void (*)()) (/lib/libstdc++.so.6+0xd4578)

    Thread T4 created by T0 here:
        #0 (anonymous namespace)::node* uaf::start<int>((anonymous namespace)::node*) <null> (subject-rig+0x1)
        #1 main <null> (subject-rig+0x2)
        #2 theirs::run(int) <null> (theirs.so+0x2)

    SUMMARY: AddressSanitizer: heap-use-after-free /home/me/uaf.cpp:6 in uaf::find(unsigned long)
    Shadow bytes around the buggy address:
    """
    shown = rig.readable(textwrap.dedent(report).strip().splitlines(), "subject-rig")
    assert [" ".join(line.split()[:4]) for line in shown] == [
        "READ of size 8",
        "#0 0x1 in uaf::find(unsigned",
        "",
        "freed by thread T3",
        "#1 0x3 in uaf::erase(unsigned",
        "#4 0x6 in uaf::clear()",
        "",
        "Thread T4 created by",
        "#0 (anonymous namespace)::node* uaf::start<int>((anonymous",
        "",
        "SUMMARY: AddressSanitizer: heap-use-after-free /home/me/uaf.cpp:6",
    ]
