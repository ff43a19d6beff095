"""What failing tests are called, and what they would do to an experiment."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.engines.types import Counts, Kind

Failing = Mapping[Kind, Sequence[Any]]
"""Kind of test -> the subjects that fail."""

RUNS_AT_MOST = 5
"""Runs of numbers that a sentence lists."""


def why_of(counts: Counts, failing: Failing) -> str:
    """Return which bits and numbers fail and how, without a full stop; at least something."""
    said = [*_of_bits(counts["bits"], failing), *_of_numbers(counts, failing)]
    if not said:  # keys alone
        said = [_and([str(kind) for kind, subjects in failing.items() if subjects]) + " differ from chance"]
    return "; ".join(said)


def _of_bits(bits: Counts, failing: Failing) -> Iterator[str]:
    numbers = bits["at"][-1]
    periods = {bit: bits["periods"][bit] for bit in failing[Kind.PERIOD]}
    stuck = [bit for bit, period in periods.items() if period == 1]
    alternating = [bit for bit in periods if bits["changes"][bit] == numbers - 1]
    repeating = {bit: periods[bit] for bit in _less(periods, [*stuck, *alternating])}
    if stuck:
        yield f"{listed('bit', stuck)} never change{_s(stuck)}"
    if alternating:
        yield f"{listed('bit', alternating)} strictly alternate{_s(alternating)}"
    if repeating:
        after = _from_to([f"{period:,}" for period in sorted(repeating.values())])
        yield f"{listed('bit', repeating)} repeat{_s(repeating)} after {after} numbers"
    if uneven := _less(failing[Kind.SUM], stuck):
        shares = [bits["ones"][-1][bit] / numbers for bit in uneven]
        yield f"{listed('bit', uneven)} {_is(uneven)} set in {_percent(shares)} of the numbers"
    if changing := _less(failing[Kind.ALTERNATION], periods):
        shares = [bits["changes"][bit] / (numbers - 1) for bit in changing]
        yield f"{listed('bit', changing)} change{_s(changing)} in {_percent(shares)} of the steps"
    said = {*periods, *changing}
    if lagging := [(bit, lag) for bit, lag in failing[Kind.LAG] if bit not in said]:
        depending = {bit for bit, _ in lagging}
        lags = listed("number", {lag for _, lag in lagging})
        yield f"{listed('bit', depending)} depend{_s(depending)} on the same bit {lags} before"


def _of_numbers(counts: Counts, failing: Failing) -> Iterator[str]:
    bits = counts["bits"]
    kinds = [(Kind.NUMBERS, "numbers", bits["products"], 1 / 12)]
    if not failing[Kind.PERIOD]:  # which spoil what follows, and say more
        kinds.append((Kind.LOW_BYTES, "low bytes", bits["low_products"], (2**16 - 1) / 12))
    for kind, called, sums, variance in kinds:
        if lags := failing[kind]:
            by_lag = {lag: sums[lag - 1] / bits["compared"][lag - 1] / variance for lag in lags}
            most = max(by_lag, key=lambda lag: abs(by_lag[lag]))
            yield f"{called} are correlated at {listed('lag', lags)} (at {most} by {by_lag[most]:.2g})"
    if failing[Kind.COLLISIONS]:
        yield f"streams of threads have {counts['streams']['collisions']:,} pieces in common"
    if failing[Kind.NEIGHBOURS] and not failing[Kind.PERIOD]:
        alike = failing[Kind.NEIGHBOURS]
        yield f"{listed('bit', alike)} of neighbouring threads depend{_s(alike)} on each other"


def effect_of(counts: Counts, failing: Failing) -> str:
    """Return what that does to an experiment, in whole sentences."""
    said: dict[tuple[str, ...], list[str]] = {}
    for way in dict.fromkeys(map(_way, counts["keys"])):
        said.setdefault(tuple(_effects(counts, failing, way)), []).append(way)
    clean = said.pop((), [])
    sentences = [f"With {_and(ways)}, {_and(effects)}." for effects, ways in said.items()]
    if sentences and clean:
        sentences.append(f"With {_and(clean)}, no test of keys and operations sees it.")
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
            ranges = _and([f"{entry['range']:,}" for entry in wrong])
            even = all(_too_even(entry) for entry in wrong)
            yield f"keys out of {ranges} are drawn {'more' if even else 'less'} evenly than by chance"
    if wrong := entries(Kind.MIX):
        asked, got = max(
            ((asked, got) for entry in wrong for asked, got in _mix(counts, entry)),
            key=lambda pair: abs(pair[1] - pair[0]),
        )
        yield f"an operation asked for in {asked:g}% is drawn in {got:.3g}%"
    if entries(Kind.OPERATION):
        yield "the operation depends on the key"


def _too_even(entry: Counts) -> bool:
    """Tell whether keys were drawn more evenly than is to be expected."""
    n, size = entry["operations"], entry["range"]
    return bool(entry["sum_of_squares"] < n * n / size + n * (size - 1) / size)


def _mix(counts: Counts, entry: Counts) -> Iterator[tuple[float, float]]:
    """Yield what percent of the operations each of them was to be, and was."""
    for asked, row in zip(counts["mix_percent"], entry["by_place"]["with_operation"], strict=True):
        yield asked, 100 * sum(row) / entry["operations"]


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


def _percent(shares: Sequence[float]) -> str:
    """Return shares with as many digits as tell them from a half."""
    nearest = min(abs(share - 0.5) for share in shares)
    digits = 0 if nearest == 0 else min(4, max(0, math.ceil(-math.log10(nearest)) - 2))
    return _from_to([f"{100 * share:.{digits}f}%" for share in sorted(shares)])


def _from_to(ordered: Sequence[str]) -> str:
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


def _less(places: Iterable[int], without: Iterable[int]) -> list[int]:
    gone = set(without)
    return [place for place in places if place not in gone]


def _s(subjects: Collection[int]) -> str:
    return "s" if len(subjects) == 1 else ""


def _is(subjects: Collection[int]) -> str:
    return "is" if len(subjects) == 1 else "are"


def listed(noun: str, numbers: Iterable[int]) -> str:
    """Return numbers in words, runs of them as such: `bits 0 to 3 and 7`."""
    ordered = sorted(set(numbers))
    runs: list[list[int]] = []
    for number in ordered:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) > RUNS_AT_MOST:
        return f"{len(ordered)} {noun}s from {ordered[0]} to {ordered[-1]}"
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    return f"{noun}{'s' if len(ordered) > 1 else ''} {_and(parts)}"


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
