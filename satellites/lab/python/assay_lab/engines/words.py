"""What tests fail, in words, and what that would do to an experiment."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.words import listed, runs
from assay_lab.engines.types import NOT_REPEATED, SEED_BITS, ZERO_IS_ONE, Counts, Kind

Failing = Mapping[Kind, Sequence[Any]]
"""Kind of test -> the subjects that fail."""


def why_of(counts: Counts, failing: Failing) -> str:
    """Return which bits and numbers fail and how, without a full stop; at least something."""
    clauses = [
        *_of_seeds(failing[Kind.SEEDS]),
        *_of_bits(counts["bits"], failing),
        *_of_numbers(counts, failing),
    ]
    if not clauses:  # keys alone
        kinds = listed([str(kind) for kind, subjects in failing.items() if subjects])
        clauses = [f"{kinds} differ from chance"]
    return "; ".join(clauses)


def _of_seeds(wrong: Sequence[int]) -> Iterator[str]:
    bits = [bit for bit in wrong if bit >= 0]
    if NOT_REPEATED in wrong:
        yield "the same seed gives other numbers each time"
    if len(bits) == SEED_BITS:
        yield "every seed gives the same numbers: it is ignored"
    elif bits:
        yield f"{runs('bit', bits)} of the seed make{_s(bits)} no difference"
    if ZERO_IS_ONE in wrong and 0 not in bits:
        yield "the seeds 0 and 1 give the same numbers"


def _of_bits(bits: Counts, failing: Failing) -> Iterator[str]:
    numbers = bits["at"][-1]
    periods = {bit: bits["periods"][bit] for bit in failing[Kind.PERIOD]}
    stuck = [bit for bit, period in periods.items() if period == 1]
    alternating = [bit for bit in periods if bits["changes"][bit] == numbers - 1]
    repeating = {bit: periods[bit] for bit in _less(periods, [*stuck, *alternating])}
    if stuck:
        yield f"{runs('bit', stuck)} never change{_s(stuck)}"
    if alternating:
        yield f"{runs('bit', alternating)} strictly alternate{_s(alternating)}"
    if repeating:
        after = _from_to([f"{period:,}" for period in sorted(repeating.values())])
        yield f"{runs('bit', repeating)} repeat{_s(repeating)} after {after} numbers"
    if uneven := _less(failing[Kind.SUM], stuck):
        shares = [bits["ones"][-1][bit] / numbers for bit in uneven]
        yield f"{runs('bit', uneven)} {_is(uneven)} set in {_percent(shares)} of the numbers"
    if changing := _less(failing[Kind.ALTERNATION], periods):
        shares = [bits["changes"][bit] / (numbers - 1) for bit in changing]
        yield f"{runs('bit', changing)} change{_s(changing)} in {_percent(shares)} of the steps"
    named = {*periods, *changing}
    if lagging := [(bit, lag) for bit, lag in failing[Kind.LAG] if bit not in named]:
        depending = {bit for bit, _ in lagging}
        lags = runs("number", {lag for _, lag in lagging})
        yield f"{runs('bit', depending)} depend{_s(depending)} on the same bit {lags} before"


def _of_numbers(counts: Counts, failing: Failing) -> Iterator[str]:
    bits = counts["bits"]
    kinds = [(Kind.NUMBERS, "numbers", bits["products"], 1 / 12)]
    if not failing[Kind.PERIOD]:  # which spoil what follows, and say more
        kinds.append((Kind.LOW_BYTES, "low bytes", bits["low_products"], (2**16 - 1) / 12))
    for kind, called, sums, variance in kinds:
        if lags := failing[kind]:
            by_lag = {lag: sums[lag - 1] / bits["compared"][lag - 1] / variance for lag in lags}
            most = max(by_lag, key=lambda lag: abs(by_lag[lag]))
            yield f"{called} are correlated at {runs('lag', lags)} (at {most} by {by_lag[most]:.2g})"
    if failing[Kind.COLLISIONS]:
        yield f"streams of threads have {counts['streams']['collisions']:,} pieces in common"
    if failing[Kind.NEIGHBOURS] and not failing[Kind.PERIOD]:
        alike = failing[Kind.NEIGHBOURS]
        yield f"{runs('bit', alike)} of neighbouring threads depend{_s(alike)} on each other"


def effect_of(counts: Counts, failing: Failing) -> str:
    """Return what that does to an experiment, in whole sentences."""
    ways_of: dict[tuple[str, ...], list[str]] = {}
    for way in dict.fromkeys(map(_way, counts["keys"])):
        ways_of.setdefault(tuple(_effects(counts, failing, way)), []).append(way)
    clean = ways_of.pop((), [])
    sentences = [f"With {listed(ways)}, {listed(effects)}." for effects, ways in ways_of.items()]
    if sentences and clean:
        sentences.append(f"With {listed(clean)}, no test of keys and operations sees it.")
    if NOT_REPEATED in failing[Kind.SEEDS]:
        sentences.append("A trial cannot be repeated by its seed.")
    if any(subject != NOT_REPEATED for subject in failing[Kind.SEEDS]):
        sentences.append("Trials and threads with different seeds do the same work.")
    if failing[Kind.COLLISIONS]:
        sentences.append("Threads repeat each other's work.")
    return " ".join(sentences) or "No test of keys and operations sees it."


def _way(entry: Counts) -> str:
    return f"{entry['draws']} {'draw' if entry['draws'] == 'one' else 'draws'} and {entry['bounding']}"


def _effects(counts: Counts, failing: Failing, way: str) -> Iterator[str]:
    """Yield what happens to operations that are drawn in one way."""

    def entries(kind: Kind) -> list[Counts]:
        return [counts["keys"][place] for place in failing[kind] if _way(counts["keys"][place]) == way]

    if following := entries(Kind.NEXT):
        yield _parity(following)
    if wrong := entries(Kind.KEYS):
        most = max(wrong, key=lambda entry: (round(_missing(entry), 2), entry["range"]))
        if _missing(most) > 0.01:
            yield f"{_missing(most):.0%} of {most['range']:,} keys are never drawn"
        else:
            ranges = listed([f"{entry['range']:,}" for entry in wrong])
            even = all(_too_even(entry) for entry in wrong)
            yield f"keys out of {ranges} are drawn {'more' if even else 'less'} evenly than by chance"
    if wrong := entries(Kind.MIX):
        share, drawn = max(
            (pair for entry in wrong for pair in _mix(counts, entry)), key=lambda pair: abs(pair[1] - pair[0])
        )
        yield f"an operation that should be {share:g}% of all is {drawn:.3g}%"
    if entries(Kind.OPERATION):
        yield "the operation depends on the key"


def _too_even(entry: Counts) -> bool:
    """Tell whether keys were drawn more evenly than is to be expected."""
    n, size = entry["operations"], entry["range"]
    return bool(entry["sum_of_squares"] < n * n / size + n * (size - 1) / size)


def _mix(counts: Counts, entry: Counts) -> Iterator[tuple[float, float]]:
    """Yield what percent of all each operation should be, and what it is."""
    for share, row in zip(counts["mix_percent"], entry["by_place"]["with_operation"], strict=True):
        yield share, 100 * sum(row) / entry["operations"]


def _missing(entry: Counts) -> float:
    """Return the share of keys that were never drawn, beyond what chance leaves out."""
    share = entry["never_drawn"] / entry["range"]
    return float(share - math.exp(-entry["operations"] / entry["range"]))


def _parity(entries: Iterable[Counts]) -> str:
    for entry in entries:
        pairs = entry["by_remainder"]["with_next"]
        same = sum(n for i, row in enumerate(pairs) for j, n in enumerate(row) if (i - j) % 2 == 0)
        both = sum(map(sum, pairs))
        if same == both:
            return "every key has the parity of the one before"
        if same == 0:
            return "odd and even keys strictly alternate"
    return "a key depends on the one before"


def _from_to(ordered: Sequence[str]) -> str:
    """Return the first and the last of some values, or the only one."""
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


def _percent(shares: Sequence[float]) -> str:
    """Return shares with as many digits as tell them from a half."""
    nearest = min(abs(share - 0.5) for share in shares)
    digits = 0 if nearest == 0 else min(4, max(0, math.ceil(-math.log10(nearest)) - 2))
    return _from_to([f"{100 * share:.{digits}f}%" for share in sorted(shares)])


def _less(places: Iterable[int], without: Iterable[int]) -> list[int]:
    gone = set(without)
    return [place for place in places if place not in gone]


def _s(subjects: Collection[int]) -> str:
    return "s" if len(subjects) == 1 else ""


def _is(subjects: Collection[int]) -> str:
    return "is" if len(subjects) == 1 else "are"
