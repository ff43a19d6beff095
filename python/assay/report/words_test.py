from dataclasses import replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import Comparison, ConditionSummary, Estimate, Interval
from assay.analysis.types import Cluster, Shape
from assay.analysis.verdicts import verdict, verdict_of_difference
from assay.audit.testing import experiment
from assay.report import words

ALL = Estimate(1.0, None, 1.0, "undecided", 6)


def test_an_interval_is_written_from_low_to_high() -> None:
    assert words.interval(Interval(0.97, 1.04, 0.95)) == "0.970 to 1.040"
    assert words.interval(None) == "-"


def test_what_does_not_count_is_noted() -> None:
    condition = ConditionSummary({}, {"valid": 4, "timed_out": 2, "crashed": 0}, 4, 0, 1.0, None)
    comparison = Comparison(
        1.0,
        None,
        1.0,
        "undecided",
        4,
        1.0,
        "too few",
        metric="m",
        context={},
        level="b",
        baseline="a",
        dropped={"not valid": 2},
        all_groups=ALL,
    )
    failed, pairs, reason = words.notes(condition, comparison)
    assert failed == "2 timed out"
    assert "2 not valid" in pairs
    assert reason == "too few"


def test_layouts_are_one_or_drawn() -> None:
    said = {text: words.layout(experiment(more=f"[perturb]\nlayout = {text}")) for text in ("true", "false")}
    assert "drawn for each block" in said["true"]
    assert "Every program ran in one layout" in said["false"]
    assert "layout = true in [perturb], on one host (without --on), draws" in words.layout(
        experiment(), on_hosts=True
    )


def test_where_all_counts_there_is_nothing_to_note() -> None:
    condition = ConditionSummary({}, {"valid": 6}, 6, 0, 1.0, Interval(1, 1, 0.97))
    interval = Interval(0.9, 1.1, 0.97)
    comparison = Comparison(
        1.0,
        interval,
        1.0,
        "undecided",
        6,
        1.0,
        "holds 1",
        metric="m",
        context={},
        level="b",
        baseline="a",
        dropped={},
        all_groups=ALL,
    )
    assert words.notes(condition, comparison) == []
    assert words.notes(condition, None) == []


DECIDED = Comparison(
    1.2,
    Interval(1.1, 1.3, 0.95),
    0.01,
    "faster",
    8,
    0.02,
    metric="throughput",
    context={},
    level="b",
    baseline="a",
    dropped={},
    all_groups=Estimate(1.2, Interval(1.1, 1.3, 0.95), 0.01, "faster", 9),
)


def test_other_groups_are_named_where_they_decide_otherwise() -> None:
    slower = Estimate(0.8, Interval(0.7, 0.9, 0.95), 0.01, "slower", 7)
    assert words.otherwise(DECIDED) == []
    without_exclusions = replace(DECIDED, all_groups=slower)
    of_slow_mode = replace(DECIDED, modes={"slow": slower})
    for choice, changed in (("exclusions", without_exclusions), ("slow mode", of_slow_mode)):
        (note,) = words.otherwise(changed)
        assert choice in note
        assert note.endswith("slower, 0.800 (0.700 to 0.900), 7 pairs")


def test_the_same_groups_do_not_contradict_the_verdict() -> None:
    same = Estimate(1.2, Interval(1.1, 1.3, 0.95), 0.01, "undecided", DECIDED.pairs)
    assert words.otherwise(replace(DECIDED, all_groups=same)) == []


def test_groups_too_few_for_an_interval_contradict_nothing() -> None:
    few = Estimate(0.8, None, 0.5, "undecided", 2)
    assert words.otherwise(replace(DECIDED, modes={"slow": few})) == []
    assert words.beside(replace(DECIDED, modes={"slow": few}), ["fast", "slow"]) == [
        DECIDED.all_groups,
        None,
        few,
    ]


def test_a_gate_that_only_the_uncorrected_interval_passes_names_it() -> None:
    condition = ConditionSummary({}, {"valid": 8}, 8, 0, 1.0, None)
    passed = replace(DECIDED, gate="passed", by_itself=Interval(0.99, 1.01, 0.95))
    said = "passes the gate by its interval uncorrected for the family, 0.990 to 1.010"
    assert said in words.notes(condition, passed)
    assert said not in words.notes(condition, replace(passed, by_itself=None))


def test_a_median_that_is_not_typical_gives_way() -> None:
    condition = ConditionSummary({}, {"valid": 8}, 8, 0, 5.0, None)
    typical = partial(words.typical, accept_invalid=False)
    assert typical(condition) == "5"
    several = Shape((Cluster(1.0, 0.5), Cluster(9.0, 0.5)), 0.001, "two places")
    assert typical(replace(condition, shape=several)) == "several"
    assert typical(replace(condition, shape=Shape(note="far apart"))) == "varies"
    partly = replace(condition, counts={"valid": 2, "invalid": 6})
    assert (typical(partly), words.typical(partly, accept_invalid=True)) == ("-", "5")
    assert words.clusters(several.clusters) == "1 (50%), 9 (50%)"


def interval_of(written: str) -> Interval:
    low, high = map(float, written.split(" to "))
    return Interval(low, high, 0.95)


OFF = st.floats(-0.01, 0.01).filter(lambda off: off == 0 or abs(off) > 1e-5)


@given(st.tuples(*[st.sampled_from([1.0, 1 / 1.03, 1.03])] * 2), st.tuples(OFF, OFF))
def test_what_is_read_off_written_ends_is_the_verdict(
    edges: tuple[float, float], off: tuple[float, float]
) -> None:
    low, high = sorted(edge + by for edge, by in zip(edges, off, strict=True))
    of = Estimate((low + high) / 2, Interval(low, high, 0.95), None, "undecided", 9)
    design = experiment().comparison.model_copy(update={"smallest_effect_percent": 3})
    shown = interval_of(words.ends(of, design))
    assert verdict(shown, "higher", 3) == verdict(Interval(low, high, 0.95), "higher", 3)


@given(st.tuples(*[st.sampled_from([0.0, -2.0, 2.0])] * 2), st.tuples(OFF, OFF))
def test_what_is_read_off_the_written_ends_of_a_difference_is_the_verdict(
    edges: tuple[float, float], off: tuple[float, float]
) -> None:
    low, high = sorted(edge + by for edge, by in zip(edges, off, strict=True))
    interval = Interval(low, high, 0.95)
    of = Estimate(None, interval, None, "undecided", 9, difference=interval.low)
    design = experiment().comparison.model_copy(update={"smallest_effect": 2.0})
    shown = interval_of(words.ends(of, design))
    assert verdict_of_difference(shown, "higher", 2.0) == verdict_of_difference(interval, "higher", 2.0)
