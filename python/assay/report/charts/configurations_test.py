"""The curves over the configurations of a campaign about sensitivity."""

import altair
import pytest
import vl_convert

from assay.analysis.intervals import distribution_band
from assay.experiment import Experiment
from assay.experiment.sensitivity import CONFIGURATION, NOTHING, PERTURBED, sensitive
from assay.plan.types import PlannedTrial
from assay.report.charts import figures
from example_report import example_report, experiment_text

PERTURB = "[perturb]\nkey_range = 0.05\nenvironment = 4096\nstack = false\nheap = false\nthread_order = false"


def asked(experiment: Experiment) -> Experiment:
    return sensitive(experiment, configurations=4, replicates=3, randomness=())


def metrics(trial: PlannedTrial) -> dict[str, float]:
    """Configurations 1 to 4 give 10 to 40, and replicates 1 more each; what is not perturbed gives 25."""
    moved = 10.0 * int(trial.levels[CONFIGURATION]) + trial.block
    return {"throughput": 25.0 if trial.levels[PERTURBED] == NOTHING else moved}


def test_each_thing_perturbed_has_a_curve_with_the_unperturbed_system_on_it() -> None:
    text = experiment_text('subject = ["noop", "other"]', PERTURB, trial="mix = { find = 100 }")
    drawn = [
        figure
        for figure in figures(example_report(text, metrics, changed=asked))
        if figure.section == "trials"
    ]
    assert [figure.title for figure in drawn] == [
        "Distribution over configurations: subject=noop",
        "Distribution over configurations: subject=other",
    ]
    for figure in drawn:
        for series in ("key_range", "environment", "everything"):
            rows = [row for row in figure.rows if row["series"] == series]
            assert [(row["value"], row["share"]) for row in rows if "value" in row] == [
                *((11, 0), (11, 0.25), (21, 0.5), (31, 0.75), (41, 1)),
            ]
            assert [(row["at"], row["share"]) for row in rows if "at" in row] == [(25, 0.5)]
        (alone,) = {row["value"] for row in figure.rows if row["series"] == NOTHING}
        assert alone == 25
        assert not any("low" in row for row in figure.rows)  # four curves
    specification = drawn[0].specification()
    altair.Chart.from_dict(specification, validate=True)
    complete = {**specification, "width": 400, "datasets": {"rows": list(drawn[0].rows)}}
    assert "share of configurations" in vl_convert.vegalite_to_svg(complete, allowed_base_urls=[])


def test_few_curves_have_bands() -> None:
    perturb = PERTURB.replace("environment = 4096", "environment = false")
    text = experiment_text('subject = ["noop", "other"]', perturb, trial="mix = { find = 100 }")
    (figure, _) = (
        figure
        for figure in figures(example_report(text, metrics, changed=asked))
        if figure.section == "trials"
    )
    bands = [row for row in figure.rows if "low" in row]
    assert {row["series"] for row in bands} == {NOTHING, "everything"}
    half = distribution_band(4)
    assert all(row["high"] == pytest.approx(min(1, row["share"] + half)) for row in bands)
    assert "Band:" in figure.note


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_values_that_are_not_positive_are_drawn_too(value: float) -> None:
    text = experiment_text('subject = ["noop", "other"]', PERTURB, trial="mix = { find = 100 }")
    report = example_report(
        text,
        lambda trial: {"throughput": value if trial.levels[CONFIGURATION] == 1 else 10.0},
        changed=asked,
    )
    drawn = [figure for figure in figures(report) if figure.section == "trials"]
    assert len(drawn) == 2
    for figure in drawn:
        assert {row["value"] for row in figure.rows if "value" in row} == {value, 10}
        complete = {**figure.specification(), "width": 400, "datasets": {"rows": list(figure.rows)}}
        assert "share of configurations" in vl_convert.vegalite_to_svg(complete, allowed_base_urls=[])
