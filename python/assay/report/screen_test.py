"""The end of a run: what it says, and that it fits a screen of 80 by 24."""

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from assay.findings import Finding, Severity
from assay.plan.types import PlannedTrial, Status
from assay.report import Report, words
from assay.report.markdown import summary
from assay.report.picture import picture
from assay.report.screen import print_screen
from assay.report.trust import trust
from assay.words import json_text
from example_report import example_report, experiment_text

QUICKSTART = Path(__file__).parents[3] / "experiments" / "quickstart.toml"
SPEEDS = {
    "std_map_shared_mutex": 1.05e7,
    "std_map_mutex": 1.93e7,
    "absl_btree_shared_mutex": 1.05e7,
    "tbb_hash_map": 2.4e7,
    "cds_rcu_skip_list": 5.8e6,
}


def finding(rule: str, evidence: dict[str, float], severity: Severity = "warning") -> Finding:
    return Finding(rule=rule, message="m", where=("a",), evidence=evidence, remedy="r", severity=severity)


FINDINGS = [
    finding("preempted", {"conditions": 4, "worst_per_second": 120.3}),
    finding("changing-throughput", {"conditions": 2, "worst_percent": 37}),
    finding("warm-up", {"conditions": 1, "latest_ms": 12}),
    finding("generation", {}, "note"),
]

GOLDEN = """\
quickstart: 400 trials in about 3 minutes, all valid (campaign 1)
throughput as a ratio to std_map_shared_mutex; higher is better

threads=1                 mix=searches      mix=updates       over all
 std_map_shared_mutex     10.3M op/s        3.09M op/s
 std_map_mutex            ▲ 1.84 1.84-1.84  ▲ 1.84 1.84-1.84  ▲ 1.84 1.84-1.84
 absl_btree_shared_mutex  = 1.00 1.00-1.00  = 1.00 1.00-1.00  = 1.00 1.00-1.00
 tbb_hash_map             ▲ 2.29 2.29-2.29  ▲ 2.29 2.29-2.29  ▲ 2.29 2.29-2.29
 cds_rcu_skip_list        ▼ 0.55 0.55-0.55  ▼ 0.55 0.55-0.55  ▼ 0.55 0.55-0.55
threads=2                 mix=searches      mix=updates       over all
 std_map_shared_mutex     10.3M op/s        3.09M op/s
 std_map_mutex            ▲ 1.84 1.84-1.84  ▲ 1.84 1.84-1.84  ▲ 1.84 1.84-1.84
 absl_btree_shared_mutex  = 1.00 1.00-1.00  = 1.00 1.00-1.00  = 1.00 1.00-1.00
 tbb_hash_map             ▲ 2.29 2.29-2.29  ▲ 2.29 2.29-2.29  ▲ 2.29 2.29-2.29
 cds_rcu_skip_list        ▼ 0.55 0.55-0.55  ▼ 0.55 0.55-0.55  ▼ 0.55 0.55-0.55
▲ faster   ▼ slower   = equivalent, within 3%   ? undecided
Verdicts: 8 faster, 4 slower, 4 equivalent
  over all: 4 faster, 2 slower, 2 equivalent
Trust: with care: 3 warnings and 1 note
  warning Threads lost their processors: 4 conditions, worst per second 120.3
  warning Throughput varies within trials: 2 conditions, worst 37%
"""


def of_quickstart(planned: PlannedTrial) -> dict[str, float]:
    """Return a throughput that is the block's alone, so that ratios are exact."""
    share = 0.3 if planned.levels["mix"] == "updates" else 1
    return {"throughput": SPEEDS[str(planned.levels["subject"])] * share * (1 - 0.002 * planned.block)}


def shown(report: Report, width: int = 80) -> str:
    """Return what a terminal of this width shows."""
    text = StringIO()
    print_screen(report, Console(width=width, file=text))
    return text.getvalue()


TWO = 'subject = ["noop", "std_map_mutex"]'
FIND = "mix = { find = 100 }"


def example(
    factors: str = TWO,
    speed: Callable[[PlannedTrial], float] = lambda _: 1e6,
    more: str = "",
    status: Callable[[PlannedTrial], Status] = lambda _: "valid",
) -> Report:
    text = experiment_text(factors, more, trial="" if "factors.mix" in factors else FIND)
    return example_report(text, lambda planned: {"throughput": speed(planned)}, status=status)


def test_the_quickstart_ends_in_one_screen() -> None:
    report = example_report(QUICKSTART.read_text(), of_quickstart)
    report = replace(report, campaign=replace(report.campaign, counts={"valid": 400}), findings=FINDINGS)
    text = shown(report)
    assert text == GOLDEN
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert len([*lines, "page: ", "next: ", "$ "]) <= 24


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.002, 0.01, 0.03, 0.1]),
    st.sampled_from([0.5, 1.0, 3.0, 10.0]),
    st.sampled_from(["higher", "lower"]),
)
def test_no_interval_contradicts_its_verdict_on_the_screen_or_in_json(
    seed: int, scatter: float, smallest: float, better: str
) -> None:
    random = np.random.default_rng(seed)
    effects = {1: 0.0, 2: 0.02, 3: 0.05, 4: -0.3}

    def metrics(planned: PlannedTrial) -> dict[str, float]:
        effect = effects[int(str(planned.levels["threads"]))] * (planned.levels["subject"] != "noop")
        return {"throughput": math.exp(effect + scatter * random.standard_normal())}

    text = experiment_text(f"{TWO}\nthreads = [1, 2, 3, 4]", f'better = "{better}"', trial=FIND, blocks=12)
    text = re.sub("smallest_effect_percent = .*", f"smallest_effect_percent = {smallest}", text)
    report = example_report(text, metrics)
    band = 1 + smallest / 100
    up, down = ("faster", "slower") if better == "higher" else ("slower", "faster")

    def read_off(low: float, high: float) -> str:
        inside = 1 / band <= low and high <= band
        return "equivalent" if inside else up if low > 1 else down if high < 1 else "undecided"

    for answer in json.loads(json_text(report.analysis))["comparisons"]:
        assert answer["verdict"] == read_off(answer["interval"]["low"], answer["interval"]["high"])
    marks = {"▲": "faster", "▼": "slower", "=": "equivalent", "?": "undecided"}
    cells = re.findall(r"([▲▼=?]) +[\d.]+ +([\d.]+)-([\d.]+)", shown(report))
    assert len(cells) == len(effects)
    for mark, low, high in cells:
        assert marks[mark] == read_off(float(low), float(high))


def test_the_screen_says_how_many_values_are_0_and_compares_what_is_below_0_by_difference() -> None:
    def starved(planned: PlannedTrial) -> float:
        return 0.0 if planned.levels["subject"] != "noop" and planned.block < 8 else 113.0

    text = shown(example(speed=starved))
    assert "▲" not in text.split("faster")[0].split("noop", 1)[1].splitlines()[1]
    assert "0 in 8 of 12 trials of std_map_mutex" in text
    negative = shown(example(speed=lambda planned: -5.0 - (planned.levels["subject"] == "noop")))
    assert "+1 +1 to +1" in negative
    assert "a difference" in negative
    nothing = shown(example(speed=lambda _: 0.0))
    assert "no ratio can be made" in nothing


def mixes(names: Iterable[str]) -> str:
    return "\n".join(
        f"{name} = {{ insert = {number}, find = {100 - number} }}" for number, name in enumerate(names)
    )


@pytest.mark.parametrize(
    ("factors", "more"),
    [
        (TWO, ""),
        (f"{TWO}\nthreads = [1, 2, 3, 4, 5, 6, 7, 8]", ""),
        (
            f"{TWO}\nthreads = [1, 2]\n[factors.mix]\n{mixes(f'workload_{i}' for i in range(7))}",
            'across = ["mix"]',
        ),
        (f"{TWO}\n[factors.mix]\n{mixes(['long' * 15, 'other' * 12])}", ""),
    ],
)
@pytest.mark.parametrize("width", [40, 80, 200])
def test_any_table_fits_its_terminal_and_holds_every_comparison(factors: str, more: str, width: int) -> None:
    report = example(factors, lambda planned: 1e6 + (planned.levels["subject"] == "noop") * 1e6, more)
    text = shown(report, width)
    assert max(map(len, text.splitlines())) <= min(width, 80) or width == 200
    table = text[: text.index("▲ faster")]
    assert table.count("▼ 0.50") == len(report.analysis.answers)
    assert table.count("2M op/s") == len(report.analysis.comparisons)


def test_a_name_that_is_too_long_for_its_column_has_a_line_of_its_own() -> None:
    long = "n" * 75
    text = shown(example(f'subject = ["noop", "{long}"]'))
    lines = text.splitlines()
    assert lines[lines.index(f" {long}") + 1].split() == ["=", "1.00", "1.00-1.00"]


def test_what_has_no_ratio_says_why() -> None:
    report = example(
        status=lambda planned: "valid" if planned.levels["subject"] == "noop" else "crashed",
    )
    assert "? withheld" in shown(report)
    assert re.search("Verdicts: 1 withheld\n  withheld, as .* trials of .* crashed", shown(report))
    ((row,),) = (panel.rows for panel in picture(report).panels)  # on the page: a word, and the reason on it
    assert row.lacks == "withheld"
    assert row.about == f"{row.answer.level}: {report.analysis.comparisons[0].reason}"


def test_trust_falls_with_the_worst_finding() -> None:
    report = example()
    assert trust(report).summary == "with confidence"
    note, warning, error = FINDINGS[3], FINDINGS[0], replace(FINDINGS[1], severity="error")
    assert trust(replace(report, findings=[note])).summary == "with confidence: 1 note"
    assert trust(replace(report, findings=[note])).worst == ()
    assert trust(replace(report, findings=[warning, note])).degree == "with care"
    severe = trust(replace(report, findings=[error, warning, FINDINGS[1], note]))
    assert severe.summary == "not: 1 error, 2 warnings and 1 note"
    assert severe.worst == (error, warning)
    assert severe.reasons == (error.message,)


def test_nothing_decided_is_not_trusted() -> None:
    report = example()
    waiting = replace(report, analysis=replace(report.analysis, look=None, waits="it is early"))
    assert trust(waiting).summary == "not: nothing is decided yet, it is early"


def test_colour_is_for_terminals_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    report = example()

    def printed(*, terminal: bool) -> str:
        text = StringIO()
        print_screen(report, Console(file=text, force_terminal=terminal, width=80))
        return text.getvalue()

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in printed(terminal=True)
    assert "\x1b" not in printed(terminal=False)
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in printed(terminal=True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[(\d;)*3\d", printed(terminal=True))


@pytest.mark.parametrize(
    ("value", "coarse", "fine"),
    [
        (1.8367, "1.84", "1.837"),
        (0.5519, "0.55", "0.552"),
        (0.05234, "0.052", "0.0523"),
        (12.345, "12.3", "12.35"),
        (140.4, "140", "140"),
        (2e7, "20M", "20M"),
    ],
)
def test_a_ratio_has_another_digit_where_small_effects_count(value: float, coarse: str, fine: str) -> None:
    experiment = example().experiment
    for percent, written in ((3, coarse), (1, fine)):
        comparison = experiment.comparison.model_copy(update={"smallest_effect_percent": percent})
        assert words.glance(value, comparison) == written


@pytest.mark.parametrize("accepted", [False, True])
def test_that_nothing_happens_is_said_before_the_numbers_which_are_none(accepted: bool) -> None:
    def empty(trial: PlannedTrial) -> dict[str, float]:
        happens = {"effective_share": 0.0, "prefill_size": 0.0, "final_size": 0.0}
        return {"throughput": 18.7e6 + trial.ordinal, **happens}

    mix = "mix = { erase = 50, find = 50 }"
    report = example_report(experiment_text(TWO, f"accept_idle = {str(accepted).lower()}", trial=mix), empty)
    text = shown(report)
    assert ("18.7M" in text) == accepted
    if not accepted:
        assert text.index("Practically nothing happens in all 2 conditions") < text.index("idle")
        assert text.index("idle") < text.index("Verdicts:")
        assert "18.7M" not in summary(report)
