"""Tables and figures of simulated governors are made of evaluations, of parts and of other machines' too."""

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import pytest

from conftest import ROOT

SUITES = {"429.mcf": "SPEC2006", "lu": "NPB 3.3.1"}
XEON = [f"static-{mhz}" for mhz in (*range(1400, 3601, 200), 4000)]
WEIGHING = ["oracle", "listing", "adaptive"]
RED = 'stroke="red"'
FIGURES = ("3-5", "3-6", "3-7")


def evaluation(machine: str, governors: Iterable[str], suites: dict[str, str] = SUITES) -> str:
    """Return what `assay-governor-simulation evaluate` prints; power grows with the frequency."""
    results = [
        {
            "workload": workload,
            "suite": suite,
            "governor": governor,
            "exponent": exponent,
            "joules": [ghz + 8 / ghz] * 2,
            "seconds": [10 / ghz] * 2,
        }
        for workload, suite in suites.items()
        for governor in governors
        for exponent in ((0.0, 1.0, 2.0) if governor in WEIGHING else (0.0,))
        for ghz in [float(governor.removeprefix("static-")) / 1000 if "-" in governor else 2.0 + exponent / 2]
    ]
    return json.dumps({"simulated": True, "machine": machine, "seed": 1, "results": results})


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "tables", ROOT / "satellites/lab/experiments" / "governor_tables.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Made: TypeAlias = Callable[[str], tuple[str, dict[str, str]]]


@pytest.fixture
def made(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Made:
    """Return what gives what the script prints of an evaluation, and its figures."""

    def run(text: str) -> tuple[str, dict[str, str]]:
        file, folder = tmp_path / "evaluation.json", tmp_path / "drawn" / "here"
        file.write_text(text)
        monkeypatch.setattr(sys, "argv", ["governor_tables.py", str(file), "--figures", str(folder)])
        script.main()
        drawn = {name: (folder / f"figure-{name}.svg").read_text() for name in FIGURES}
        return capsys.readouterr().out, drawn

    return run


def words(drawn: str) -> str:
    """Return what a figure says, whatever its lines."""
    return " ".join(re.sub("<[^>]*>", " ", drawn).split())


def test_of_the_xeon_the_papers_numbers_are_drawn_and_what_has_none_is_said(made: Made) -> None:
    printed, drawn = made(evaluation("xeon", [*XEON, *WEIGHING]))
    assert "| static-1400 |" in printed
    assert "(230.0)" in printed
    # For each of three goals, a mean of each static frequency and of the paper's governor for each goal.
    assert drawn["3-5"].count(RED) == 3 * (len(XEON) + 3)
    assert "none of adaptive E, adaptive ED, adaptive ED2, and no numbers of single" in words(drawn["3-5"])
    assert drawn["3-6"].count(RED) == 6 + 2  # a line in each of six, and two counts
    assert "no numbers of the other bars" in words(drawn["3-6"])
    assert drawn["3-7"].count(RED) == len(XEON)
    assert "no numbers of sequential and parallel workloads apart" in words(drawn["3-7"])


@pytest.mark.parametrize(
    ("machine", "governors", "suites"),
    [
        ("server", ["static-1200", "static-3600", "schedutil", *WEIGHING], SUITES),
        ("server", ["static-1200", "static-3600", "adaptive"], SUITES),  # neither oracle nor listing
        ("snuc", ["static-800", "static-2400", *WEIGHING], SUITES),
        ("xeon", ["static-1400", "static-3600", "static-4000", *WEIGHING], {"drawn-1": "drawn"}),
    ],
)
def test_other_machines_and_workloads_have_figures_without_the_papers_numbers(
    made: Made, machine: str, governors: list[str], suites: dict[str, str]
) -> None:
    printed, drawn = made(evaluation(machine, governors, suites))
    assert "| adaptive |" in printed
    assert "(105.7)" not in printed
    for text in drawn.values():
        assert f"simulated {machine}" in text
        assert RED not in text
        assert "The paper has no numbers of this." in words(text)
    if machine == "server":
        assert "cost / at 3.6 GHz" in drawn["3-5"]


def test_a_part_of_the_xeons_frequencies_is_beside_the_highest_of_them(made: Made) -> None:
    _, drawn = made(evaluation("xeon", ["static-1400", "static-3600", "adaptive"]))
    assert "cost / at 3.6 GHz" in drawn["3-5"]
    assert RED not in drawn["3-5"]  # which is beside 4 GHz
    assert drawn["3-7"].count(RED) == 2


def test_without_a_static_frequency_it_says_what_is_missing(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        made(evaluation("xeon", ["adaptive"]))
    assert "evaluation.json has no static frequency to compare with" in capsys.readouterr().err
