"""A gate, wherever a report shows it."""

import re
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from assay.plan.types import PlannedTrial
from assay.report import Report
from assay.report.markdown import summary
from assay.report.screen import print_screen
from assay.report.terminal import print_report
from assay.report.words import gate
from example_report import example_report, experiment_text

FACTORS = 'subject = ["noop", "std_map_mutex", "tbb_hash_map"]'
MIX = "mix = { insert = 10, erase = 10, find = 80 }"
SPEED = {"noop": 1.0, "std_map_mutex": 0.8, "tbb_hash_map": 1.0}


def report(scatter: float, more: str = "gate_percent = 6") -> Report:
    def metrics(trial: PlannedTrial) -> dict[str, float]:
        noise = 1 + scatter * (trial.ordinal * 7919 % 13 - 6)
        return {"throughput": 1e6 * SPEED[str(trial.levels["subject"])] * noise}

    return example_report(experiment_text(FACTORS, more, trial=MIX), metrics)


def printed(show: Callable[[Report, Console], None], of: Report) -> str:
    console = Console(file=StringIO(), width=80)
    show(of, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.fixture(scope="module")
def undecided() -> Report:
    return report(0.03)


def test_what_has_passed_and_failed_is_counted_and_shown_for_each() -> None:
    decided = report(0.001)
    told = "Gate, worse by more than 6%: 1 failed and 1 passed."
    assert decided.gate == told
    assert decided.gate_forecast is None
    for text in (printed(print_screen, decided), printed(print_report, decided), summary(decided)):
        assert told in text
    table = printed(print_report, decided)
    assert max(map(len, table.splitlines())) <= 80
    assert re.search("std_map_mutex .* slower +failed", table)
    assert re.search("tbb_hash_map .* equivalent +passed", table)
    assert "| std_map_mutex | slower | failed |" in summary(decided)


def test_what_is_undecided_has_a_forecast(undecided: Report) -> None:
    slowest = undecided.gate_forecast
    assert slowest is not None
    assert slowest.level == "tbb_hash_map"
    assert slowest.blocks is not None
    told = undecided.gate
    assert re.fullmatch(
        r"Gate, worse by more than 6%: 1 failed and 1 undecided. To decide all probably takes"
        rf" {slowest.blocks} blocks, about \d+ minutes in all\.",
        told,
    )
    for text in (printed(print_screen, undecided), printed(print_report, undecided), summary(undecided)):
        assert told in " ".join(text.split())


def test_without_a_gate_nothing_is_said() -> None:
    plain = report(0.001, more="")
    assert gate(plain.analysis) == plain.gate == ""
    assert plain.gate_forecast is None
    assert "Gate" not in printed(print_report, plain) + summary(plain)
