"""What a campaign about sensitivity says, also where trials starve or other work disturbed them."""

from collections.abc import Callable
from random import Random

import pytest

from assay.analysis.configurations import Zeros
from assay.audit import audit
from assay.experiment import Experiment
from assay.experiment.sensitivity import CONFIGURATION, EVERYTHING, NOTHING, PERTURBED, sensitive
from assay.plan.types import PlannedTrial
from assay.report import sensitivity
from assay.report.gather import Report
from assay.report.headline import headline
from example_report import example_report, experiment_text

PERTURB = "[perturb]\nkey_range = 0.05\nenvironment = 4096\nstack = false\nheap = false\nthread_order = false"


def asked(experiment: Experiment) -> Experiment:
    return sensitive(experiment, configurations=10, replicates=2, randomness=())


def report(busy: int, subject: str = "noop") -> Report:
    """Return what a campaign says in which the first `busy` configurations of a subject are disturbed."""

    def metrics(trial: PlannedTrial) -> dict[str, float]:
        number = int(trial.levels[CONFIGURATION])
        disturbed = (trial.levels[PERTURBED], trial.levels["subject"]) == (EVERYTHING, subject)
        lost = 0.4 if disturbed and number <= busy else 0.01
        slower = 2 if trial.levels["subject"] == "noop" else 1
        return {"throughput": 1000.0 + slower * 10 * number + trial.block, "lost_share": lost}

    text = experiment_text('subject = ["noop", "other"]', PERTURB, trial="mix = { find = 100 }")
    return example_report(text, metrics, changed=asked)


def test_the_answer_is_the_median_condition_and_the_largest_says_that_it_is_one_of_many() -> None:
    """One condition varies by 1.7% in the median and one by 0.9%; see `metrics` in `report`."""
    told = report(0)
    first, second = sensitivity.measured(told)
    estimates = []
    for condition in (first, second):
        found = condition.perturbed[EVERYTHING]
        assert found is not None
        estimates.append(found.single.typical)
    said = headline(told)
    median = sensitivity.percent((estimates[0] + estimates[1]) / 2 - 1)
    largest = sensitivity.percent(max(estimates) - 1)
    assert f"would differ in throughput by {median} (" in said
    assert "or more in one of 20: the median of 2 conditions." in said
    assert f"The largest of the 2 (subject=noop): {largest} (" in said
    assert said.endswith("as the largest, not shown to be more than chance alone gives.")


def test_nothing_is_said_of_a_quiet_host() -> None:
    told = report(0)
    assert not any(
        "eft out" in text for text in sensitivity.about(sensitivity.measured(told)[0], told.experiment)
    )


def test_a_level_of_each_factor_is_related_to_its_first_one() -> None:
    """One varies twice as much as the other, for certain: replicates differ by a tenth of it."""

    def metrics(trial: PlannedTrial) -> dict[str, float]:
        number = int(trial.levels[CONFIGURATION])
        wide = 2 if trial.levels["subject"] == "noop" else 0.1
        moved = trial.levels[PERTURBED] == EVERYTHING
        return {"throughput": 1000.0 + moved * wide * 10 * number + trial.block}

    text = experiment_text('subject = ["noop", "other"]', PERTURB, trial="mix = { find = 100 }")
    told = example_report(text, metrics, changed=asked)
    (line,) = sensitivity.relations(sensitivity.measured(told), told.experiment)
    assert line.startswith("Sensitivity, subject=other against noop: less sensitive, 0.05")


# Zeros: a system that starves


def starving(zeros: Callable[[PlannedTrial], bool], more: str = "") -> Report:
    """Return what a campaign says in which the trials starve that a function names."""

    def metrics(trial: PlannedTrial) -> dict[str, float]:
        return {"throughput": 0.0 if zeros(trial) else 1000.0 + int(trial.levels[CONFIGURATION])}

    text = experiment_text('subject = ["noop", "other"]', PERTURB, trial="mix = { find = 100 }")
    text = text.replace("[comparison]", f"[comparison]\n{more}")
    return example_report(text, metrics, changed=lambda experiment: sensitive(experiment, 12, 4, [0.5, 1]))


def test_a_system_that_starves_in_configurations_is_sensitive_and_says_in_how_many_trials() -> None:
    """4 of 12 configurations starve in each trial, with everything perturbed alone."""
    told = starving(
        lambda trial: trial.levels[PERTURBED] == EVERYTHING and int(trial.levels[CONFIGURATION]) % 3 == 0,
        "pathological = 0.1",
    )
    condition = sensitivity.measured(told)[0]
    assert condition.scale == "mean"
    assert condition.zeros[EVERYTHING] == Zeros(16, 48)
    assert condition.zeros[NOTHING] == Zeros(0, 48)
    found = condition.perturbed[EVERYTHING]
    assert found is not None
    assert found.spread.deviation == pytest.approx(0.74, abs=0.01)  # 8 of 12 at 1.5 times the mean: 0.7386
    assert headline(told).startswith("throughput was 0 in 32 of ")
    about = sensitivity.further(condition, told.experiment)
    assert about[-1] == (
        "Pathological, throughput below 0.1 times the median of its condition: "
        "33.3% (95%: 9.92% to 65.1%), 4 of 12 configurations."
    )


def test_a_system_that_starves_by_chance_needs_more_trials_and_is_not_said_to_need_nothing() -> None:
    random = Random(39)
    told = starving(lambda _: random.random() < 69 / 240)
    conditions = sensitivity.measured(told)
    condition = conditions[0]
    each = [zeros for of in conditions for zeros in of.zeros.values()]
    zeros, trials = sum(of.count for of in each), sum(of.of for of in each)
    assert 0.2 < zeros / trials < 0.4
    assert headline(told).startswith(f"throughput was 0 in {zeros} of ")
    assert "0%" not in headline(told).split("by ", 1)[1].split()[0]
    assert "No randomness need be added" not in " ".join(sensitivity.further(condition, told.experiment))
    found = condition.perturbed[EVERYTHING]
    assert found is not None
    assert found.split is not None
    assert found.split.within > 0.4  # of the mean; in truth sqrt(0.29 / 0.71), which is 0.64


def test_a_metric_that_is_always_0_has_no_ratio_and_one_below_0_is_in_its_own_unit() -> None:
    told = starving(lambda _: True)
    assert headline(told).startswith("No ratio can be made: throughput was 0 in each of ")
    text = experiment_text('subject = ["noop", "other"]', PERTURB, trial="mix = { find = 100 }")
    signed = example_report(
        text, lambda trial: {"throughput": int(trial.levels[CONFIGURATION]) - 9.0}, changed=asked
    )
    condition = sensitivity.measured(signed)[0]
    found = condition.perturbed[EVERYTHING]
    assert condition.scale == "unit"
    assert found is not None
    assert found.spread.deviation == pytest.approx(3.0277, abs=1e-3)
    assert "so that no ratio can be made: its numbers are in its own unit." in headline(signed)


# A busy host


def test_a_few_disturbed_configurations_are_left_out_and_the_answer_stays() -> None:
    told = report(2)
    assert headline(told).startswith("Two equal systems, each measured once")
    assert headline(told).endswith(" 2 of 10 configurations are left out, as the host was busy.")
    (condition,) = [condition for condition in sensitivity.measured(told) if condition.left_out]
    assert sensitivity.further(condition, told.experiment)[0] == (
        "Left out, as other work took more than 10% of their processor time: 2 of 10 with everything. Where "
        "that is more than 20% of the configurations, the line is withheld."
    )


def test_with_too_many_the_condition_is_withheld_and_the_other_one_is_not() -> None:
    told = report(3)
    other, withheld = sensitivity.measured(told)
    assert (other.levels, withheld.levels) == ({"subject": "other"}, {"subject": "noop"})
    assert headline(told).endswith(" Withheld of 1 other condition: the host was busy.")
    lines = {row.perturbed: row.deviation for row in sensitivity.rows(withheld)}
    assert lines.pop(EVERYTHING) == "withheld"
    assert "withheld" not in lines.values()


def test_where_every_condition_has_too_many_there_is_no_answer() -> None:
    text = experiment_text('subject = ["noop", "other"]', PERTURB, trial="mix = { find = 100 }")
    told = example_report(text, lambda _: {"throughput": 1e6, "lost_share": 0.5}, changed=asked)
    assert sensitivity.further(sensitivity.measured(told)[0], told.experiment)[0].startswith(
        "Left out, as other work took more than 10% of their processor time: 10 of 10 with each. "
    )
    assert headline(told) == (
        "Withheld: in 10 of 10 configurations other work took the trials' processors, which scatters results "
        "more than all else."
    )


@pytest.mark.parametrize(("busy", "severity"), [(2, "warning"), (3, "error")])
def test_the_audit_calls_it_an_error_where_too_many_are_left_out(busy: int, severity: str) -> None:
    told = report(busy)
    (finding,) = [
        finding
        for finding in audit(told.experiment, told.trials, told.campaign.host)
        if finding.rule == "busy-host" and finding.severity == severity
    ]
    assert finding.message.startswith("Configurations are left out")
