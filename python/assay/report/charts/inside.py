"""What trials tell of their inside: what each role of threads got done, and what probes recorded."""

import re
from collections.abc import Iterator

from assay.report.charts.comparison import medians
from assay.report.charts.drawn import Drawn
from assay.report.charts.panels import Panels, of_metric, summary

# docs/reference/metrics.md: the pattern of a metric -> what its figure is called
_METRICS = {
    re.compile(r"role_([a-z0-9_]+?)_throughput"): "Operations / s of role {}",
    re.compile(r"role_([a-z0-9_]+?)_longest_ns"): "Longest operation of role {} (ns)",
    re.compile(r"probe_([a-z0-9_]+)"): "Probe {}",
}


def inside(panels: Panels) -> Iterator[Drawn]:
    """Yield a figure of each such metric for each panel, in the order of the patterns.

    A program reports every probe that it has, also those of code that the campaign never ran: those that are
    0 throughout are left out.
    """
    trials = [trial for condition in panels.conditions for trial in condition.trials]
    names = sorted({name for trial in trials for name, value in trial.metrics.items() if value != 0})
    for pattern, title in _METRICS.items():
        for name in names:
            if found := pattern.fullmatch(name):
                yield from medians(
                    panels,
                    lambda condition, name=name: summary(condition, of_metric(name)),  # type: ignore[misc]
                    section="inside",
                    kind=name,
                    what=title.format(found[1]),
                )
