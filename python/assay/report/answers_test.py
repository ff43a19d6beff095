"""The rows of a campaign's answers, from which every renderer writes."""

import pytest

from assay.plan.types import PlannedTrial
from assay.report import gather
from assay.report.gather import Report
from example_report import example_report, experiment_text

SPEED = {"noop": 1.0, "std_map_mutex": 0.5, "tbb_hash_map": 1.0}
FACTORS = 'subject = ["noop", "std_map_mutex", "tbb_hash_map"]\nthreads = [1, 2]'
MIX = "mix = { insert = 10, erase = 10, find = 80 }"


def report(more: str = "") -> Report:
    def metrics(trial: PlannedTrial) -> dict[str, float]:
        noise = 1 + 0.03 * (trial.ordinal * 7919 % 13 - 6)
        return {"throughput": 1e6 * SPEED[str(trial.levels["subject"])] * noise}

    return example_report(experiment_text(FACTORS, more, trial=MIX), metrics)


def test_each_context_has_a_baseline_and_a_row_for_each_other_level() -> None:
    answers = report().answers
    assert [context.name for context in answers.contexts] == ["threads=1", "threads=2"]
    for context in answers.contexts:
        baseline, *others = context.rows
        assert (baseline.word, baseline.verdict, *baseline.exact) == ("baseline", None, "1", "")
        assert baseline.median_in_unit.endswith("M op/s")
        assert [row.level for row in others] == ["std_map_mutex", "tbb_hash_map"]
        assert others[0].word == "slower"
        assert others[0].brief.value in others[0].exact.value
    assert sum(answers.counts.values()) == len(list(answers)) == 4


def test_what_a_gate_takes_is_forecast_once_for_all_renderers(monkeypatch: pytest.MonkeyPatch) -> None:
    forecasts = []
    made = gather.__globals__["forecast"]

    def counted(*arguments: object) -> object:
        forecasts.append(arguments)
        return made(*arguments)

    monkeypatch.setitem(gather.__globals__, "forecast", counted)
    gated = report("gate_percent = 6")
    assert any(row.gate == "undecided" for row in gated.answers)
    assert gated.gate_forecast is gated.gate_forecast
    assert len(forecasts) == 1
