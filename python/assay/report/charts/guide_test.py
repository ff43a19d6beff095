"""The examples of docs/guide/charts.md."""

import re
from pathlib import Path

from assay.plan.types import PlannedTrial
from assay.report.charts import figures
from assay.report.charts.chart import own
from assay.report.charts.panels import Panels
from example_report import example_report, experiment_text

GUIDE = Path(__file__).parents[4] / "docs" / "guide" / "charts.md"
METRICS = GUIDE.parents[1] / "reference" / "metrics.md"
FACTORS = """
subject = ["noop", "std_map_mutex"]
threads = [1, 2]
[factors.mix]
searches = { insert = 5, erase = 5, find = 90 }
updates = { insert = 50, erase = 50, find = 0 }
"""


def test_every_example_draws_something_of_metrics_that_trials_report() -> None:
    reported = re.findall(r"`([a-z_]+)`", METRICS.read_text(encoding="utf-8"))

    def metrics(trial: PlannedTrial) -> dict[str, float]:
        return dict.fromkeys(reported, 1.0 + trial.ordinal)

    examples = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    report = example_report(experiment_text(FACTORS, "\n".join(examples)), metrics)
    assert {chart.kind for chart in report.experiment.charts} == {
        "lines",
        "bars",
        "cumulative",
        "box",
    }
    drawn = list(own(Panels(report)))
    assert len({figure.kind.split("-")[1] for figure in drawn}) == len(report.experiment.charts) == 5
    for figure in drawn:
        assert figure.rows, figure.note
        assert figure.specification()


def test_the_charts_that_the_guide_names_exist() -> None:
    report = example_report(experiment_text(FACTORS), lambda trial: {"throughput": 1.0 + trial.ordinal})
    named = re.findall(r"--chart ([a-z0-9_-]+)", GUIDE.read_text(encoding="utf-8"))
    assert set(named) <= {figure.name for figure in figures(report)}
    assert named
