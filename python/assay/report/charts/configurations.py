"""The configurations of a campaign about sensitivity as cumulative curves (Blackwell 1998, figure 12)."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from assay.analysis.configurations import Condition, conditions_of
from assay.experiment.sensitivity import NOTHING
from assay.report.charts import drawings
from assay.report.charts.axes import Up
from assay.report.charts.drawn import Figure, Row, Specification, numbers, titled, together
from assay.report.charts.panels import Panels
from assay.report.metrics import measured

NOTE = "A step is a configuration: the median of its trials. Large hollow: where the unperturbed system lies."


def configurations(panels: Panels) -> Iterator[Figure]:
    """Yield a figure for each condition: a curve for each thing perturbed, the unperturbed system on it."""
    one_layout = panels.report.campaign.host.get("one_layout", {})
    found = conditions_of(panels.report.trials, panels.experiment, one_layout)
    figures = [
        Figure("configurations", titled("Distribution over configurations", condition.levels), rows, NOTE)
        for condition in found
        if (rows := list(_rows(condition, panels)))
    ]

    def specification(rows: Sequence[Row]) -> Specification:
        values = numbers(rows, "value", "at")
        what = measured(panels.experiment, panels.report.analysis.metric)
        up = Up.sharing(what, values, log=min(values) > 0, zero=False)
        series = panels.levels.only({row["series"] for row in rows})
        return drawings.cumulative(up, series, "configurations", marked=any("at" in row for row in rows))

    yield from together(figures, specification)


def _rows(condition: Condition, panels: Panels) -> Iterator[Row]:
    for perturbed, medians in condition.medians.items():
        series = {"series": panels.names[panels.factor][perturbed]}
        curve = [(median, place / len(medians)) for place, median in enumerate(medians, start=1)]
        for value, share in [(medians[0], 0.0), *curve] if curve else []:
            yield {**series, "value": value, "share": share}
        if curve and perturbed != NOTHING and condition.unperturbed is not None:
            at = condition.unperturbed
            yield {**series, "at": at, "share": bisect_right(medians, at) / len(medians)}
