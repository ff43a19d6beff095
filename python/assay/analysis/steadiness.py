"""Warm-up and steady state of a trial, by changepoints in its throughput series (Barrett et al. 2017)."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.analysis.changepoints import Values, changepoints, noises, smooth

FEWEST = 16
"""The fewest full intervals to classify: with fewer, a step in the middle would seem to be noise."""

BINS = 100
"""Longer series are averaged to at most this many bins, so that a trial of any length takes a few ms."""

PENALTY = 6.0
"""The penalty of a changepoint, in units of noise variance times log(bins): more than 2 (Yao 1988), because
neighbours are correlated. Up to 11% of flat series are misclassified, so trials are reported, not dropped."""

SAME_LEVEL = 0.05
"""Segments whose levels differ by less than 5% are one state."""

STEADY_SHARE = 0.25
"""The steady state is at least this share of the trial, up to its end, as Barrett et al. require."""

SMALLEST_NOISE = 0.002
"""The least relative noise of a series."""

Kind = Literal["flat", "warm-up", "slowdown", "no steady state"]


def derive(result: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of a trial's throughput series.

    Args:
        result: schema `trial-result`; the series of its threads hold the operations in each interval. The
            last interval may be cut short and does not count.
        request: schema `trial-request`, for the length of an interval.

    Returns:
        `steady` (1 or 0), `steady_after_ms` from the start of the series (only if it is steady), and the
        percentiles over full intervals `interval_throughput_p5`, `_p50`, `_p95` in operations per second of
        all threads. Empty without a series of enough intervals.
    """
    interval_ms = request.get("interval_ms")
    threads = [thread.get("series", ()) for thread in result.get("threads", ())]
    if not interval_ms or not threads or len({len(series) for series in threads}) > 1:
        return {}
    series = np.sum(np.asarray(threads, dtype=np.float64), axis=0)[:-1]
    if series.size < FEWEST or not series.any():
        return {}
    derived = {
        f"interval_throughput_p{percent}": float(np.percentile(series, percent)) * 1000 / interval_ms
        for percent in (5, 50, 95)
    }
    kind, after = classify(series)
    if kind == "no steady state":
        return derived | {"steady": 0.0}
    return derived | {"steady": 1.0, "steady_after_ms": float(after * interval_ms)}


def classify(series: ArrayLike) -> tuple[Kind, int]:
    """Return how the throughput of one trial develops, and from which interval on it is steady.

    The steady state is the last segment between changepoints, with the segments directly before it that have
    the same level (median). `docs/statistics.md` defines the kinds (after Barrett et al. 2017).

    Args:
        series: the values of all full intervals, at least `FEWEST`, not negative, some above zero.
    """
    whole = np.asarray(series, dtype=np.float64)
    width = math.ceil(whole.size / BINS)
    if width > 1:
        whole = np.add.reduceat(
            whole[: whole.size // width * width], np.arange(0, whole.size - width + 1, width)
        )
    bins = whole / whole.mean()
    noise = float(noises(bins[None, :], _deviation, SMALLEST_NOISE)[0])
    smoothed = smooth(np.pad(bins, 1, "edge")[None, :])[0, 1:-1]
    penalty = PENALTY * math.log(bins.size)
    starts = [0, *changepoints(smoothed, noise, penalty, max(2, bins.size // 20))]
    levels = [float(np.median(part)) for part in np.split(bins, starts[1:])]
    last = len(levels) - 1
    while last > 0 and abs(levels[last - 1] - levels[-1]) < SAME_LEVEL * levels[-1]:
        last -= 1
    after = starts[last] * width
    if last == 0:
        return "flat", 0
    if bins.size - starts[last] < STEADY_SHARE * bins.size:
        return "no steady state", after
    return ("warm-up" if max(levels[:last]) < levels[-1] else "slowdown"), after


def _deviation(rows: Values) -> Values:
    """Return the standard deviation of each row, from its median absolute deviation, as for normal values.

    Unlike the noise in a history it is also robust against a trend, which trials have.
    """
    off = np.abs(rows - np.median(rows, axis=1, keepdims=True))
    return np.asarray(1.4826 * np.median(off, axis=1))
