"""What a command line asks `assay ab` to measure, and the experiments that are written for it."""

from pathlib import Path
from typing import Any

import pytest

from assay.campaign.benchmarks import ComparisonRequest, own_experiment
from assay.errors import AssayError
from assay.experiment import made
from assay.experiment.race import Entrant, Race, race_tables
from assay.experiment.testing import WITH_FACTORS
from assay.experiment.tools import chooses, tool_tables
from assay.experiment.types import Tool


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ([], {}, "nothing is to be measured"),
        (["a"], {"catch2": "b"}, "commands and --catch2 are measured one at a time"),
        (["x.toml", "y.toml"], {}, "2 experiments are measured one at a time"),
        (["x.toml", "a"], {}, "an experiment and commands are measured one at a time"),
        (["x.toml"], {"setup": "make"}, "--setup is for commands"),
        ([], {"catch2": "b", "shell": False}, "--shell is for commands"),
        (["a"], {"chosen": "x"}, "--filter is for --google-benchmark and --catch2"),
        (["x.toml"], {"link": "ld {output} {layout}"}, r"--link is for what has no file"),
        (["a"], {"metric": "cost"}, "--metric cost: its name does not say which values are better"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: list[str],
    options: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.toml", "y.toml"):
        Path(name).touch()
    with pytest.raises(AssayError, match=message):
        ComparisonRequest(words=words, **options)


@pytest.mark.parametrize(
    ("tool", "name", "argument"),
    [
        ("google-benchmark", "sum<int>/8/min_time:0.1", r"^sum<int>/8/min_time:0\.1$"),
        ("google-benchmark", "f(a|b)[1]*$", r"^f\(a\|b\)\[1]\*\$$"),
        ("google-benchmark", "map{a}]", r"^map\{a}]$"),
        ("catch2", r'sums, [all] "of" \them*', r"sums\, \[all] \"of\" \\them\*"),
        ("catch2", "-O2] x-y", r"\-O2] x-y"),
    ],
)
def test_a_benchmark_is_chosen_by_its_name_whatever_that_holds(tool: Tool, name: str, argument: str) -> None:
    assert chooses(tool, name) == argument


def test_benchmarks_of_a_tool_are_an_experiment(tmp_path: Path) -> None:
    parameters = {"benchmark": "sum {x}", "chooses": "^sum \\{x\\}$"}
    comparison = {"metric": "real_time_ns", "better": "lower"}
    link = "ld -o {output} {layout}"
    words = ["./bin/my-bench", "--pattern={a}"]
    tables = tool_tables(
        "google-benchmark", words, {"sum {x}": parameters, "b": parameters}, comparison, link
    )
    experiment = made(tables, tmp_path / "ab.toml", identical=True)
    [program] = experiment.programs.values()
    assert program.path == tmp_path / "bin/my-bench"
    assert program.arguments == (
        "--pattern={{a}",
        "--benchmark_filter={chooses}",
        "--benchmark_format=json",
    )
    assert (program.extract, program.link) == ("google-benchmark", link)
    assert experiment.factors["benchmark"] == ("sum {x}", "b")
    assert experiment.perturb.layout


def test_commands_that_can_be_linked_get_layouts(tmp_path: Path) -> None:
    options = {"link": "ld -o {output} {layout}", "extract": "lines"}
    race = Race(
        entrants=[Entrant("./a {linked} {x}", command=True)],
        metric="a_ns",
        better="lower",
        commands=options,
        factor="benchmark",
    )
    experiment = made(race_tables(race, (), {"blocks": 1}), tmp_path / "ab.toml", identical=True)
    [program] = experiment.programs.values()
    assert program.arguments == ("{linked}", "{{x}")
    assert experiment.perturb.layout


def test_revisions_are_not_compared_by_what_misleads_on_purpose(tmp_path: Path) -> None:
    file = tmp_path / "flawed.toml"
    trial = '[pitfall]\ndeliberate = true\n[trial]\nflaws = ["never_inserts"]\n'
    file.write_text(WITH_FACTORS.replace("[trial]\n", trial))
    with pytest.raises(AssayError, match="never_inserts; a comparison of revisions takes honest experiments"):
        own_experiment(ComparisonRequest(words=[str(file)]))
