"""Tests of what a page says of how far verdicts hold."""

from collections.abc import Mapping
from dataclasses import replace

from assay.analysis.meaningfulness import OtherCampaignVerdict, compared, meanings
from assay.plan.types import PlannedTrial
from assay.report.gather import Report
from assay.report.meaning import MeaningSection, section
from example_report import example_report, experiment_text

ONE_CONTEXT = 'subject = ["noop", "other"]'


def campaign(
    factors: str = ONE_CONTEXT,
    *,
    more: str = "",
    trial: str = "mix = { find = 100 }",
    drawn: Mapping[str, float | str] | None = None,
) -> Report:
    def metrics(planned: PlannedTrial) -> dict[str, float]:
        ratio = 2.0 if planned.block != 3 else 0.9
        return {"throughput": 100.0 * (ratio if planned.levels["subject"] == "other" else 1)}

    text = experiment_text(factors, more, trial=trial).replace(
        "[comparison]", '[comparison]\nbetter = "higher"'
    )

    def moved(planned: PlannedTrial) -> Mapping[str, float | str]:
        return {"key_range": 1.0 + planned.ordinal, "environment_bytes": 7} if drawn is None else drawn

    return example_report(text, metrics, perturbation=moved)


def told(report: Report, *elsewhere: OtherCampaignVerdict) -> MeaningSection:
    every = meanings(report.trials, report.experiment, report.analysis, host="", elsewhere=elsewhere)
    return section(report, every)


def other(number: int, host: str, verdict: str) -> OtherCampaignVerdict:
    same = compared("throughput", "", "other", "noop")
    return OtherCampaignVerdict(number, host, same, verdict)  # type: ignore[arg-type]


def test_what_was_measured_is_told() -> None:
    shown = told(campaign(), other(2, "beta", "faster"), other(3, "", "slower"))
    [(_, cells)] = shown.rows
    assert cells == (
        "",
        "11 of 12 pairs agree; spread 26%",
        "1 of 2 other campaigns agrees, 1 contradicts; on 1 other host",
        "",
    )
    assert shown.moved == ("key range", "environment")


def test_of_an_undecided_verdict_the_numbers_are_told_without_agreement() -> None:
    report = campaign('subject = ["noop", "other"]\nthreads = [1, 2]')
    undecided = replace(
        report,
        analysis=replace(
            report.analysis,
            comparisons=tuple(replace(of, verdict="undecided") for of in report.analysis.comparisons),
        ),
    )
    for _, cells in told(undecided).rows:
        assert cells[3] == "1 other context, no verdict here; they predict 1.871"


def test_where_nothing_was_moved_robustness_is_not_measured() -> None:
    shown = told(campaign(drawn={}))
    assert shown.moved == ()
    assert shown.rows[0][1][1] == ""
