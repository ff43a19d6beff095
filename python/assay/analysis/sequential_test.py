from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import Analysis, Comparison, Estimate, Interval, Look, Verdict, looks, stop_reason
from assay.analysis.sequential import reached, sharing, waits
from assay.analysis.types import Gate
from assay.experiment.types import ComparisonDesign, Design

plans = st.builds(
    Design,
    blocks=st.integers(1, 500),
    until=st.sampled_from(["verdict", "gate"]),
    at_least=st.integers(6, 60),
)


@given(plans, st.integers(1, 100))
def test_looks_grow_to_the_last_block_and_share_five_percent(blocks: Design, comparisons: int) -> None:
    planned = looks(blocks, comparisons)
    counts = [look.blocks for look in planned]
    assert counts == sorted(set(counts))
    assert counts[-1] == blocks.blocks
    assert sum(1 - look.confidence for look in planned) == pytest.approx(0.05)
    assert [(look.number, look.of) for look in planned] == [
        (i + 1, len(planned)) for i in range(len(planned))
    ]
    assert counts[0] >= min(blocks.at_least, blocks.blocks)


@given(plans, st.integers(1, 100))
def test_every_look_but_the_only_one_could_decide_something(blocks: Design, comparisons: int) -> None:
    for look in looks(blocks, comparisons):
        assert look.of == 1 or comparisons * 2 / 2.0**look.blocks <= 1 - look.confidence


@given(plans, st.integers(1, 100))
def test_more_comparisons_only_put_the_first_look_off(blocks: Design, comparisons: int) -> None:
    counts = [look.blocks for look in looks(blocks)]
    assert [look.blocks for look in looks(blocks, comparisons)] == counts[-len(looks(blocks, comparisons)) :]


def test_a_fixed_number_of_blocks_has_one_look_at_95_percent() -> None:
    assert looks(Design(blocks=20)) == (Look(1, 1, 20, 0.95),)


def test_a_look_that_could_decide_nothing_is_left_out() -> None:
    assert [look.blocks for look in looks(Design(blocks=60, until="verdict"))] == [12, 18, 27, 41, 60]
    assert [look.blocks for look in looks(Design(blocks=60, until="verdict"), 16)] == [18, 27, 41, 60]
    assert [look.blocks for look in looks(Design(blocks=20, until_width_percent=3.0), 16)] == [13, 20]


# What verdicts rest on


def test_before_the_first_look_there_is_none_and_after_it_the_last_one_reached() -> None:
    blocks = Design(blocks=60, until="verdict")
    assert reached(blocks, 11, 1) is None
    assert [reached(blocks, complete, 1) for complete in (12, 17, 18, 60)] == [
        looks(blocks)[index] for index in (0, 0, 1, 4)
    ]


def test_with_a_time_budget_the_look_is_at_the_blocks_that_were_completed() -> None:
    blocks = Design(blocks=1000, minutes=10)
    assert reached(blocks, 37, 1) == Look(1, 1, 37, 0.95)
    assert reached(blocks, 0, 1) is None


def test_a_fixed_number_of_blocks_has_no_look_before_all_have_ended() -> None:
    assert reached(Design(blocks=20), 19, 1) is None
    assert reached(Design(blocks=20), 20, 1) == Look(1, 1, 20, 0.95)


@pytest.mark.parametrize(
    ("blocks", "complete", "reason"),
    [
        (Design(blocks=40), 10, "10 of 40 blocks"),
        (Design(blocks=40, minutes=1), 0, "0 of 40 blocks"),
        (Design(blocks=40, until="verdict"), 10, "first planned look"),
    ],
)
def test_why_there_is_no_look_yet_is_said(blocks: Design, complete: int, reason: str) -> None:
    assert reached(blocks, complete, 1) is None
    assert reason in waits(blocks, complete)


# When a campaign may end


def comparison(
    verdict: Verdict, low: float = 0.99, high: float = 1.01, gate: Gate | None = None
) -> Comparison:
    interval = Interval(low, high, 0.99)
    estimate = Estimate(1.0, interval, 0.5, verdict, 12, gate=gate)
    return Comparison(
        **vars(estimate),
        metric="throughput",
        context={},
        level="a",
        baseline="b",
        dropped={},
        all_groups=estimate,
    )


FIRST = Look(1, 5, 12, 0.99)


def analysis(*comparisons: Comparison, look: Look | None = FIRST) -> Analysis:
    return Analysis(
        "throughput", "subject", "b", "higher", 3.0, 0.95, conditions=(), comparisons=comparisons, look=look
    )


def test_it_may_end_when_no_comparison_is_undecided() -> None:
    until = Design(blocks=60, until="verdict")
    assert stop_reason(analysis(comparison("faster"), comparison("equivalent")), until)
    assert not stop_reason(analysis(comparison("faster"), comparison("undecided")), until)


def test_it_may_end_when_every_interval_is_narrow_enough() -> None:
    narrow, wide = comparison("undecided", 1.0, 1.02), comparison("faster", 1.1, 1.2)
    assert "3%" in stop_reason(analysis(narrow), Design(blocks=60, until_width_percent=3.0))
    assert not stop_reason(analysis(narrow, wide), Design(blocks=60, until_width_percent=3.0))
    assert not stop_reason(
        analysis(narrow, replace(narrow, interval=None)), Design(blocks=60, until_width_percent=3.0)
    )


def test_it_may_end_when_every_comparison_has_passed_or_failed_the_gate() -> None:
    until = Design(blocks=60, until="gate")
    passed, failed = comparison("undecided", gate="passed"), comparison("undecided", gate="failed")
    ends = stop_reason(replace(analysis(passed, failed), gate_percent=2.0), until)
    assert ends == "every comparison has passed or failed the gate of 2%"
    assert not stop_reason(analysis(passed, comparison("faster", gate="undecided")), until)


def test_comparisons_share_the_level_of_a_look_only_where_they_are_corrected_together() -> None:
    design = ComparisonDesign(
        metric="m", factor="f", baseline="b", smallest_effect_percent=3, better="lower", campaigns=3
    )
    by_verdict, by_gate = Design(blocks=60, until="verdict"), Design(blocks=60, until="gate")
    assert sharing(design, by_verdict, 16) == 48
    assert sharing(design, by_gate, 16) == 3
    assert sharing(design.model_copy(update={"correction": "none"}), by_verdict, 16) == 3


def test_further_metrics_do_not_decide() -> None:
    mixed = replace(analysis(comparison("faster")), also=(comparison("undecided", 0.1, 9),))
    assert stop_reason(mixed, Design(blocks=60, until="verdict"))
    assert stop_reason(mixed, Design(blocks=60, until_width_percent=3.0))


def test_it_may_not_end_between_looks_or_without_being_asked_to() -> None:
    assert not stop_reason(analysis(comparison("faster"), look=None), Design(blocks=60, until="verdict"))
    assert not stop_reason(analysis(comparison("faster")), Design(blocks=60))
