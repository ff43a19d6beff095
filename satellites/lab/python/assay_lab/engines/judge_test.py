"""Planted flaws are found and named; numbers without a flaw are accepted, at the rate that is promised."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from assay_lab.engines.judge import FEWEST_EXPECTED, _chi_square, judge, speed_of
from assay_lab.engines.types import Counts, Kind

N = 20_000
RANGE = 2048
MIX = [30, 20, 50]
Numbers = Callable[[np.random.Generator], "np.ndarray[Any, np.dtype[np.uint64]]"]


def good(generator: np.random.Generator) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    return generator.integers(0, 2**64, N, dtype=np.uint64)


def bits_of(numbers: "np.ndarray[Any, np.dtype[np.uint64]]") -> Counts:
    """Count as satellites/lab/native/assay/judge/bits.cpp does, one bit at a time."""
    table = (numbers[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).astype(np.int64)
    centred = (numbers.astype(float) + 0.5) / 2.0**64 - 0.5
    low = (numbers & np.uint64(255)).astype(float) - 127.5
    lags = range(1, 65)
    changes = (table[1:] != table[:-1]).sum(0)
    periods = np.zeros(64, int)
    for period in (64, 16, 8, 4, 2, 1):
        periods[(table[period:] == table[:-period]).all(0)] = period
    return {
        "bits": 64,
        "first": numbers[:1000].tolist(),
        "at": [N // 2, N],
        "ones": [table[: N // 2].sum(0).tolist(), table.sum(0).tolist()],
        "changes": changes.tolist(),
        "compared": [N - lag for lag in lags],
        "differing": [(table[lag:] != table[:-lag]).sum(0).tolist() for lag in lags],
        "products": [float(centred[lag:] @ centred[:-lag]) for lag in lags],
        "low_products": [float(low[lag:] @ low[:-lag]) for lag in lags],
        "periods": periods.tolist(),
    }


def keys_of(
    keys: "np.ndarray[Any, np.dtype[np.int64]]", kinds: "np.ndarray[Any, np.dtype[np.int64]]"
) -> Counts:
    drawn = np.bincount(keys, minlength=RANGE)
    entry: dict[str, Any] = {
        "draws": "two",
        "bounding": "modulo",
        "range": RANGE,
        "operations": N,
        "sum_of_squares": int((drawn.astype(np.int64) ** 2).sum()),
        "never_drawn": int((drawn == 0).sum()),
    }
    for name, cells in (("by_place", keys // (RANGE // 32)), ("by_remainder", keys % 32)):
        joint = np.zeros((3, 32), int)
        np.add.at(joint, (kinds, cells), 1)
        pairs = np.zeros((32, 32), int)
        np.add.at(pairs, (cells[0::2], cells[1::2]), 1)
        entry[name] = {"with_operation": joint.tolist(), "with_next": pairs.tolist()}
    return entry


@cache
def counted(seed: int) -> Counts:
    """Counts of numbers without a flaw."""
    generator = np.random.default_rng(seed)
    keys = generator.integers(0, RANGE, N)
    kinds = generator.choice(3, N, p=[share / 100 for share in MIX])
    return {
        "bits": bits_of(good(generator)),
        "keys": [keys_of(keys, kinds)],
        "mix_percent": MIX,
        "streams": {
            "streams": 1024,
            "fingerprints": 1024 * 1023,
            "collisions": 0,
            "compared": N,
            "differing": generator.binomial(N, 0.5, 64).tolist(),
        },
        "seeds": {"alike": [], "zero_is_one": False, "repeats": True},
    }


def with_bits(change: Callable[["np.ndarray[Any, np.dtype[np.uint64]]"], Any]) -> Counts:
    numbers = good(np.random.default_rng(1))
    return {**counted(1), "bits": bits_of(change(numbers).astype(np.uint64))}


def with_keys(change: Callable[[Any, Any], tuple[Any, Any]]) -> Counts:
    generator = np.random.default_rng(2)
    keys, kinds = generator.integers(0, RANGE, N), generator.choice(3, N, p=[share / 100 for share in MIX])
    return {**counted(1), "keys": [keys_of(*change(keys, kinds))]}


def test_good_numbers_are_accepted() -> None:
    verdict = judge(counted(1))
    assert (verdict.word, verdict.why, verdict.effect) == ("accepted", "", "")
    assert {group.kind for group in verdict.test_kinds} == set(Kind)


def test_p_values_of_good_numbers_are_as_small_as_chance_makes_them() -> None:
    """Were a test wrong about its own law, more of its p-values would be small than there should be."""
    p_of_kind: dict[Kind, list[float]] = {kind: [] for kind in Kind}
    for seed in range(1, 8):
        for group in judge(counted(seed)).test_kinds:
            p_of_kind[group.kind] += group.p
    for kind, p in p_of_kind.items():
        if kind in (Kind.PERIOD, Kind.COLLISIONS):
            assert set(p) == {1.0}
            continue
        for level in (0.01, 0.1, 0.5):
            n = len(p)
            most = n * level + 5 * np.sqrt(n * level) + 3
            assert sum(value < level for value in p) <= most, (kind, level)


def alternating(x: Any) -> Any:
    return x & ~np.uint64(1) | np.arange(N, dtype=np.uint64) & np.uint64(1)


def stuck(x: Any) -> Any:
    return x | np.uint64(1 << 5)


def biased(x: Any) -> Any:
    return x | (np.random.default_rng(3).random(N) < 0.1).astype(np.uint64) << np.uint64(7)


def sticky(x: Any) -> Any:
    again = np.random.default_rng(3).random(N - 1) < 0.1
    earlier = x[:-1].copy()
    x[1:][again] = x[1:][again] & ~np.uint64(8) | earlier[again] & np.uint64(8)
    return x


def echoing(x: Any) -> Any:
    again = np.random.default_rng(3).random(N - 9) < 0.2
    earlier = x[:-9].copy()
    x[9:][again] = x[9:][again] & ~np.uint64(1 << 40) | earlier[again] & np.uint64(1 << 40)
    return x


def drifting(x: Any) -> Any:
    return (x >> np.uint64(1)) + (np.roll(x, 1) >> np.uint64(1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (alternating, "bit 0 strictly alternates"),
        (stuck, "bit 5 never changes"),
        (biased, "bit 7 is set in 55% of the numbers"),
        (sticky, "bit 3 changes in 46% of the steps"),
        (echoing, "bit 40 depends on the same bit"),
        (drifting, "numbers are correlated at lag 1 (at 1 by 0.26)"),
        (lambda x: x & ~np.uint64(0xF) | np.arange(N, dtype=np.uint64) & np.uint64(0xF),
         "bit 0 strictly alternates; bits 1 to 3 repeat after 4 to 16 numbers"),
    ],
)  # fmt: skip
def test_a_flaw_of_a_bit_is_named(change: Callable[[Any], Any], words: str) -> None:
    verdict = judge(with_bits(change))
    assert verdict.word == "rejected"
    assert words in verdict.why
    assert "No test" in verdict.effect


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda keys, kinds: (keys // 2 * 2, kinds),
         "parity of the one before and 50% of 2,048 keys"),
        (lambda keys, kinds: (keys // 2 * 2 + np.arange(N) % 2, kinds),
         "odd and even keys strictly alternate"),
        (lambda keys, kinds: (keys, np.where(keys % 2 == 0, kinds, kinds * 0)),
         "the operation depends on the key"),
        (lambda keys, kinds: (keys, np.where(np.arange(N) % 10 == 0, 0, kinds)),
         "an operation that should be 30% of all is 37.2%"),
        (lambda keys, kinds: (np.sort(keys), kinds), "a key depends on the one before"),
    ],
)  # fmt: skip
def test_a_flaw_of_keys_is_named(change: Callable[[Any, Any], tuple[Any, Any]], words: str) -> None:
    verdict = judge(with_keys(change))
    assert verdict.word == "rejected"
    assert words in verdict.effect
    assert "differ from chance" in verdict.why


def test_common_streams_are_named() -> None:
    streams = {**counted(1)["streams"], "collisions": 3}
    verdict = judge({**counted(1), "streams": streams})
    assert verdict.word == "rejected"
    assert "3 pieces" in verdict.why
    assert "Threads repeat" in verdict.effect


def test_what_is_unlikely_only_is_suspect() -> None:
    ones = list(counted(1)["bits"]["ones"][-1])
    ones[3] = int(N / 2 + 5.6 * np.sqrt(N) / 2)  # p of 2e-8, one of some 4500 tests
    verdict = judge({**counted(1), "bits": {**counted(1)["bits"], "ones": [ones]}})
    assert verdict.word == "suspect"
    assert verdict.why.startswith("bit 3 is set in 52% of the numbers")


def test_tables_with_too_little_in_a_cell_are_left_out() -> None:
    entry = {**counted(1)["keys"][0], "operations": FEWEST_EXPECTED * RANGE - 1, "sum_of_squares": 0}
    groups = {group.kind: group for group in judge({**counted(1), "keys": [entry]}).test_kinds}
    assert not groups[Kind.KEYS].p


def test_a_table_may_be_too_even_where_that_is_a_surprise() -> None:
    assert _chi_square(0, 1) == 1.0
    assert _chi_square(0, 4095) == 0.0
    assert _chi_square(4095, 4095) > 0.9
    assert _chi_square(8000, 4095) < 1e-100


def test_speed_is_a_median_with_its_interval() -> None:
    speed = speed_of({"speed": {"source_ns": [2.0, 1.0, 3.0] * 7, "floor_ns": [0.5] * 21}})
    assert (speed.source, speed.floor) == (2.0, 0.5)
    assert (speed.source_interval.low, speed.source_interval.high) == (1.0, 3.0)
