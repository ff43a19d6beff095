"""From counts to a verdict: pure functions.

Every test has a p-value under one hypothesis, that the numbers are independent and uniform. The p-values of
all tests of an engine are multiplied by their number (Bonferroni), which holds whatever the tests have to do
with each other: an engine without a flaw is suspect with a probability of at most `SUSPECT`, and rejected
with one of at most `REJECTED`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.analysis.intervals import median, median_interval
from assay_lab.engines.types import (
    NOT_REPEATED,
    SEED_BITS,
    ZERO_IS_ONE,
    Counts,
    EngineVerdict,
    Kind,
    KindTests,
    Speed,
    Word,
)
from assay_lab.engines.words import effect_of, why_of

REJECTED = 1e-6
SUSPECT = 1e-3
FEWEST_EXPECTED = 5
"""In each cell of a table that is tested: with fewer its statistic has another distribution."""
FEWEST_FREEDOM = 8
"""Degrees from which a table may be too even as well: with fewer, an even one is not surprising."""

Floats = NDArray[np.float64]
_Tests = tuple[Kind, Sequence[Any], Floats]


def judge(counts: Counts) -> EngineVerdict:
    """Judge an engine by all that was counted."""
    tests = [
        *_of_bits(counts["bits"]),
        *_of_keys(counts["keys"], counts["mix_percent"]),
        *(_of_seeds(counts["seeds"]) if "seeds" in counts else ()),
        *(_of_streams(counts["streams"], counts["bits"]["bits"]) if "streams" in counts else ()),
    ]
    p_values = np.concatenate([p for _, _, p in tests])
    adjusted = iter(np.minimum(1, len(p_values) * p_values).tolist())
    test_kinds = [
        KindTests(kind, subjects, p.tolist(), [next(adjusted) for _ in subjects])
        for kind, subjects, p in tests
    ]
    smallest = min(tests_of_kind.smallest for tests_of_kind in test_kinds)
    word: Word = "rejected" if smallest < REJECTED else "suspect" if smallest < SUSPECT else "accepted"
    if word == "accepted":
        return EngineVerdict(word, "", "", test_kinds)
    level = REJECTED if word == "rejected" else SUSPECT
    failing: dict[Kind, list[Any]] = {kind: [] for kind in Kind}
    failing |= {tests_of_kind.kind: tests_of_kind.failing(level) for tests_of_kind in test_kinds}
    return EngineVerdict(word, why_of(counts, failing), effect_of(counts, failing), test_kinds)


def speed_of(counts: Counts) -> Speed:
    """Return what a number costs, from the rounds that were timed."""
    rounds = [counts["speed"][name] for name in ("source_ns", "floor_ns")]
    (source, source_interval), (floor, floor_interval) = [(median(ns), median_interval(ns)) for ns in rounds]
    assert source_interval
    assert floor_interval
    return Speed(source, source_interval, floor, floor_interval)


def _of_bits(bits: Counts) -> Iterator[_Tests]:
    used, numbers = bits["bits"], bits["at"][-1]
    places = range(used)
    yield Kind.SUM, places, _fair(bits["ones"][-1][:used], numbers)
    yield Kind.ALTERNATION, places, _fair(bits["changes"][:used], numbers - 1)
    # That a fair bit follows some period throughout is less probable than any double.
    yield Kind.PERIOD, places, np.where(np.asarray(bits["periods"][:used]) > 0, 0.0, 1.0)
    compared = np.asarray(bits["compared"])
    lags = range(1, len(compared) + 1)
    differing = np.asarray(bits["differing"])[:, :used]
    yield (
        Kind.LAG,
        [(bit, lag) for lag in lags for bit in places],
        _fair(differing, compared[:, None]).ravel(),
    )
    for kind, products, variance in (
        (Kind.NUMBERS, bits["products"], 1 / 12),
        (Kind.LOW_BYTES, bits["low_products"], (2**16 - 1) / 12),
    ):
        yield kind, lags, _normal(np.asarray(products) / (np.sqrt(compared) * variance))


def _of_keys(entries: Sequence[Counts], mix_percent: Sequence[float]) -> Iterator[_Tests]:
    """Yield the tests of keys; a table that expects too little in a cell is left out."""
    kinds = (Kind.KEYS, Kind.MIX, Kind.OPERATION, Kind.NEXT)
    by_kind: dict[Kind, list[tuple[int, float]]] = {kind: [] for kind in kinds}

    def test(kind: Kind, place: int, table: Floats, expected: Floats, freedom: int) -> None:
        if expected.min() >= FEWEST_EXPECTED:
            statistic = float(((table - expected) ** 2 / expected).sum())
            by_kind[kind].append((place, _chi_square(statistic, freedom)))

    for place, entry in enumerate(entries):
        n, size = entry["operations"], entry["range"]
        if n >= FEWEST_EXPECTED * size:
            statistic = entry["sum_of_squares"] * size / n - n
            by_kind[Kind.KEYS].append((place, _chi_square(statistic, size - 1)))
        if "by_place" not in entry:
            continue
        performed = np.asarray(entry["by_place"]["with_operation"], float).sum(axis=1)
        test(Kind.MIX, place, performed, n * np.asarray(mix_percent) / 100, len(performed) - 1)
        tables = [
            (np.asarray(entry[cells]["with_operation"], float), np.asarray(entry[cells]["with_next"], float))
            for cells in ("by_place", "by_remainder")
        ]
        for joint, pairs in (*tables, _parities(*tables[-1])):
            # Whether the one depends on the other, however often each is drawn: that is tested elsewhere.
            met = joint[:, joint.any(axis=0)]
            expected = np.outer(performed, met.sum(axis=0)) / n
            test(Kind.OPERATION, place, met, expected, (len(performed) - 1) * max(met.shape[1] - 1, 1))
            test(Kind.NEXT, place, pairs, np.full(pairs.shape, pairs.sum() / pairs.size), pairs.size - 1)
    for kind, tests in by_kind.items():
        yield kind, [place for place, _ in tests], np.asarray([p for _, p in tests], dtype=float)


def _parities(joint: Floats, pairs: Floats) -> tuple[Floats, Floats]:
    """Return tables of cells of keys as tables of even and odd ones."""
    half = len(pairs) // 2
    return joint.reshape(len(joint), -1, 2).sum(axis=1), pairs.reshape(half, 2, half, 2).sum(axis=(0, 2))


def _of_seeds(seeds: Counts) -> Iterator[_Tests]:
    """Yield whether seeds count: that two give equal numbers by chance is less probable than any double."""
    wrong = {
        **dict.fromkeys(range(SEED_BITS), False),
        **dict.fromkeys(seeds["alike"], True),
        ZERO_IS_ONE: seeds["zero_is_one"],
        NOT_REPEATED: not seeds["repeats"],
    }
    yield Kind.SEEDS, list(wrong), np.where(list(wrong.values()), 0.0, 1.0)


def _of_streams(streams: Counts, used: int) -> Iterator[_Tests]:
    from scipy.special import pdtrc  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load

    fingerprints, collisions = streams["fingerprints"], streams["collisions"]
    expected = fingerprints * (fingerprints - 1) / 2 / 2.0**64
    yield Kind.COLLISIONS, [0], np.asarray([pdtrc(collisions - 1, expected) if collisions else 1.0])
    yield Kind.NEIGHBOURS, range(used), _fair(streams["differing"][:used], streams["compared"])


def _fair(counted: ArrayLike, n: ArrayLike) -> Floats:
    """Return two-sided p-values of counts that are Binomial(n, 1/2)."""
    from scipy.stats import binom  # type: ignore[import-untyped] # noqa: PLC0415 - as above

    fewer = np.minimum(np.asarray(counted), np.asarray(n) - np.asarray(counted))
    p: Floats = np.minimum(1.0, 2 * binom.cdf(fewer, n, 0.5))
    return p


def _normal(z: Floats) -> Floats:
    """Return two-sided p-values of standard normal numbers."""
    from scipy.special import ndtr  # noqa: PLC0415 - as above

    p: Floats = 2 * ndtr(-np.abs(z))
    return p


def _chi_square(statistic: float, freedom: int) -> float:
    """Return the p-value of a table that is too uneven or, with enough degrees of freedom, too even."""
    from scipy.special import chdtr, chdtrc  # noqa: PLC0415 - as above

    uneven = float(chdtrc(freedom, max(statistic, 0.0)))
    if freedom < FEWEST_FREEDOM:
        return uneven
    return min(1.0, 2 * min(uneven, float(chdtr(freedom, max(statistic, 0.0)))))
