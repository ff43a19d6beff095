"""What a campaign about sensitivity says where other work on the host disturbed configurations."""

import pytest

from assay.audit import audit
from assay.experiment import Experiment
from assay.experiment.sensitivity import CONFIGURATION, EVERYTHING, PERTURBED, sensitive
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


def test_nothing_is_said_of_a_quiet_host() -> None:
    assert headline(report(0)).endswith(
        "(subject=noop), which is not shown to be more than chance alone gives."
    )
    assert not any("eft out" in text for text in sensitivity.about(sensitivity.measured(report(0))[0]))


def test_a_few_disturbed_configurations_are_left_out_and_the_answer_stays() -> None:
    told = report(2)
    assert headline(told).startswith("Two equal systems, each measured once")
    assert headline(told).endswith(" 2 of 10 configurations are left out, as the host was busy.")
    (condition,) = [condition for condition in sensitivity.measured(told) if condition.left_out]
    assert sensitivity.further(condition)[0] == (
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
    assert sensitivity.further(sensitivity.measured(told)[0])[0].startswith(
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
    assert "these configurations are left out" in finding.message
