"""The table of the conditioning experiment compares every factor, from trials whose ratios are known."""

import importlib.util
from types import ModuleType

import pytest

from assay.plan.types import PlannedTrial
from conftest import ROOT
from example_report import example_report


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("table", ROOT / "experiments" / "conditioning_table.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_factor_has_its_ratio(table: ModuleType) -> None:
    worth = {"fifo": 0.5, "fifo_unlimited": 0.25, "loaded": 8.0, "fixed": 1.0}

    def metrics(trial: PlannedTrial) -> dict[str, float]:
        value = 1000.0
        for level in trial.levels.values():
            value *= worth.get(str(level), 1)
        return dict.fromkeys(table.METRICS, value)

    report = example_report((ROOT / "experiments" / "conditioning.toml").read_text(), metrics)
    expected = {"scheduling": (4, 0.5), "real-time share": (4, 0.5), "load": (6, 8.0), "seeding": (6, 1.0)}
    for what, (contexts, ratio) in expected.items():
        found = table.compared(report.experiment, report.trials, what)
        assert len(found) == contexts * len(table.METRICS)
        assert [comparison.ratio for comparison in found] == pytest.approx([ratio] * len(found))
        assert {comparison.pairs for comparison in found} == {20}
    rows = list(table.medians(report.experiment, report.trials))
    assert len(rows) == 2 + 12
    assert "| default | loaded | fresh | 8,000 (8,000 to 8,000)" in rows[5]
