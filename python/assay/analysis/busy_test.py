"""What trials lost to other work, and what follows from it for verdicts."""

from typing import Any, Literal

import pytest

from assay.analysis import summarise
from assay.analysis.busy import busy_reason, lost
from assay.analysis.sequential import stop_reason
from assay.analysis.summary_test import campaign, experiment, only, trial
from assay.experiment.types import Busy, Design, Experiment

TRIALS = 2 * 3  # of a block


def asked(busy: Busy) -> Experiment:
    planned = experiment()
    return planned.model_copy(update={"design": planned.design.model_copy(update={"busy": busy})})


def loses(share: float, subject: str = "other") -> Any:
    """Return what makes trials of a subject with two threads lose a share of their processor time."""

    def change(_block: int, name: str, threads: int) -> dict[str, Any]:
        there = (name, threads) == (subject, 2)
        return {"metrics": {"throughput": 100.0, "lost_share": share if there else 0.01}}

    return change


def test_what_trials_lost_is_their_mean_and_shares_alone_count() -> None:
    shares = [0.2, 0.4, -1.0, 7.0, float("nan")]
    trials = [trial(i, 0, 0, {}, metrics={"lost_share": share}) for i, share in enumerate(shares)]
    assert lost([*trials, trial(9, 0, 0, {})]) == pytest.approx(0.3)
    assert lost([trial(9, 0, 0, {})]) is None


@pytest.mark.parametrize("busy", ["withhold", "wait"])
def test_verdicts_on_disturbed_trials_are_withheld_in_their_context_alone(
    busy: Literal["withhold", "wait"],
) -> None:
    analysis = summarise(campaign(10, loses(0.35)), asked(busy))
    there = only(analysis.comparisons, "other", 2)
    assert (there.withheld, there.ratio, there.verdict) == (True, None, "undecided")
    assert there.reason == "trials of other lost 35% of their processor time to other work"
    others = [answer for answer in analysis.comparisons if answer is not there]
    assert {(answer.withheld, answer.verdict) for answer in others} == {(False, "equivalent")}
    assert analysis.busy
    assert max(condition.lost or 0 for condition in analysis.conditions) == pytest.approx(0.35)


def test_a_disturbed_baseline_takes_every_verdict_of_its_context() -> None:
    analysis = summarise(campaign(10, loses(0.35, "base")), asked("withhold"))
    withheld = [answer.withheld for answer in analysis.comparisons if answer.context == {"threads": 2}]
    assert withheld == [True, True]


def test_a_simulated_processor_knows_nothing_of_the_load_but_times_beside_it_do() -> None:
    metric = "simulated_instructions_per_operation"

    def change(_block: int, _name: str, _threads: int) -> dict[str, Any]:
        return {"metrics": {"throughput": 100.0, metric: 7.0, "lost_share": 0.35}}

    planned = asked("withhold")
    for also, withheld in (({}, False), ({"throughput": "higher"}, True)):
        comparison = planned.comparison.model_copy(update={"metric": metric, "better": "lower", "also": also})
        asks = planned.model_copy(update={"comparison": comparison})
        analysis = summarise(campaign(10, change), asks)
        assert {answer.withheld for answer in analysis.comparisons} == {withheld}
        assert analysis.busy == withheld


def test_an_experiment_may_count_them_and_a_little_load_is_counted() -> None:
    for busy, share in (("count", 0.35), ("withhold", 0.09)):
        analysis = summarise(campaign(10, loses(share)), asked(busy))  # type: ignore[arg-type]
        assert not analysis.busy
        assert {answer.verdict for answer in analysis.comparisons} == {"equivalent"}


def test_a_campaign_does_not_end_early_while_the_host_is_busy() -> None:
    until = Design(blocks=60, until="verdict")
    planned = experiment(blocks=until)
    assert stop_reason(summarise(campaign(20, loses(0.01)), planned), until)
    assert not stop_reason(summarise(campaign(20, loses(0.35)), planned), until)


def test_only_the_last_run_of_a_disturbed_group_counts_where_it_was_repeated() -> None:
    disturbed = campaign(10, loses(0.35))
    groups = [of for of in disturbed if of.levels["threads"] == 2]
    quiet = [
        trial(
            of.ordinal + 1000,
            of.block,
            of.group + 1000,
            dict(of.levels),
            metrics={"throughput": 200.0, "lost_share": 0.0},
            repeats=of.group,
        )
        for of in groups
    ]
    analysis = summarise([*disturbed, *quiet], asked("wait"))
    assert not analysis.busy
    assert only(analysis.comparisons, "other", 2).pairs == 10
    # Where nobody asked for it, what was repeated for another reason counts as it did.
    assert summarise([*disturbed, *quiet], asked("withhold")).busy


def test_a_group_is_to_be_repeated_where_its_trials_lost_much() -> None:
    group = [trial(i, 0, 0, {}, metrics={"lost_share": share}) for i, share in enumerate((0.05, 0.35))]
    assert busy_reason(group) == "the host was busy: threads lost 20% of their processor time to other work"
    assert busy_reason(group[:1]) == ""
