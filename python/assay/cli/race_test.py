"""`assay race`: the experiment that a command line is, and what it comes to with real processes."""

import os
import re
import signal
import stat
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assay.campaign import time_budget
from assay.cli import race as module
from assay.cli.commands import app
from assay.errors import AssayError
from assay.experiment import Experiment, load, made
from assay.experiment.race import Entrant, Race, needs_shell, race_tables
from assay.runner import local
from assay.store import Store

pytestmark = pytest.mark.usefixtures("steady_host")

# Speaks the protocol, and is always as fast as its subject says.
PROGRAM = """#!/bin/sh
case "$*" in *--list*) echo '[{"name": "quick"}, {"name": "slow"}, {"name": "broken"}]'; exit;; esac
read request
case $request in *broken*) exit 7;; *quick*) rate=300;; *) rate=200;; esac
echo '{"protocol": 1, "status": "valid", "metrics": {"throughput": '$rate'}}'
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assay.experiment.race.REPEAT_MS", 1)
    monkeypatch.setattr(time_budget, "MOST_BLOCKS", 8)
    monkeypatch.setattr(module, "SEVERAL_LOOKS", 0)
    program = tmp_path / "mine"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def race(*words: str, expect: int = 0) -> Result:
    ended = CliRunner().invoke(app, ["race", *words])
    if isinstance(ended.exception, AssayError):
        assert expect == 2, ended.exception
    else:
        assert ended.exit_code == expect, (ended.output, ended.exception)
    return ended


def refused(*words: str) -> str:
    """Return the message of a race that does not take place, and check that nothing was stored."""
    message = str(race(*words, expect=2).exception)
    assert "\n" not in message
    assert not Path("results/assay.sqlite").exists()
    return message


def stored() -> Experiment:
    with Store.open(Path("results/assay.sqlite"), create=False) as store:
        return store.experiment(store.campaign(None).id)


def test_subjects_of_a_program_are_raced_to_a_verdict() -> None:
    lines = race("./mine slow", "./mine quick").stdout.splitlines()
    assert lines[0] == "faster: quick is 1.500 times as fast as slow (1.500 to 1.500)"
    assert [line.split()[:3] for line in lines[1:3]] == [["slow", "200", "op/s"], ["quick", "300", "op/s"]]
    assert lines[-1].startswith("more: ")
    assert lines[-1].endswith("report --campaign 1")
    assert len(lines) <= 10
    experiment = stored()
    assert experiment.name == "race-slow-quick"
    assert experiment.factors == {"subject": ("slow", "quick")}
    assert experiment.design.end == "verdict"
    assert experiment.design.minutes is not None


def test_the_winner_is_named_first_whichever_is_the_baseline() -> None:
    lines = race("./mine quick", "./mine slow").stdout.splitlines()
    assert lines[0] == "faster: quick is 1.500 times as fast as slow (1.500 to 1.500)"


def test_two_of_the_same_are_equivalent() -> None:
    lines = race("./mine quick", "./mine quick").stdout.splitlines()
    assert lines[0] == "equivalent within 1%: quick (2) is 1.000 times as fast as quick (1.000 to 1.000)"


def test_each_context_has_its_answer() -> None:
    printed = race("./mine slow", "./mine quick", "--threads", "1,2", "--mix", "20/10/70", "--keys", "1e6")
    starts = [line.partition(":")[0] for line in printed.stdout.splitlines() if "faster" in line]
    assert starts == ["threads=1", "threads=2"]
    settings = stored().settings(stored().conditions()[0])
    assert settings["mix"] == {"insert": 20, "erase": 10, "find": 70}
    assert settings["key_range"] == 1_000_000


def test_what_is_saved_is_the_experiment_that_was_run(folder: Path) -> None:
    race("true {n}", "exec true {n} <mine", "--parameter", "n=1,2 b", "--save", "x.toml")
    saved = load(folder / "x.toml")
    ran = stored()
    assert saved.model_copy(update={"source": ""}) == ran.model_copy(update={"source": "", "made": False})
    assert saved.source == ran.source
    assert {program.path.name for program in saved.programs.values()} == {"sh"}
    assert ran.factors == {"entrant": ("true {n}", "exec true {n} <mine"), "n": ("1", "2 b")}
    assert "the file exists" in str(race("true", "true", "--save", "x.toml", expect=2).exception)


def test_what_is_saved_may_be_printed(folder: Path) -> None:
    ended = race("./mine slow", "./mine quick", "--save", "-")
    assert ended.stdout == stored().source
    assert "faster: quick is 1.500 times as fast" in ended.stderr
    assert not (folder / "-").exists()
    assert "both print" in str(race("true", "true", "--save", "-", "--json", expect=2).exception)


def test_commands_are_set_up_prepared_and_cleaned_up(folder: Path) -> None:
    (folder / "in").write_text("hello\n")
    steps = ["--setup", "echo s >> log", "--prepare", "echo p >> log", "--cleanup", "echo c >> log"]
    race("sh -c 'read x; test $x = hello'", "grep -q hello", "--input", "in", *steps)
    trials = 2 * (1 + 8)  # of the rehearsal, and of eight blocks
    assert (folder / "log").read_text().split() == ["s", *["p"] * trials, "c"]


def test_failures_are_counted_where_they_are_accepted() -> None:
    lines = race("false", "sh -c 'exit 3'", "--ignore-failure").stdout.splitlines()
    assert "run" in lines[1]
    assert "not valid" not in "".join(lines)


def test_what_is_not_a_speed_has_its_name() -> None:
    lines = race("true", "true", "--metric", "peak_memory").stdout.splitlines()
    # Either may be named first: in one race of twenty chance decides it.
    assert re.search(r"true( \(2\))? has .* times the peak memory of true", lines[0])
    assert re.search(r"\d [KM]iB \(\d", lines[1])


def test_a_race_that_is_stopped_says_what_it_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Store.record

    def record_and_stop(store: Store, campaign: int, ordinal: int, outcome: object) -> int:
        if ordinal == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return record(store, campaign, ordinal, outcome)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "record", record_and_stop)
    ended = race("./mine slow", "./mine quick", expect=130)
    assert "undecided: quick is 1.500 times as fast as slow" in ended.stdout
    assert "stopped: " in ended.stderr
    assert ended.stderr.rstrip().endswith(" resume --campaign 1")


def test_a_stop_in_the_rehearsal_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = local.judge

    def judge_and_stop(*arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        return judge(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(local, "judge", judge_and_stop)
    assert "nothing has been recorded" in race("./mine slow", "./mine quick", expect=130).stderr
    assert not Path("results/assay.sqlite").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bt_map"], "needs two entrants"),
        (["nothing_of_this_name", "true"], "there is no command nothing_of_this_name, nor a subject"),
        (["bt_mapp", "bt_map"], "did you mean bt_map?"),
        (["./absent", "true"], "there is no command ./absent"),
        (["true", ""], "a command is empty"),
        (["true 'a", "true"], "close the quotes"),
        (["bt_map", "true"], "true is a command and bt_map a subject"),
        (["bt_map", "noop", "--prepare", "x"], "--prepare is for commands, and bt_map is a subject"),
        (["true", "true", "--keys", "9"], "--keys is for subjects, and true is a command"),
        (["true", "true", "--metric", "tim"], "did you mean time?"),
        (["true", "true", "--parameter", "n=1"], "no command holds {n}"),
        (["true", "true", "--save", "no/x.toml"], "save it in this one: x.toml"),
        (["true", "true", "--save", "x.txt"], "ends in .toml"),
        (["./mine", "./mine quick"], "./mine has several subjects; name one: './mine broken'"),
        (["./mine quick", "./mine broken"], "broken: exited with 7"),
        (
            ["true", "false"],
            "false: exited with 1; correct it, or count it all the same with --ignore-failure",
        ),
        (
            ["sleep 9 & true", "true"],
            "sleep 9 & true: ended while 1 process (s",  # sleep, or still the shell that starts it
        ),
        (["(setsid sleep 9 &)", "true"], "or set wait_for_children (of a race: --wait-for-children)"),
        (["true", "no_such_command <mine"], "no_such_command <mine: exited with 127: "),
        (["echo a", "echo b", "--same-output"], "printed something else than echo "),
        (["true", "true", "--input", "absent"], "absent cannot be read: No such file"),
        (["true", "true", "--setup", "exit 3"], '"exit 3" in '),
        (["sleep 100", "true", "--within", "1s"], "give the race much more time: --within 20s"),
        (["bt_map", "noop", "--metric", "latency_range_p99_ns"], "no mix holds range"),
    ],
)
def test_what_cannot_be_raced_is_told_in_one_line(words: list[str], message: str) -> None:
    assert message in refused(*words)


def test_few_blocks_are_seen_once_and_use_all_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert module.design(9, 2.0, 21.0) == {"blocks": 10, "minutes": 0.35}
    assert module.design(10, 2.0, 24.0) == {"until": "verdict", "blocks": 10, "minutes": 0.4}


def test_too_little_time_is_told_with_the_time_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_budget, "FEWEST_BLOCKS", 100_000)
    message = refused("./mine slow", "./mine quick")
    assert re.search(
        r"a block, every entrant once, takes about [\d.]+ s, and a verdict takes at least 100,000 blocks",
        message,
    )
    assert re.search(r"--within \d+[hm]$", message)


def test_a_rehearsal_ends_when_it_has_shown_that_there_is_too_little_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SHORTEST_TRIAL_S", 0)
    values = ",".join(map(str, range(200)))
    words = ("echo {n} >> log; sleep 0.05", "echo {n} >> log", "--parameter", f"n={values}", "--within", "9s")
    assert "give it more time: --within " in refused(*words)
    assert len(set((folder / "log").read_text().split())) < 100


def test_a_race_of_too_many_entrants_for_its_time_is_refused_at_once(folder: Path) -> None:
    values = ",".join(map(str, range(100)))
    parameters = ("--parameter", f"n={values}", "--parameter", f"m={values}")
    message = refused("echo {n} {m} >> log", "echo {n}", *parameters, "--within", "10s")
    assert re.search(r"takes about 50 minutes, .* give it more time: --within \d+h$", message)
    assert not (folder / "log").exists()


def test_the_time_that_a_slow_start_takes_is_in_the_time_that_is_advised() -> None:
    check = time_budget.cut(6, time.monotonic() + 1, "every entrant once", before_s=9)
    with pytest.raises(time_budget.TooLittleTimeError, match=r"--within 12s$"):
        check(0.3, 0.3)


def test_cleanups_run_after_a_rehearsal_that_failed(folder: Path) -> None:
    refused("true", "false", "--cleanup", "echo c >> log")
    assert (folder / "log").read_text() == "c\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--within", "5x"], "write 60s, 500ms, 5m or 1h"),
        (["--mix", "20/10/60"], "is not a mix"),
        (["--mix", "20/10"], "is not a mix"),
        (["--threads", "1.5"], "not a whole number"),
        (["--parameter", "size"], "write NAME=VALUE,VALUE"),
    ],
)
def test_options_that_are_written_wrongly_are_explained(options: list[str], message: str) -> None:
    assert message in race("true", "true", *options, expect=2).stderr


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("gzip -6 <f", True),
        ("a | b", True),
        ("a && b", True),
        ("echo $HOME", True),
        ('echo "$HOME"', True),
        ("ls *.c", True),
        ("X=1 a", True),
        ("cat ~/f", True),
        ("echo '$HOME' \\$ \"a|b\" 'a<b'", False),
        ('echo "\\$HOME"', False),
        ("sort --key=2 -o/dev/null a~b", False),
        ("awk '{ print $1 }' f", False),
    ],
)
def test_a_shell_reads_a_command_where_it_holds_what_only_a_shell_understands(
    command: str, needs: bool
) -> None:
    assert needs_shell(command) is needs


def commands(*words: str, shell: bool | None = None, **parameters: list[str]) -> Experiment:
    entrants = [Entrant(text, command=True) for text in words]
    asked = Race(entrants, "wall_ms", "lower", parameters=parameters, shell=shell)
    return made(race_tables(asked, ["sleep"], {"blocks": 8}), Path("race.toml"))


def test_commands_become_programs_with_their_arguments() -> None:
    experiment = commands("sleep '1 2' {n}", "awk '{ print {n} }'", n=["1", "0.5", "007"])
    assert [program.arguments for program in experiment.programs.values()] == [
        ("1 2", "{n}"),
        ("{{ print {n} }",),
    ]
    assert list(experiment.programs) == ["sleep_2", "awk"]
    values = [experiment.settings(condition)["parameters"]["n"] for condition in experiment.conditions()[:3]]
    assert values == [1, 0.5, "007"]


def test_a_shell_reads_all_commands_or_none() -> None:
    experiment = commands("true", "true <f")
    assert [program.arguments for program in experiment.programs.values()] == [
        ("-c", "true"),
        ("-c", "true <f"),
    ]
    assert [program.arguments for program in commands("echo a", "echo *", shell=False).programs.values()] == [
        ("a",),
        ("*",),
    ]


def test_names_of_any_kind_are_told_apart() -> None:
    experiment = commands('echo "ä\x7f\\"', "echo  a", "echo a", "echo\na", "7z a", shell=True)
    assert list(experiment.factors["entrant"]) == [
        'echo "ä\\x7f\\"',
        "echo a",
        "echo a (2)",
        "echo a (3)",
        "7z a",
    ]
    assert list(experiment.programs) == ["echo", "echo_2", "echo_3", "echo_4", "command_7z"]
    assert experiment.name == "race-echo-command_7z"
