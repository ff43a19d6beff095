"""Tests of what is said of how far verdicts hold, on campaigns with known answers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import Verdict
from assay.analysis.meaningfulness import Agreement, Elsewhere, Meaning, compared, meanings
from assay.plan.types import PlannedTrial
from assay.report.gather import Report
from example_report import example_report, experiment_text

FACTORS = 'subject = ["noop", "other"]\nthreads = [1, 2, 4]'
ONE_CONTEXT = 'subject = ["noop", "other"]'
MIX = "mix = { find = 100 }"
WAYS: list[Verdict] = ["faster", "slower", "equivalent", "undecided"]


def campaign(
    ratio: Callable[[PlannedTrial], float],
    *,
    factors: str = ONE_CONTEXT,
    better: str = "higher",
    drawn: Callable[[PlannedTrial], Mapping[str, float | str]] = lambda _: {"key_range": 1.0},
) -> Report:
    """Return a campaign of 12 blocks in which `other` has this ratio to `noop`."""
    text = experiment_text(factors, trial=MIX).replace("[comparison]", f'[comparison]\nbetter = "{better}"')
    return example_report(
        text,
        lambda trial: {"throughput": 100.0 * (ratio(trial) if trial.levels["subject"] == "other" else 1)},
        perturbation=drawn,
    )


def told(report: Report, *elsewhere: Elsewhere) -> list[Meaning]:
    return meanings(report.trials, report.experiment, report.analysis, host="here", elsewhere=elsewhere)


def other(campaign: int, host: str, verdict: Verdict, level: str = "other") -> Elsewhere:
    return Elsewhere(campaign, host, compared("throughput", "", level, "noop"), verdict)


def again(report: Report, seed: Callable[[int, str], int]) -> Report:
    """Return a campaign whose trials have these seeds, by block and subject."""
    trials = [replace(trial, seed=seed(trial.block, str(trial.levels["subject"]))) for trial in report.trials]
    return replace(report, trials=trials)


# Repeatability


def test_the_spread_of_identical_trials_is_pooled_over_their_sets() -> None:
    # Blocks 0 and 1 ran the same trial of each side, blocks 2 and 3 another one; the others differ.
    report = campaign(lambda trial: {0: 1.0, 1: 1.21, 2: 2.0, 3: 2.0}.get(trial.block, 1.5))
    seeds = dict.fromkeys((0, 1), 1) | dict.fromkeys((2, 3), 2)
    same = again(report, lambda block, _: seeds.get(block, 10 + block))
    [found] = told(same)
    assert found.repeatability is not None
    # the sets: 100 and 121, twice 200, and of the baseline twice twice 100
    assert (found.repeatability.sets, found.repeatability.trials) == (4, 8)
    spread = math.sqrt(2 * (math.log(1.21) / 2) ** 2 / 4)
    assert found.repeatability.spread_percent == pytest.approx(100 * math.expm1(spread))


def test_trials_that_differ_in_seed_or_draws_are_not_the_same_trial() -> None:
    [every_seed_differs] = told(campaign(lambda _: 2.0))
    assert every_seed_differs.repeatability is None
    moved = again(campaign(lambda _: 2.0, drawn=lambda trial: {"key_range": trial.block}), lambda *_: 7)
    [every_draw_differs] = told(moved)
    assert every_draw_differs.repeatability is None


# Robustness


def test_single_pairs_agree_that_point_the_verdicts_way() -> None:
    # 11 of 12 blocks are twice as fast, one is a little slower
    report = campaign(lambda trial: 0.9 if trial.block == 3 else 2.0)
    [found] = told(report)
    assert found.comparison.verdict == "faster"
    assert found.robustness is not None
    assert (found.robustness.pairs, found.robustness.agreeing) == (12, 11)
    logs = [math.log(0.9)] + [math.log(2)] * 11
    mean = sum(logs) / 12
    spread = math.sqrt(sum((log - mean) ** 2 for log in logs) / 11)
    assert found.robustness.spread_percent == pytest.approx(100 * math.expm1(spread))


def test_pairs_of_equivalent_code_agree_within_the_smallest_effect() -> None:
    [found] = told(campaign(lambda trial: 1.1 if trial.block == 3 else 1 + trial.block / 1000))
    assert found.comparison.verdict == "equivalent"
    assert found.robustness is not None
    assert (found.robustness.pairs, found.robustness.agreeing) == (12, 11)


def test_an_undecided_verdict_has_a_spread_and_nothing_to_agree_with() -> None:
    [found] = told(campaign(lambda trial: 2.0 if trial.block % 2 else 0.5))
    assert found.comparison.verdict == "undecided"
    assert found.robustness is not None
    assert found.robustness.agreeing is None


def test_only_pairs_of_perturbed_trials_tell_of_robustness() -> None:
    def drawn(trial: PlannedTrial) -> Mapping[str, float | str]:
        first = {"noop": 6, "other": 5}[str(trial.levels["subject"])]
        return {"key_range": float(trial.block >= first)}

    [found] = told(campaign(lambda _: 2.0, drawn=drawn))
    assert found.robustness is not None
    assert found.robustness.pairs == 6
    [unmoved] = told(campaign(lambda _: 2.0, drawn=lambda _: {}))
    assert unmoved.robustness is None


@given(st.lists(st.floats(0.1, 10), min_size=12, max_size=12))
def test_of_a_time_and_of_a_rate_the_same_pairs_agree(ratios: list[float]) -> None:
    [rate] = told(campaign(lambda trial: ratios[trial.block]))
    [time] = told(campaign(lambda trial: 1 / ratios[trial.block], better="lower"))
    assert rate.robustness is not None
    assert time.robustness is not None
    if rate.comparison.verdict == time.comparison.verdict:  # rounding may decide at the edge
        assert rate.robustness.agreeing == time.robustness.agreeing


# Reproducibility


def test_other_campaigns_agree_or_contradict() -> None:
    [found] = told(
        campaign(lambda _: 2.0),
        other(2, "here", "faster"),
        other(3, "there", "faster"),
        other(4, "there", "slower"),
        other(5, "yonder", "undecided"),
        other(6, "here", "equivalent"),
        other(7, "far", "faster", level="third"),  # which is another comparison
    )
    assert found.reproducibility is not None
    assert found.reproducibility.verdicts == Agreement(of=5, agreeing=2, contradicting=1)
    assert found.reproducibility.hosts == 2


def test_without_another_campaign_reproducibility_is_not_measured() -> None:
    [found] = told(campaign(lambda _: 2.0), other(2, "there", "faster", level="third"))
    assert found.reproducibility is None


@given(st.sampled_from(WAYS), st.lists(st.sampled_from(WAYS), min_size=1))
def test_no_verdict_is_counted_twice(verdict: Verdict, others: list[Verdict]) -> None:
    ratios = {"faster": 2.0, "slower": 0.5, "equivalent": 1.0}
    [found] = told(
        campaign(lambda trial: ratios.get(verdict, 2.0 if trial.block % 2 else 0.5)),
        *(other(number, "there", of) for number, of in enumerate(others, 2)),
    )
    assert found.comparison.verdict == verdict
    assert found.reproducibility is not None
    agreement = found.reproducibility.verdicts
    assert agreement.of == len(others)
    assert (agreement.agreeing is None) == (verdict == "undecided")
    assert (agreement.agreeing or 0) + agreement.contradicting <= len(others)


# Predictive value


def test_each_context_is_predicted_by_the_others() -> None:
    ratios = {1: 2.0, 2: 8.0, 4: 0.5}
    found = told(campaign(lambda trial: ratios[int(trial.levels["threads"])], factors=FACTORS))
    values = [of.predictive_value for of in found]
    assert [value and value.verdicts for value in values] == [
        Agreement(2, 1, 1),
        Agreement(2, 1, 1),
        Agreement(2, 0, 2),
    ]
    assert [value and value.predicted for value in values] == [
        pytest.approx(2.0),  # of 8 and 0.5
        pytest.approx(1.0),
        pytest.approx(4.0),
    ]


def test_one_context_predicts_nothing() -> None:
    [found] = told(campaign(lambda _: 2.0))
    assert found.predictive_value is None


def test_a_level_without_a_ratio_has_no_verdict_to_speak_of() -> None:
    text = experiment_text(ONE_CONTEXT, trial=MIX)
    assert told(example_report(text, lambda _: {"throughput": 0.0})) == []
