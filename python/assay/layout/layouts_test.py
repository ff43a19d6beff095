"""Small programs linked in several layouts: what changes, what stays, and what goes wrong."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment, load
from assay.layout import Layouts
from assay.layout.link import LINKERS, RECORD, lld
from assay.plan.make_plan import make_plan, repeat_group, without_layouts
from assay.plan.types import LAYOUT, PlannedTrial
from assay.runner.elf import build_id
from assay.runner.process import CannotStartError

FUNCTIONS = [f"function_{number}" for number in range(12)]
SOURCE = f"""
#include <stdio.h>
{"".join(f"int {name}(int x) {{ return x * {number} + 1; }}" for number, name in enumerate(FUNCTIONS))}
int variable_0 = 1, variable_1 = 2, variable_2 = 3, zero_0, zero_1, zero_2;
_Alignas(64) int aligned_64 = 4;
_Alignas(4096) char aligned_4096[10];
int main(void) {{
  int sum = variable_0 + variable_1 + variable_2 + zero_0 + zero_1 + zero_2 + aligned_64 + aligned_4096[1];
  {"".join(f"sum += {name}(sum % 100);" for name in FUNCTIONS)}
  printf("sum=%d\\n", sum);
}}
"""

BRANCHES = """
#include <cstdio>
extern "C" __attribute__((noinline)) int branches(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) {
    if (i % 3 == 0) sum += i * 7;
    else if (i % 5 == 0) sum ^= i << 2;
    else sum -= i;
    if (sum > 1000) throw sum;
  }
  return sum;
}
int main() {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) try { sum += branches(i); } catch (int large) { sum ^= large; }
  std::printf("sum=%d\\n", sum);
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program, how it was linked, and the object that it was made of."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "sum.c").write_text(SOURCE)
    options = ["-O1", "-fno-inline", "-ffunction-sections", "-fdata-sections"]
    subprocess.run(["gcc", *options, "-c", "sum.c"], cwd=folder, check=True)
    record = f"-Wl,--reproduce=sum{RECORD}"
    subprocess.run(["gcc", "-o", "sum", "sum.o", *with_lld(), record], cwd=folder, check=True)
    return folder


def with_lld() -> list[str]:
    linker = lld()
    assert linker
    return [f"-B{Path(linker).resolve().parent}", "-fuse-ld=lld"]


@pytest.fixture
def folder(tmp_path: Path, built: Path) -> Path:
    """Return a copy of that folder."""
    return Path(shutil.copytree(built, tmp_path / "folder"))


def experiment(folder: Path, link: str = "", *, arguments: str = "", layout: bool = True) -> Experiment:
    """Return an experiment about the program, whose table of [subjects] says how it is linked."""
    (folder / "x.toml").write_text(
        f"""
[factors]
subject = ["one", "other"]
[design]
blocks = 6
[perturb]
layout = {json.dumps(layout)}
[subjects.sums]
program = "./sum"
names = ["one", "other"]
extract = "lines"
{f"link = {json.dumps(link)}" if link else ""}
{arguments}
[comparison]
metric = "sum"
better = "lower"
"""
    )
    return load(folder / "x.toml")


def link_command(more: str = "-Wl,--shuffle-sections=.*={layout}") -> str:
    return f"gcc -o {{output}} sum.o {' '.join(with_lld())} -Wl,--build-id=sha1 {more}"


def trials_of(planned: Experiment) -> tuple[PlannedTrial, ...]:
    plan = make_plan(planned, 1, lambda subject: str(planned.programs[subject].path), 1000)
    return plan.trials


def layouts_of(planned: Experiment) -> Layouts:
    return Layouts(planned, print)


def symbols(program: Path) -> dict[str, int]:
    """Return name -> address, in the order of addresses."""
    printed = subprocess.run(["nm", "-n", program], capture_output=True, check=True, text=True).stdout
    lines = [line.split() for line in printed.splitlines()]
    return {line[2]: int(line[0], 16) for line in lines if len(line) == 3}


def named(prefix: str, addresses: dict[str, int]) -> list[str]:
    return [name for name in addresses if name.startswith(prefix)]


@pytest.mark.parametrize("link", ["", link_command("-Wl,--shuffle-sections=.[tbd]*={layout}")])
def test_a_seed_gives_one_layout_and_another_seed_another(folder: Path, link: str) -> None:
    planned = experiment(folder, link)
    first, second = (trials_of(planned)[index] for index in (0, 2))
    assert first.perturbation[LAYOUT] != second.perturbation[LAYOUT]
    with layouts_of(planned) as layouts:
        binary = layouts.binary(first)
        drawn, printed = symbols(Path(binary.program)), output_of(binary.program)
        first_id = build_id(Path(binary.program))
        other = layouts.binary(second)
        assert build_id(Path(other.program)) != first_id
        assert other.program == binary.program  # its length moves the stack
        redrawn = symbols(Path(other.program))
        assert build_id(Path(layouts.binary(first).program)) == first_id
        for name in ("function_", "variable_", "zero_"):
            assert sorted(named(name, drawn)) == sorted(named(name, redrawn))
        assert named("function_", drawn) != named("function_", redrawn)
        for addresses in (drawn, redrawn):
            assert addresses["aligned_64"] % 64 == 0
            assert addresses["aligned_4096"] % 4096 == 0
        assert output_of(other.program) == printed == output_of(folder / "sum")


def output_of(program: str | Path) -> str:
    return subprocess.run([program], capture_output=True, check=True, text=True).stdout


def test_data_are_drawn_too(folder: Path) -> None:
    planned = experiment(folder)
    with layouts_of(planned) as layouts:
        drawn = [symbols(Path(layouts.binary(trial).program)) for trial in trials_of(planned)[::2]]
    for name in ("variable_", "zero_"):
        assert len({tuple(named(name, addresses)) for addresses in drawn}) > 1


def test_basic_blocks_are_drawn_if_each_has_a_section(folder: Path) -> None:
    clang = Path(with_lld()[0].removeprefix("-B"), "clang")
    (folder / "sum.cpp").write_text(BRANCHES)
    options = ["-O1", "-ffunction-sections", "-fbasic-block-sections=all"]
    lines = [
        *options,
        "sum.cpp",
        "-o",
        "sum",
        "-fuse-ld=lld",
        "-Wl,--build-id",
        f"-Wl,--reproduce=sum{RECORD}",
    ]
    subprocess.run([f"{clang}++", *lines], cwd=folder, check=True)
    planned = experiment(folder)
    drawn = []
    with layouts_of(planned) as layouts:
        for trial in trials_of(planned)[:4:2]:
            binary = layouts.binary(trial)
            assert output_of(binary.program) == output_of(folder / "sum")
            drawn.append(named("branches", symbols(Path(binary.program))))
    assert len(drawn[0]) > 5
    assert sorted(drawn[0]) == sorted(drawn[1])
    assert drawn[0] != drawn[1]


def test_trials_of_a_block_share_a_binary_that_is_linked_once(folder: Path) -> None:
    planned = experiment(folder, f"echo x >> links; {link_command()}")
    with layouts_of(planned) as layouts:
        identities = [build_id(Path(layouts.binary(trial).measured)) for trial in trials_of(planned)]
    assert identities[::2] == identities[1::2]
    assert len(set(identities)) == 6
    assert len((folder / "links").read_text().split()) == 6


def test_every_program_is_tried_before_a_campaign(folder: Path) -> None:
    planned = experiment(folder, f"echo {{layout}} >> links; {link_command()}")
    with layouts_of(planned) as layouts:
        assert layouts.fixed(trials_of(planned)) == {}
        assert layouts.fixed(trials_of(planned)) == {}
    assert (folder / "links").read_text().split() == ["1", "2", "3"]  # once for both subjects


def test_the_folder_of_a_runner_that_was_killed_is_removed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = (
        "import os, signal, sys; from pathlib import Path; from assay.experiment import load;"
        " from assay.layout import Layouts; layouts = Layouts(load(Path(sys.argv[1])), print).__enter__();"
        " (layouts._folder / 'program').touch(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    experiment(folder)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    ended = subprocess.run([sys.executable, "-c", killed, folder / "x.toml"], check=False)
    assert ended.returncode == -signal.SIGKILL
    while list(temporary.iterdir()):
        time.sleep(0.01)


def test_an_argument_may_name_what_was_linked(folder: Path) -> None:
    arguments = 'arguments = ["{{linked}", "--of={linked}", "{subject}"]'
    planned = experiment(folder, link_command(), arguments=arguments)
    with layouts_of(planned) as layouts:
        trial = trials_of(planned)[0]
        binary = layouts.binary(trial)
        assert binary.program == trial.program
        given, output, subject = binary.arguments
        assert (given, subject) == ("{linked}", trial.levels["subject"])
        assert output == f"--of={binary.measured}"
        assert build_id(Path(binary.measured)) not in {"", build_id(folder / "sum")}


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("echo no object >&2; exit 3 # {output} {layout}", r"the link .* exited with 3; correct it"),
        ("true {output} {layout}", r"subjects\.sums\.link: .* made no such file; have it write to {output}"),
        (
            link_command("-Wl,--build-id=uuid # {layout}"),
            r"subjects\.sums\.link: gives the same layout whatev",
        ),
    ],
)
def test_a_link_that_does_not_do_it_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], link: str, why: str
) -> None:
    planned = experiment(folder, link)
    with layouts_of(planned) as layouts, pytest.raises(AssayError, match=why):
        layouts.fixed(trials_of(planned))
    assert ("no object" in capsys.readouterr().out) == ("no object" in link)


def test_a_record_that_is_damaged_is_refused(folder: Path) -> None:
    (folder / f"sum{RECORD}").write_text("no tar")
    planned = experiment(folder)
    with layouts_of(planned) as layouts, pytest.raises(CannotStartError, match="build the program again"):
        layouts.fixed(trials_of(planned))


def test_what_cannot_be_linked_runs_as_it_is(folder: Path) -> None:
    (folder / f"sum{RECORD}").unlink()
    planned = experiment(folder)
    trials = trials_of(planned)
    with layouts_of(planned) as layouts:
        fixed = layouts.fixed(trials)
        assert fixed == dict.fromkeys(("one", "other"), "it has no link command")
        plan = make_plan(planned, 1, lambda subject: str(planned.programs[subject].path), 1000)
        trial = without_layouts(plan, fixed).trials[0]
        assert LAYOUT not in trial.perturbation
        assert layouts.binary(trial).program == trial.program


def test_without_lld_programs_run_as_they_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    planned = experiment(folder)
    with layouts_of(planned) as layouts:
        assert set(layouts.fixed(trials_of(planned)).values()) == {"lld is not installed"}


def test_a_link_command_may_name_the_folder_of_lld(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = experiment(folder, link_command().replace(with_lld()[0], "-B{lld}"))
    with layouts_of(planned) as layouts:
        assert layouts.fixed(trials_of(planned)) == {}
    monkeypatch.setenv("PATH", str(folder))
    with (
        layouts_of(planned) as layouts,
        pytest.raises(CannotStartError, match=r"link: lld is not inst"),
    ):
        layouts.fixed(trials_of(planned))


def test_the_build_looks_for_the_same_versions_of_lld() -> None:
    cmake = (Path(__file__).parents[3] / "cmake" / "AssayLayout.cmake").read_text()
    versions = re.search(r"foreach\(version RANGE (\d+) (\d+) -1\)", cmake)
    assert versions
    newest, oldest = map(int, versions.groups())
    assert ("ld.lld", *(f"ld.lld-{version}" for version in range(newest, oldest - 1, -1))) == LINKERS


def test_nothing_is_left_behind(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    planned = experiment(folder)
    with layouts_of(planned) as layouts:
        layouts.binary(trials_of(planned)[0])
        assert list(tmp_path.glob("assay-layouts-*"))
    assert not list(tmp_path.glob("assay-layouts-*"))


def test_a_repetition_has_the_layout_of_its_block(folder: Path) -> None:
    planned = experiment(folder)
    group = trials_of(planned)[4:6]
    repetition = repeat_group(planned, group, campaign_seed=1, number=1, group_number=9, first_ordinal=20)
    assert {trial.perturbation[LAYOUT] for trial in (*group, *repetition)} == {group[0].perturbation[LAYOUT]}


def test_layouts_change_nothing_else_that_is_drawn(folder: Path) -> None:
    def others(trials: tuple[PlannedTrial, ...]) -> Iterator[object]:
        for trial in trials:
            yield trial.levels, trial.request, {**trial.perturbation, LAYOUT: 0}

    with_layouts = trials_of(experiment(folder))
    without = trials_of(experiment(folder, layout=False))
    assert list(others(with_layouts)) == list(others(without))
    assert not any(LAYOUT in trial.perturbation for trial in without)
