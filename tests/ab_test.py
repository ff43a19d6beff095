"""`assay ab` and `assay bisect` in real git repositories, with real builds, trials and signals.

What is measured is a program that prints what it costs, so that the answers are certain on any host.
"""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from assay.campaign import time_budget
from assay.versions.testing import WITH_LOCAL_SUBMODULES, ExampleRepository
from conftest import Assay, Started, assay_in
from faults_test import alive, wait_until

pytestmark = pytest.mark.usefixtures("steady_host", "no_pages")

MAKEFILE = "all: bench\nbench: bench.c cost.h\n\t$(CC) -o $@ bench.c\n"
PROGRAM = r"""
#include <stdio.h>
#include "cost.h"
int main(int count, char **words) { (void)words; return printf("parse_ns=%d\n", count > 1 ? 50 : COST) < 0; }
"""
FILES = ("Makefile", "bench.c", "cost.h", ".gitignore")
MEASURED = ("--build", "make", "--metric", "parse_ns")


@pytest.fixture(autouse=True)
def few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_budget, "MOST_BLOCKS", 12)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have temporary folders made in one that is to be empty again at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert not [path for path in folder.iterdir() if path.name.startswith("assay-")]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ExampleRepository]:
    """Return a project with a real build, whose git and checkout are to stay as they are."""
    project = ExampleRepository(tmp_path / "project")
    files = {"Makefile": MAKEFILE, "bench.c": PROGRAM, "cost.h": cost(100)}
    project.commit("With a benchmark", **files, **{".gitignore": "bench\nresults\n"})
    project.git("tag", "v1")
    yield project
    assert not (project.root / ".git" / "worktrees").exists()


@pytest.fixture
def assay(project: ExampleRepository) -> Assay:
    return assay_in(project.root)


def cost(ns: int) -> str:
    return f"#define COST {ns}\n"


def told(assay: Assay, *words: str, expect: int = 0) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(assay(*words, "--json", expect=expect).stdout)
    return told


def test_a_slower_revision_is_found(assay: Assay, project: ExampleRepository) -> None:
    project.commit("Slow it down", **{"cost.h": cost(130)})
    before = project.everything()
    lines = assay("ab", "--base", "v1", "--head", "main", *MEASURED, "./bench", expect=1).stdout.splitlines()
    assert lines[0] == "slower: head takes 30.0% more parse time than base (+30.0% to +30.0%)"
    assert lines[2].split() == ["./bench", "100", "ns", "+30.0%", "+30.0%", "to", "+30.0%", "slower"]
    assert f"head: main ({project.git('rev-parse', '--short=10', 'main')}): Slow it down" in lines
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    after = project.everything()
    assert {path: text for path, text in after.items() if "results" not in path} == before
    assert project.git("status", "--short") == ""


def test_an_empty_commit_is_no_regression(assay: Assay, project: ExampleRepository) -> None:
    project.commit("Nothing")
    lines = assay("ab", "--base", "v1", *MEASURED, "./bench").stdout.splitlines()
    assert lines[0].startswith(
        "no regression, equivalent within 1%: head takes 0.0% more parse time than base"
    )
    assert "both have the same files: only how they were built can differ" in lines
    assert "the same bytes in both: bench" in lines


@pytest.mark.parametrize(("gate", "expect", "said"), [("50%", 0, "passed"), ("20%", 1, "failed")])
def test_a_gate_decides_the_exit_code(
    assay: Assay, project: ExampleRepository, gate: str, expect: int, said: str
) -> None:
    project.commit("Slow it down", **{"cost.h": cost(130)})
    answer = told(assay, "ab", "--base", "v1", "--gate", gate, *MEASURED, "./bench", expect=expect)
    assert answer["exit_code"] == expect
    assert [benchmark["gate"] for benchmark in answer["benchmarks"]] == [said]
    assert answer["gate_percent"] == float(gate.removesuffix("%"))


def test_what_is_not_committed_is_measured_and_said(assay: Assay, project: ExampleRepository) -> None:
    (project.root / "cost.h").write_text(cost(130))
    (project.root / "new").touch()
    before = project.everything()
    printed = assay("ab", "--base", "HEAD", *MEASURED, "./bench", expect=1).stdout
    assert re.search(r"\nhead: working tree \(\w{10}\) with 2 uncommitted changes: ", printed)
    shutil.rmtree(project.root / "results")
    assert project.everything() == before


def test_a_new_store_is_no_uncommitted_change(assay: Assay, project: ExampleRepository) -> None:
    project.commit("Keeps results", **{".gitignore": "bench\n"})
    assay("ab", "--base", "v1", *MEASURED, "./bench")
    assert project.git("status", "--short") == ""


def test_each_command_is_a_benchmark_for_the_comment_and_junit(
    assay: Assay, project: ExampleRepository
) -> None:
    project.commit("Slow it down", **{"cost.h": cost(130)})
    files = ("--markdown", "comment.md", "--junit", "junit.xml")
    words = ("ab", "--base", "v1", "--head", "main", "--gate", "2%", *MEASURED, *files)
    lines = assay(*words, "./bench", "./bench quick", expect=1).stdout.splitlines()
    assert lines[0] == "slower by more than 2%: 1 of 2 benchmarks: ./bench, +30.0% (+30.0% to +30.0%)"
    assert [line.split()[-1] for line in lines[1:4]] == ["2%", "failed", "passed"]
    comment = (project.root / "comment.md").read_text()
    assert comment.startswith("### ❌ Slower by more than 2%: 1 of 2 benchmarks: ./bench, +30.0%")
    assert "| ❌ | ./bench | 100 ns | 130 ns | +30.0% | +30.0% to +30.0% | failed |" in comment.replace(
        "&nbsp;", " "
    )
    assert "| ✅ | ./bench quick | 50 ns | 50 ns | 0.0% | " in comment.replace("&nbsp;", " ")
    suite = Xml.parse(project.root / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failed, passed = suite.findall("testcase")
    assert failed.get("name") == "./bench"
    assert failed.find("failure") is not None
    assert passed.find("failure") is None


EXPERIMENT = """
name = "costs"
[factors]
subject = ["bench", "quick"]
[design]
blocks = 12
[comparison]
metric = "parse_ns"
[subjects.bench]
program = "../bench"
names = ["bench"]
extract = "lines"
[subjects.quick]
program = "../bench"
arguments = ["quick"]
extract = "lines"
[ab]
build = "make"
"""


def test_every_condition_of_an_experiment_is_a_benchmark(assay: Assay, project: ExampleRepository) -> None:
    (project.root / "perf").mkdir()
    project.commit("Slow it down", **{"cost.h": cost(130), "perf/costs.toml": EXPERIMENT})
    answer = told(assay, "ab", "--base", "v1", "perf/costs.toml", expect=1)
    verdicts = {benchmark["name"]: benchmark["verdict"] for benchmark in answer["benchmarks"]}
    assert verdicts == {"bench": "slower", "quick": "equivalent"}
    assert "its worktree, of " in assay("store", "replay", "1", expect=2).stderr
    assert answer["answer"].startswith("slower: 1 of 2 benchmarks: bench, +30.0%")


def test_a_gate_of_an_experiment_needs_no_other_baseline_than_the_base(
    assay: Assay, project: ExampleRepository
) -> None:
    text = EXPERIMENT.replace('metric = "parse_ns"', 'metric = "parse_ns"\ngate_percent = 20')
    project.commit("Slow it down", **{"cost.h": cost(130), "costs.toml": text.replace("../bench", "./bench")})
    answer = told(assay, "ab", "--base", "v1", "costs.toml", expect=1)
    assert {of["name"]: of["gate"] for of in answer["benchmarks"]} == {"bench": "failed", "quick": "passed"}


def test_what_one_revision_lacks_is_left_out_and_said(assay: Assay, project: ExampleRepository) -> None:
    makefile = MAKEFILE.replace("all: bench", "all: bench other") + "other: bench\n\tcp bench other\n"
    project.commit("Another", **{"Makefile": makefile})
    printed = assay("ab", "--base", "v1", *MEASURED, "./bench", "./other").stdout
    assert "\nnew in head, so not compared: ./other\n" in printed
    printed = assay("ab", "--base", "main", "--head", "v1", *MEASURED, "./other", expect=3).stdout
    assert printed.startswith("nothing was compared: ./other is gone\n")


def test_what_fails_in_one_revision_is_not_decided(assay: Assay, project: ExampleRepository) -> None:
    project.commit("Break it", **{"bench.c": "int main(void) { return 7; }"})
    words = ("ab", "--base", "v1", *MEASURED, "--markdown", "comment.md", "./bench")
    printed = assay(*words, expect=3).stdout
    assert printed.startswith("nothing was compared: ./bench fails\n")
    assert "exited with 7" in printed
    assert "exited with 7" in (project.root / "comment.md").read_text()


def test_a_build_that_changes_tracked_files_is_said(assay: Assay, project: ExampleRepository) -> None:
    project.commit("Nothing")
    words = ("ab", "--base", "v1", "--build", "make; echo >> Makefile", "--metric", "parse_ns", "./bench")
    assert "\n  its build changed 1 tracked file: Makefile\n" in assay(*words).stdout
    assert project.git("status", "--short") == ""


REFUSED = [
    (["--base", "v1", "./bench"], "nothing here differs from --base v1"),
    (["--base", "v2", "--head", "main", "./bench"], "--base v2 and --head main are the same commit"),
    (["--base", "v3", "./bench"], 'there is no revision "v3" in '),
    (["--base", "HEAD~1", "--build", "exit 3", "./bench"], "does not build: the build"),
    (["--base", "HEAD~1", "./absent"], "absent is in no revision"),
    (["--base", "HEAD~1"], "nothing is to be measured; name an experiment's file or commands"),
    (["--base", "HEAD~1", "--catch2", "./t", "./bench"], "commands and --catch2 are measured one at a time"),
    (["--base", "HEAD~1", "--filter", "x", "./bench"], "--filter is for --google-benchmark and --catch2"),
    (
        ["--base", "HEAD~1", "--metric", "cost", "./bench"],
        "--metric cost: its name does not say which values",
    ),
    (["--base", "v1", "--head", "v2", "--metric", "pars_ns", *MEASURED[:2], "./bench"], "pars_ns; did you"),
    (["--base", "v1", "--head", "v2", "--within", "1ms", *MEASURED, "./bench"], "more time: --within "),
    (["--gate", "2%", "./bench"], "missing option '--base'"),
    (["--base", "HEAD~1", "--gate", "0", "./bench"], "--gate: 0 is too small"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_mistakes_are_refused_in_one_line(
    assay: Assay, project: ExampleRepository, words: list[str], message: str
) -> None:
    project.commit("Second")
    project.git("tag", "v2")
    project.git("checkout", "--quiet", "v1")
    ended = assay("ab", *words, expect=2)
    *_, last = ended.stderr.splitlines()
    assert last.startswith("error: ")
    assert message in last
    assert ended.stdout == ""


def test_no_git_and_no_repository_are_said(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    message = assay_in(outside)("ab", "--base", "main", "true", expect=2).stderr
    assert "is not in a git repository" in message
    monkeypatch.setenv("PATH", str(outside))
    assert "git is not on the PATH" in assay("ab", "--base", "main", "true", expect=2).stderr


def test_a_shallow_clone_is_told_apart_from_a_mistake(project: ExampleRepository, tmp_path: Path) -> None:
    project.commit("Second")
    clone = tmp_path / "clone"
    project.git("clone", "--quiet", "--depth=1", f"file://{project.root}", str(clone))
    message = assay_in(clone)("ab", "--base", "HEAD~1", "./bench", expect=2).stderr
    assert "shallow" in message
    assert "git fetch --unshallow" in message


def test_submodules_are_there(assay: Assay, project: ExampleRepository, tmp_path: Path) -> None:
    part = ExampleRepository(tmp_path / "part")
    part.commit("Cost", **{"cost.h": cost(100)})
    project.git("rm", "--quiet", "cost.h")
    (project.root / "bench.c").write_text(PROGRAM.replace("cost.h", "part/cost.h"))
    project.commit("Its cost is a part's", **{"Makefile": MAKEFILE.replace("cost.h", "part/cost.h")})
    project.add_submodule("part", part)
    part.commit("Slower", **{"cost.h": cost(130)})
    project.git("-C", "part", *WITH_LOCAL_SUBMODULES, "pull", "--quiet", "origin", "main")
    project.commit("With a slower part")
    answer = told(assay, "ab", "--base", "HEAD~1", *MEASURED, "./bench", expect=1)
    assert answer["answer"].startswith("slower: head takes 30.0% more parse time than base")


def history(
    project: ExampleRepository, culprit: int, commits: int, broken: tuple[int, ...] = ()
) -> list[str]:
    """Add commits, one of which makes it slower, and some of which do not build; return their hashes."""
    hashes = []
    for number in range(1, commits + 1):
        program = "broken" if number in broken else PROGRAM
        files = {"cost.h": cost(130 if number >= culprit else 100), "bench.c": program}
        hashes.append(project.commit(f"Change {number}", **files))
    return hashes


def test_the_commit_that_made_it_slower_is_found(assay: Assay, project: ExampleRepository) -> None:
    commit = history(project, 11, 16)[10]
    before = project.everything()
    ended = assay("bisect", "--good", "v1", *MEASURED, "./bench")
    lines = ended.stdout.splitlines()
    assert (
        lines[0]
        == f"{commit[:10]} made it slower: ./bench takes 30.0% more parse time than at v1 (+30.0% to +30.0%)"
    )
    assert re.fullmatch(rf"  {commit[:10]} Change 11 \(Ada, \d{{4}}-\d\d-\d\d\)", lines[1])
    assert lines[-1] == f"look at it: git show {commit[:10]}"
    steps = [line for line in ended.stderr.splitlines() if " of about " in line]
    assert len(steps) == 4
    assert steps[0].startswith("1 of about 4: ")
    after = project.everything()
    assert {path: text for path, text in after.items() if "results" not in path} == before


def merged(project: ExampleRepository, branch: str, **files: str) -> str:
    """Merge a branch into main, with these contents; return the merge."""
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "--no-ff", "--no-commit", "--strategy=ours", branch)
    return project.commit(f"Merge {branch}", **files)


@pytest.fixture
def forked(project: ExampleRepository) -> ExampleRepository:
    """Return a project of which a branch `side` forked while it was slow; v2 is fast again."""
    project.commit("Slow it down", **{"cost.h": cost(130)})
    project.git("branch", "side")
    project.commit("Mend it", **{"cost.h": cost(100)})
    project.git("tag", "v2")
    project.git("checkout", "--quiet", "side")
    project.commit("On the side 1", notes="1\n")
    project.commit("On the side 2", notes="2\n")
    return project


def test_a_branch_that_was_slow_before_is_not_blamed(assay: Assay, forked: ExampleRepository) -> None:
    merged(forked, "side", notes="2\n")
    culprit = forked.commit("Slow it down again", **{"cost.h": cost(130)})
    for number in range(3):
        forked.commit(f"Later {number}", notes=f"later {number}\n")
    answer = told(assay, "bisect", "--good", "v2", *MEASURED, "./bench")
    assert answer["named"]
    assert [suspect["revision"]["commit"] for suspect in answer["suspects"]] == [culprit]


def test_a_merge_that_brings_old_slowness_in_is_not_named_but_described(
    assay: Assay, forked: ExampleRepository
) -> None:
    side, fork = forked.git("rev-parse", "side"), forked.git("rev-parse", "side~2")
    merge = merged(forked, "side", **{"cost.h": cost(130)})
    forked.commit("Later", notes="later\n")
    answer = told(assay, "bisect", "--good", "v2", *MEASURED, "./bench", expect=3)
    assert not answer["named"]
    assert answer["answer"].startswith(f"no commit can be named: {side[:10]} is slower too, and no earlier")
    assert [suspect["revision"]["commit"] for suspect in answer["suspects"]] == [merge]
    assert [(one["parent"]["commit"], one["fork"]["commit"]) for one in answer["inherited"]] == [(side, fork)]
    reversal = {"slower": fork, "later": forked.git("rev-parse", "v2")}
    assert [{who: one["commit"] for who, one in pair.items()} for pair in answer["reversals"]] == [reversal]

    only = told(assay, "bisect", "--good", "v2", "--first-parent", *MEASURED, "./bench")
    assert only["answer"].startswith(f"{merge[:10]}, a merge, made it slower: ./bench takes 30.0% more")


def test_a_merge_is_named_where_each_of_its_parents_is_fast(assay: Assay, project: ExampleRepository) -> None:
    project.git("checkout", "--quiet", "-b", "side", "v1~1")
    project.commit(
        "With a benchmark, too", **{name: (project.git("show", f"v1:{name}") + "\n") for name in FILES}
    )
    project.git("checkout", "--quiet", "main")
    project.commit("On main", notes="main\n")
    merge = merged(project, "side", **{"cost.h": cost(130)})
    project.commit("Later", notes="later\n")
    lines = assay("bisect", "--good", "v1", *MEASURED, "./bench").stdout.splitlines()
    assert lines[0].startswith(f"{merge[:10]}, a merge, made it slower: ./bench takes 30.0% more parse time")
    assert "compared: it is slower, and none of its parents is" in lines


def test_commits_that_do_not_build_are_passed_over_and_may_hide_the_one(
    assay: Assay, project: ExampleRepository
) -> None:
    hashes = history(project, 4, 8, broken=(3, 4))
    answer = told(assay, "bisect", "--good", "v1", *MEASURED, "./bench", expect=3)
    assert [suspect["revision"]["commit"] for suspect in answer["suspects"]] == hashes[4:1:-1]
    assert [suspect["why"] for suspect in answer["suspects"]] == ["", *["it does not build"] * 2]
    assert answer["answer"].startswith("one of 3 commits made it slower, which cannot be told apart")


def test_without_a_slowdown_there_is_nothing_to_bisect(assay: Assay, project: ExampleRepository) -> None:
    history(project, 9, 4)
    lines = assay("bisect", "--good", "v1", *MEASURED, "./bench", expect=1).stdout.splitlines()
    assert lines[0].startswith("nothing to bisect: HEAD is not shown to be slower than v1: ./bench: 0.0%")
    (project.root / "cost.h").write_text(cost(150))


def test_a_bisection_against_a_gate(assay: Assay, project: ExampleRepository) -> None:
    history(project, 2, 3)
    words = ("bisect", "--good", "v1", *MEASURED)
    assert told(assay, *words, "--gate", "40%", "./bench", expect=1)["suspects"] == []
    assert told(assay, *words, "--gate", "20%", "./bench")["threshold_percent"] == 20


def test_ends_that_cannot_be_bisected(assay: Assay, project: ExampleRepository) -> None:
    project.commit("Second")
    assert "exchange them" in assay("bisect", "--good", "main", "--bad", "v1", "true", expect=2).stderr
    assert "same commit" in assay("bisect", "--good", "main", "--bad", "HEAD", "true", expect=2).stderr
    message = assay("bisect", "--good", "v1~1", *MEASURED, "./bench", expect=2).stderr
    assert "does not build" in message


# The first build, or the third trial, says who it is and then waits to be let go or killed.
WAITS = (
    "echo $$ >> {notes}; test $(wc -l < {notes}) -lt {at} || while ! test -e {notes}.go; do sleep 0.01; done"
)


@pytest.fixture(params=["build", "trial"])
def waiting(
    request: pytest.FixtureRequest, project: ExampleRepository, tmp_path: Path
) -> Iterator[tuple[Started, Path]]:
    """A real `assay ab` that waits in a build or in a trial, and where its processes leave their numbers."""
    project.commit("Second")
    notes = tmp_path / "notes"
    script = tmp_path / "waits"
    at = 1 if request.param == "build" else 5
    script.write_text(f"#!/bin/sh\n{WAITS.format(notes=notes, at=at)}\necho parse_ns=1\n")
    script.chmod(0o755)
    build = str(script) if request.param == "build" else "true"
    words = ("ab", "--base", "v1", "--build", build, "--metric", "parse_ns", str(script))
    runner = Started(project.root, *words)
    runner.start()
    try:
        wait_until(lambda: not runner.is_alive() or len(begun(notes)) == at)
        assert runner.is_alive(), runner.ended()
        yield runner, notes
    finally:
        runner.kill()
        runner.join()


def begun(notes: Path) -> list[int]:
    return [int(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def test_ctrl_c_leaves_nothing_behind(
    waiting: tuple[Started, Path], project: ExampleRepository, temporary: Path
) -> None:
    runner, notes = waiting
    assert runner.pid
    os.kill(runner.pid, signal.SIGINT)
    code, _, message = runner.ended()
    assert code == 130
    assert "stopped" in message
    assert "Traceback" not in message
    assert not alive(begun(notes)[-1])
    assert list(temporary.iterdir()) == []
    assert project.git("status", "--short").replace("?? printed.json", "") == ""


def test_kill_9_leaves_nothing_behind(
    waiting: tuple[Started, Path], project: ExampleRepository, temporary: Path
) -> None:
    runner, notes = waiting
    runner.kill()
    runner.join()
    wait_until(lambda: not alive(begun(notes)[-1]))
    wait_until(lambda: not (project.root / ".git" / "worktrees").exists())
    wait_until(lambda: not list(temporary.iterdir()))
    assert project.git("status", "--short") == ""


@pytest.mark.parametrize("waiting", ["trial"], indirect=True)
def test_a_campaign_that_was_stopped_is_resumed_in_new_worktrees(
    waiting: tuple[Started, Path], assay: Assay
) -> None:
    runner, notes = waiting
    assert runner.pid
    os.kill(runner.pid, signal.SIGINT)
    assert "resume --campaign 1" in runner.ended()[2]
    Path(f"{notes}.go").touch()
    [comparison] = told(assay, "resume")["analysis"]["comparisons"]
    assert comparison["verdict"] == "equivalent"


def test_commands_of_a_shell_are_linked_anew(assay: Assay, project: ExampleRepository) -> None:
    makefile = MAKEFILE.replace("-o $@ bench.c", "-ffunction-sections -c bench.c && $(CC) -o $@ bench.o")
    project.commit("Keep objects", **{"Makefile": makefile, ".gitignore": "bench\nbench.o\nresults\n"})
    project.commit("Slow it down", **{"cost.h": cost(130)})
    link = "cc -o {output} bench.o -B{lld} -fuse-ld=lld -Wl,--shuffle-sections='.text*={layout}'"
    words = ("ab", "--base", "HEAD~1", *MEASURED, "--link", link, "--shell", "--gate", "2%")
    printed = assay(*words, "{linked}", expect=1).stdout
    assert "one layout" not in printed
    said = assay(*words, "./bench", expect=2).stderr.splitlines()[-1]
    assert said == "error: --link: sh reads the commands; write {linked} where the program's name stands"


def test_a_revision_without_a_name_is_refused(assay: Assay) -> None:
    assert (
        "there is no revision"
        in assay("ab", "--base", "v1", "--head", "", *MEASURED, "./bench", expect=2).stderr
    )


def test_a_file_that_cannot_be_written_is_refused_before_the_builds(
    assay: Assay, project: ExampleRepository
) -> None:
    project.commit("Break it", Makefile="all:\n\tfalse\n")
    message = assay("ab", "--base", "v1", *MEASURED, "--junit", "/", "./bench", expect=2).stderr
    assert message.startswith("error: cannot write /")


SLEEP = str(10_000_000 + os.getpid())
"""Seconds that nobody else sleeps."""
DAEMON = f"#!/bin/sh\n[ -e quick ] && (setsid sleep {SLEEP} > /dev/null 2>&1 &)\necho parse_ns=$(cat cost)\n"


def daemons() -> list[str]:
    """Return the processes that the script DAEMON leaves behind."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found.append(path.read_text(errors="replace"))
    return [line for line in found if line == f"sleep\0{SLEEP}\0"]


def test_a_benchmark_that_leaves_a_process_behind_in_one_revision_has_no_verdict(
    assay: Assay, project: ExampleRepository
) -> None:
    project.commit("A script", **{"bench.sh": DAEMON, "cost": "100"})
    (project.root / "bench.sh").chmod(0o755)
    project.commit("Executable")
    project.git("tag", "v2")
    project.commit("Start a daemon", **{"quick": "", "cost": "50"})
    words = ("ab", "--base", "v2", "--head", "main", "--metric", "parse_ns", "./bench.sh")
    answer = told(assay, *words, expect=3)
    assert answer["benchmarks"] == []
    [left_out] = answer["left_out"]
    assert "head: ended while 1 process (sleep) that it had started still ran" in left_out["why"]
    assert not daemons()
    search = assay("bisect", "--good", "v2", "--bad", "main", *words[5:], expect=2)
    assert "ended while 1 process (sleep) that it had" in search.stderr
    assert not daemons()
