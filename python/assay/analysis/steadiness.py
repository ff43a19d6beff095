"""Warm-up and steady state of a trial, by changepoints in its throughput series (Barrett et al. 2017)."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST = 16
"""Full intervals below which nothing is said: of fewer, a step half-way would be taken for noise."""

BINS = 100
"""Longer series are averaged to at most this many bins, so that a trial of any length takes a few ms."""

PENALTY = 6.0
"""Of a changepoint, in units of noise variance times log(bins): more than 2 (Yao 1988), because neighbours
are correlated. Of flat series up to 11% are called something else; so a trial is named, never left out."""

SAME_LEVEL = 0.05
"""Segments whose levels differ by less than 5% are one state."""

STEADY_SHARE = 0.25
"""The steady state has lasted for at least this share of the trial when it ends, as Barrett et al. ask."""

SMALLEST_NOISE = 0.002
"""Relative noise that every series is taken to have at least."""

NOISE_WINDOW = 3

Kind = Literal["flat", "warm-up", "slowdown", "no steady state"]

_Series = NDArray[np.float64]


def derive(result: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, float]:
    """Return what a trial's throughput series says, as metrics.

    Args:
        result: schema `trial-result`; the series of its threads hold operations in each interval, the last of
            which may be cut short and is left out.
        request: schema `trial-request`, for the length of an interval.

    Returns:
        `steady` (1 or 0), `steady_after_ms` from the start of the series (only where it is steady), and the
        percentiles over full intervals `interval_throughput_p5`, `_p50`, `_p95` in operations per second of
        all threads. Nothing where there is no series of enough intervals.
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

    The steady state is the last segment between changepoints with those before it, without a break, whose
    levels (medians) are the same. `docs/statistics.md` defines the kinds (after Barrett et al. 2017).

    Args:
        series: one value for each full interval, at least `FEWEST`, not negative, some above zero.
    """
    whole = np.asarray(series, dtype=np.float64)
    width = math.ceil(whole.size / BINS)
    if width > 1:
        whole = np.add.reduceat(
            whole[: whole.size // width * width], np.arange(0, whole.size - width + 1, width)
        )
    bins = whole / whole.mean()
    starts = _segments(bins)
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


def _segments(bins: _Series) -> list[int]:
    """Return where the segments between changepoints start, 0 first.

    Squared error within segments plus a penalty for each is least (Killick et al. 2012). A running median of
    three takes out single bins in which the host did something else.
    """
    # Loaded late because it is slow; it ships no types.
    from ruptures import KernelCPD  # type: ignore[import-untyped] # noqa: PLC0415

    padded = np.concatenate((bins[:1], bins, bins[-1:]))
    smooth = np.median(np.stack((padded[:-2], padded[1:-1], padded[2:])), axis=0)
    penalty = PENALTY * _noise(bins) ** 2 * math.log(bins.size)
    finder = KernelCPD(kernel="linear", min_size=max(2, bins.size // 20)).fit(smooth.reshape(-1, 1))
    return [0, *map(int, finder.predict(pen=penalty)[:-1])]


def _noise(bins: _Series) -> float:
    """Return a robust standard deviation of single bins, changepoints and trend aside.

    From differences of neighbours, or of the means of neighbouring windows where that is more: correlated
    neighbours differ too little.
    """
    windows = np.convolve(bins, np.full(NOISE_WINDOW, 1 / NOISE_WINDOW), "valid")
    near = np.diff(bins) / math.sqrt(2)
    wide = (windows[NOISE_WINDOW:] - windows[:-NOISE_WINDOW]) * math.sqrt(NOISE_WINDOW / 2)
    return max(_deviation(near), _deviation(wide), SMALLEST_NOISE)


def _deviation(values: _Series) -> float:
    """Return the standard deviation of normal values from their median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))
