"""The metrics that the reference defines: their names, their units and where they are defined."""

import re
from functools import cache
from pathlib import Path

from assay.experiment import Experiment

REFERENCE = Path(__file__).parent / "metrics.md"

_WITHOUT_UNIT = ("count", "ratio", "0 or 1")
_ENDINGS = ("ns", "us", "ms", "s", "bytes")
_NAMES = {
    "wall_ms": "time",
    "user_ms": "user time",
    "system_ms": "system time",
    "peak_resident_bytes": "peak memory",
}
"""Metric of a command -> what people call it."""

_PERCENTILES = r"(?:p50|p90|p99|p99_9|p99_99|mean|max)"


def unit_of(metric: str) -> str:
    """Return the unit of a metric of the trial protocol; empty where it has none, or is another program's."""
    return next((unit for pattern, unit, _ in _defined() if pattern.fullmatch(metric)), "")


def unit_in(experiment: Experiment, metric: str) -> str:
    """Return the unit of a metric in an experiment, as it follows a number wherever a person reads it.

    An extraction rule says it, or the reference where the metric is of the trial protocol, or the name's end.
    Counts and shares have none, nor has what is not known.
    """
    commands = any(program.is_command for program in experiment.programs.values())
    unit = experiment.unit(metric) or ("" if commands else unit_of(metric))
    if unit in _WITHOUT_UNIT:
        return ""
    return unit or next((of for of in _ENDINGS if metric.endswith(f"_{of}")), "")


def plain_name(metric: str) -> str:
    """Return a metric's name in words, with its unit where that ends it."""
    return _NAMES.get(metric, metric.replace("_", " "))


def name_of_metric(metric: str) -> str:
    """Return what people call a metric, without a unit."""
    name = _NAMES.get(metric, re.sub(r"(?<!_per)_(ns|us|ms|s|bytes)$", "", metric).replace("_", " "))
    return f"{name} time" if is_time(metric) and "time" not in name.split() else name


def is_time(metric: str) -> bool:
    """Return whether a metric is a length of time."""
    return re.search(r"(?<!_per)_(ns|us|ms|s)\Z", metric) is not None


def measured(experiment: Experiment, metric: str) -> str:
    """Return a metric with its unit, where that is known."""
    unit = unit_in(experiment, metric)
    return f"{metric} ({unit})" if unit else metric


def anchor_of(metric: str) -> str:
    """Return the name of a metric's definition on the page of metrics; empty where it has none."""
    return next((anchor for pattern, _, anchor in _defined() if pattern.fullmatch(metric)), "")


def anchor(name: str) -> str:
    """Return the anchor of a metric as the reference writes it, such as `role_NAME_throughput`."""
    return f"metric-{name}"


@cache
def _defined() -> list[tuple[re.Pattern[str], str, str]]:
    """Return pattern, unit and anchor of every metric of the reference, those named in full first."""
    defined = []
    for line in REFERENCE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| `") or len(cells) < 3:
            continue
        unit = cells[1] if len(cells) == 4 else ""
        for name in re.findall("`([^`]+)`", cells[0]):
            general = re.sub("[A-Z]+", "[a-z0-9_]+", name)
            if "and so on" in cells[0]:
                general = general.replace("p50", _PERCENTILES)
            defined.append((re.compile(general), unit, anchor(name)))
    # The longest first of those that leave something open: role_NAME_throughput before OPERATION_throughput.
    return sorted(defined, key=lambda entry: ("[" in entry[0].pattern, -len(entry[0].pattern)))
