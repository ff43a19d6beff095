"""Tests of what is said of how far verdicts hold, on campaigns with known answers."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import Verdict
from assay.analysis.meaningfulness import Agreement, Meaning, OtherCampaignVerdict, compared, meanings
from assay.experiment.sensitivity import sensitive
from assay.plan.types import PlannedTrial
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
) -> Any:
    """Return a campaign of 12 blocks in which `other` has this ratio to `noop`."""
    text = experiment_text(factors, trial=MIX).replace("[comparison]", f'[comparison]\nbetter = "{better}"')
    return example_report(
        text,
        lambda trial: {"throughput": 100.0 * (ratio(trial) if trial.levels["subject"] == "other" else 1)},
        perturbation=drawn,
    )


def told(report: Any, *elsewhere: OtherCampaignVerdict) -> list[Meaning]:
    return meanings(report.trials, report.experiment, report.analysis, host="here", elsewhere=elsewhere)


def other(campaign: int, host: str, verdict: Verdict, level: str = "other") -> OtherCampaignVerdict:
    return OtherCampaignVerdict(campaign, host, compared("throughput", "", level, "noop"), verdict)


# Repeatability


def test_the_spread_of_a_configurations_trials_is_pooled() -> None:
    # Blocks 0 and 1 ran one configuration of each side, blocks 2 and 3 another one; the others differ.
    [found] = told(
        campaign(
            lambda trial: {0: 1.0, 1: 1.21, 2: 2.0, 3: 2.0}.get(trial.block, 1.5),
            drawn=lambda trial: {"key_range": {0: 1, 1: 1, 2: 2, 3: 2}.get(trial.block, 10 + trial.block)},
        )
    )
    assert found.repeatability is not None
    # 100 and 121, twice 200, and of the baseline twice twice 100
    assert (found.repeatability.configurations, found.repeatability.trials) == (4, 8)
    spread = math.sqrt(2 * (math.log(1.21) / 2) ** 2 / 4)
    assert found.repeatability.spread_percent == pytest.approx(100 * math.expm1(spread))


def test_trials_that_were_moved_otherwise_are_not_of_one_configuration() -> None:
    moved = campaign(lambda _: 2.0, drawn=lambda trial: {"key_range": float(trial.block)})
    [found] = told(moved)
    assert found.repeatability is None


def test_a_campaign_about_sensitivity_tells_how_repeatable_its_conditions_are() -> None:
    text = experiment_text(ONE_CONTEXT, "[perturb]\nkey_range = 0.05", trial=MIX)

    def metrics(trial: PlannedTrial) -> dict[str, float]:
        return {"throughput": 121.0 if trial.block else 100.0}

    replicates = example_report(
        text, metrics, changed=lambda of: sensitive(of, configurations=3, replicates=2, randomness=())
    ).trials
    report = campaign(lambda _: 2.0, drawn=lambda trial: {"key_range": trial.block / 1000 + 100})
    [found] = meanings(
        report.trials, report.experiment, report.analysis, host="", elsewhere=(), replicates=replicates
    )
    assert found.repeatability is not None
    # of each side: what nothing moved is one configuration
    things = {str(trial.levels["perturbed"]) for trial in replicates}
    assert found.repeatability.trials == 2 * 2 * 3 * len(things)
    assert found.repeatability.configurations <= 2 * (1 + 3 * (len(things) - 1))
    assert found.repeatability.spread_percent > 10


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


@pytest.mark.parametrize("contexts_of_0", [1, 2])
def test_contexts_in_which_nothing_was_counted_are_left_out_of_the_prediction(contexts_of_0: int) -> None:
    ratios = dict(zip((1, 2, 4), [0.0] * contexts_of_0 + [2.0] * 3, strict=False))
    found = told(campaign(lambda trial: ratios[int(trial.levels["threads"])], factors=FACTORS))
    assert found
    for of in found:
        assert of.predictive_value is None or of.predictive_value.predicted in (None, pytest.approx(2.0))


def test_one_context_predicts_nothing() -> None:
    [found] = told(campaign(lambda _: 2.0))
    assert found.predictive_value is None


def test_a_level_without_a_ratio_has_no_verdict_to_speak_of() -> None:
    text = experiment_text(ONE_CONTEXT, trial=MIX)
    assert told(example_report(text, lambda _: {"throughput": 0.0})) == []
