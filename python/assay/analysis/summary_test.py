import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import Comparison, Interval, summarise, verdict
from assay.experiment.types import Blocks, Design, Experiment
from assay.experiment.types import Comparison as Asked
from assay.plan.types import Level
from assay.store.types import StoredTrial

SUBJECTS = ("base", "other", "third")
THREADS = (1, 2)


def experiment(better: str = "higher", exclude: tuple[Any, ...] = ()) -> Experiment:
    return Experiment(
        name="example",
        question="?",
        factors={"subject": SUBJECTS, "threads": THREADS},
        comparison=Asked("throughput", "subject", "base", 5.0, better),  # type: ignore[arg-type]
        design=Design(Blocks(10), 1, exclude, 0.0),
        programs={},
        fixed={},
        changes={"subject": {name: {} for name in SUBJECTS}, "threads": {n: {} for n in THREADS}},
        source="",
        path=Path("example.toml"),
    )


def trial(ordinal: int, block: int, group: int, levels: dict[str, Level], **changes: Any) -> StoredTrial:
    given: dict[str, Any] = {
        "status": "valid",
        "reason": "",
        "metrics": {"throughput": 100.0},
        "calibration_before": {},
        "calibration_after": {},
    }
    started = datetime(2024, 1, 1, tzinfo=UTC)
    return StoredTrial(
        id=ordinal + 1000,
        ordinal=ordinal,
        block=block,
        group=group,
        levels=levels,
        started_at=started,
        wall_s=1.0,
        environment=None,
        **given | changes,
    )


def campaign(blocks: int, change: Callable[[int, str, int], dict[str, Any]]) -> list[StoredTrial]:
    """Trials of every condition; `change` gives what is special about one from block, subject, threads."""
    trials: list[StoredTrial] = []
    for block in range(blocks):
        for context, threads in enumerate(THREADS):
            for subject in SUBJECTS:
                levels: dict[str, Level] = {"subject": subject, "threads": threads}
                group = block * len(THREADS) + context
                trials.append(trial(len(trials), block, group, levels, **change(block, subject, threads)))
    return trials


def throughput(value: float) -> dict[str, Any]:
    return {"metrics": {"throughput": value}}


def only(comparisons: Sequence[Comparison], level: str, threads: int) -> Comparison:
    (found,) = [one for one in comparisons if one.level == level and one.context == {"threads": threads}]
    return found


def numbers(comparison: Comparison) -> list[float]:
    assert comparison.ratio is not None
    assert comparison.interval is not None
    return [comparison.ratio, comparison.interval.low, comparison.interval.high]


# Verdicts


@pytest.mark.parametrize(
    ("low", "high", "higher", "lower"),
    [
        (1 / 1.05, 1.05, "equivalent", "equivalent"),
        (1.01, 1.05, "equivalent", "equivalent"),  # excludes 1, but by less than anybody cares for
        (1.01, 1.06, "faster", "slower"),
        (0.5, 0.99, "slower", "faster"),
        (0.95, 1.0, "undecided", "undecided"),  # 0.95 is below 1 / 1.05
        (1.0, 1.06, "undecided", "undecided"),
        (0.9, 1.1, "undecided", "undecided"),
    ],
)
def test_a_verdict_says_what_the_interval_allows(low: float, high: float, higher: str, lower: str) -> None:
    assert verdict(Interval(low, high, 0.95), "higher", 5) == higher
    assert verdict(Interval(low, high, 0.95), "lower", 5) == lower


def test_without_an_interval_the_verdict_is_undecided() -> None:
    assert verdict(None, "higher", 5) == "undecided"


# Summaries


def test_a_planted_difference_is_found_in_its_context_alone() -> None:
    rng = random.Random(1)

    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        twice = subject == "other" and threads == 2
        return throughput((200 if twice else 100) * (1 + block) * rng.uniform(0.999, 1.001))

    analysis = summarise(campaign(8, change), experiment())
    assert len(analysis.comparisons) == 4
    found = only(analysis.comparisons, "other", 2)
    assert found.verdict == "faster"
    assert found.ratio == pytest.approx(2, rel=0.01)
    assert found.pairs == 8
    assert only(analysis.comparisons, "other", 1).verdict == "equivalent"
    assert only(analysis.comparisons, "third", 2).verdict == "equivalent"


def test_five_blocks_are_undecided_and_say_why() -> None:
    analysis = summarise(campaign(5, lambda _, s, __: throughput(9 if s == "other" else 1)), experiment())
    found = only(analysis.comparisons, "other", 1)
    assert (found.verdict, found.interval) == ("undecided", None)
    assert found.ratio == pytest.approx(9)
    assert "5 pairs are too few" in found.reason


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        ({"status": "invalid", "metrics": {"throughput": 1e9}}, "not valid"),
        ({"status": "crashed", "metrics": {}}, "not valid"),
        ({"metrics": {}}, "metric missing"),
        ({"metrics": {"throughput": 0.0}}, "not above zero"),
        ({"metrics": {"throughput": -1.0}}, "not above zero"),
        ({"metrics": {"throughput": float("inf")}}, "not above zero"),
    ],
)
@pytest.mark.parametrize("spoils", ["base", "other"])
def test_a_pair_counts_only_where_both_trials_do(spoils: str, spoiled: dict[str, Any], reason: str) -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        return spoiled if (block, subject, threads) == (3, spoils, 1) else throughput(100)

    analysis = summarise(campaign(8, change), experiment())
    found = only(analysis.comparisons, "other", 1)
    assert (found.pairs, found.dropped) == (7, {reason: 1})
    assert found.ratio == 1
    assert only(analysis.comparisons, "other", 2).pairs == 8
    assert only(analysis.comparisons, "third", 1).pairs == (7 if spoils == "base" else 8)


def test_an_interrupted_campaign_drops_the_pairs_that_did_not_run() -> None:
    trials = campaign(7, lambda *_: throughput(100))[:-1]  # the last trial is "third" with 2 threads
    found = only(summarise(trials, experiment()).comparisons, "third", 2)
    assert (found.pairs, found.dropped) == (6, {"not run": 1})


def test_a_campaign_without_trials_has_conditions_but_nothing_to_say() -> None:
    analysis = summarise([], experiment())
    assert len(analysis.conditions) == 6
    assert {one.verdict for one in analysis.comparisons} == {"undecided"}
    assert {(one.ratio, one.p, one.pairs) for one in analysis.comparisons} == {(None, None, 0)}


def test_only_valid_trials_reach_the_median() -> None:
    def change(block: int, subject: str, threads: int) -> dict[str, Any]:
        if block < 2:
            return {"status": "timed_out", "metrics": {"throughput": 1e9}}
        return throughput(float(block)) if block < 9 else {"metrics": {}}

    (condition, *_) = summarise(campaign(10, change), experiment()).conditions
    assert condition.levels == {"subject": "base", "threads": 1}
    assert condition.counts == {"timed_out": 2, "valid": 8}
    assert (condition.values, condition.missing, condition.median) == (7, 1, 5.0)
    assert condition.interval is not None
    assert (condition.interval.low, condition.interval.high) == (2.0, 8.0)


def test_an_excluded_level_or_baseline_makes_no_comparison() -> None:
    exclude = ({"subject": ("third",), "threads": (2,)}, {"subject": ("base",), "threads": (1,)})
    analysis = summarise([], experiment(exclude=exclude))
    assert [(one.level, one.context) for one in analysis.comparisons] == [("other", {"threads": 2})]


values = st.lists(st.floats(1e-3, 1e3), min_size=7 * 6, max_size=7 * 6)


@given(values, st.floats(1e-3, 1e3), st.randoms())
def test_neither_the_unit_nor_the_order_of_trials_matters(
    values: list[float], unit: float, chance: random.Random
) -> None:
    given_values = iter(values)
    trials = campaign(7, lambda *_: throughput(next(given_values)))
    scaled_values = iter(values)
    scaled = campaign(7, lambda *_: throughput(unit * next(scaled_values)))
    chance.shuffle(scaled)
    before, after = summarise(trials, experiment()), summarise(scaled, experiment())
    for one, other in zip(before.comparisons, after.comparisons, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), rel=1e-6)


def test_extreme_values_do_not_overflow() -> None:
    analysis = summarise(
        campaign(9, lambda _, s, __: throughput(1e300 if s == "other" else 1e-300)), experiment()
    )
    found = only(analysis.comparisons, "other", 1)
    assert found.verdict == "faster"
    assert found.interval is not None
    assert np.isfinite(found.interval.high)


@pytest.mark.filterwarnings("error")
def test_metrics_near_the_largest_double_give_numbers() -> None:
    largest = 1.7e308
    trials = campaign(8, lambda block, _subject, _threads: throughput(largest if block % 2 else 1e-308))
    analysis = summarise(trials, experiment())
    assert all(each.median == pytest.approx(largest / 2) for each in analysis.conditions)
    same = summarise(campaign(8, lambda *_: throughput(largest)), experiment())
    assert all(each.median == largest for each in same.conditions)
