"""The lab's benchmark of governors runs, in its smallest settings, and gives an interval for each figure."""

import importlib.util

import pytest

import harness
from conftest import ROOT
from harness import Groups


def test_a_decision_and_a_sample_of_a_governor_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = harness.measure

    def smallest(program: str, *arguments: str, allocator: str = "") -> Groups:
        return measured(program, *arguments, "--rounds=1", allocator=allocator)

    monkeypatch.setattr(harness, "measure", smallest)
    spec = importlib.util.spec_from_file_location("lab_benchmarks", ROOT / "satellites/lab/benchmarks.py")
    assert spec
    assert spec.loader
    benchmarks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmarks)
    monkeypatch.setattr(benchmarks, "PROCESSES", 6)
    benchmarks.governor()
    lines = capsys.readouterr().out.splitlines()
    shown = [line for line in lines if line.startswith(" ")]
    assert len(shown) >= 5
    assert all("   [" in line for line in shown)
