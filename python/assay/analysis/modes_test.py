import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import modes
from assay.analysis.modes import disagreement, gap, host_modes
from assay.analysis.shape import shape
from assay.experiment.types import ComparisonDesign, Design, Experiment, Program
from assay.store.types import StoredTrial

SUBJECTS = ("base", "other")
THREADS = (1, 2, 4)


def experiment() -> Experiment:
    return Experiment(
        name="example",
        question="?",
        comparison=ComparisonDesign(
            metric="throughput",
            factor="subject",
            baseline="base",
            smallest_effect_percent=5.0,
            better="higher",
        ),
        design=Design(blocks=10, seed=1),
        programs={},
        fixed={"pinning": "cores_first"},
        changes={
            "subject": {name: {"subject": name} for name in SUBJECTS},
            "threads": {count: {"threads": count} for count in THREADS},
        },
        path=Path("example.toml"),
    )


def trial(
    group: int, before: float | None, after: float | None, *, threads: int = 2, result: float = 1.0
) -> StoredTrial:
    def calibration(value: float | None) -> dict[str, float]:
        others = {"memory_ns": 150.0, "elapsed_ms": 12.0}
        return others if value is None else others | {"core_to_core_ns": value}

    return StoredTrial(
        id=group,
        ordinal=group,
        block=group,
        group=group,
        levels={"subject": "base", "threads": threads},
        status="valid",
        reason="",
        metrics={"throughput": result},
        calibration_before=calibration(before),
        calibration_after=calibration(after),
        started_at=datetime(2024, 1, 1, tzinfo=UTC),
        wall_s=1.0,
        environment=None,
    )


def around(center: float, count: int, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [center * chance.uniform(0.93, 1.07) for _ in range(count)]


# The gap


def test_the_gap_of_measured_calibrations_is_the_clear_one() -> None:
    # As measured on a virtual machine: 30 and 45 ns are one mode, because what parts them is not clear.
    measured = around(31, 150) + around(46, 994, 2) + around(158, 56, 3)
    boundary = gap(measured)
    assert boundary is not None
    assert 55 < boundary < 145
    assert gap(around(31, 150) + around(46, 994)) is None


@given(
    st.floats(0.5, 500),
    st.floats(2.5, 20),
    st.integers(3, 40),
    st.integers(3, 40),
    st.integers(0, 2**32 - 1),
)
def test_two_planted_clusters_are_found(low: float, factor: float, fast: int, slow: int, seed: int) -> None:
    boundary = gap(around(low, fast, seed) + around(low * factor, slow, seed + 1))
    assert boundary is not None
    assert 1.07 * low < boundary < 0.93 * low * factor


@given(st.integers(1, 2), st.integers(3, 80), st.floats(2.5, 20))
def test_a_stray_or_two_are_no_mode(strays: int, others: int, factor: float) -> None:
    assert gap(around(45, others) + around(45 * factor, strays)) is None


def test_what_lies_between_the_modes_now_and_then_hides_no_gap() -> None:
    assert gap(around(45, 150) + around(160, 150) + [70, 90, 110]) == pytest.approx(85, rel=0.1)
    assert gap(around(45, 15) + around(160, 15) + [60, 75, 90, 110, 130]) is None


@given(
    st.lists(st.floats(1.9, 8), min_size=1, max_size=3),
    st.lists(st.integers(4, 30), min_size=4, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_further_states_do_not_hide_the_widest_gap(
    factors: list[float], counts: list[int], seed: int
) -> None:
    centers = 45 * np.cumprod([1.0, *factors])
    values = [
        value
        for at, (center, count) in enumerate(zip(centers, counts, strict=False))
        for value in around(center, count, seed + at)
    ]
    boundary = gap(values)
    assert boundary is not None
    below, above = max(v for v in values if v < boundary), min(v for v in values if v >= boundary)
    # If two gaps are almost equally wide, either may be the clear one.
    assert above / below >= 0.95 * np.exp(np.diff(np.log(np.sort(values))).max())


def test_what_lies_far_off_does_not_hide_the_modes() -> None:
    assert gap(around(45, 100) + around(160, 100) + [600, 1500, 2000, 9000]) == pytest.approx(85, rel=0.1)


def detected(draw: Any, size: int, times: int = 100) -> float:
    """The share of samples in which there is a clear gap."""
    chance = np.random.default_rng(1)
    return float(np.mean([gap(np.exp(draw(chance, size))) is not None for _ in range(times)]))


def states(centers: Sequence[float], scatter: float) -> Any:
    """Logarithms of values in states that are as likely as each other, with normal scatter."""
    logs = np.log(centers)
    return lambda chance, size: chance.choice(logs, size) + scatter * chance.normal(size=size)


@pytest.mark.parametrize(
    ("draw", "size", "least"),
    [
        (states((1, 2.4), 0.05), 12, 0.9),
        (states((1, 2.4), 0.05), 200, 0.99),
        (states((1, 2.4), 0.1), 48, 0.75),
        (states((1, 2.4), 0.1), 200, 0.8),
        (states((1, 2, 4), 0.05), 12, 0.6),
        (states((1, 2, 4), 0.05), 48, 0.99),
        (states((1, 2, 4), 0.05), 200, 0.99),
        (states((1, 2, 4, 8), 0.05), 48, 0.98),
    ],
)
def test_states_that_are_clear_are_found(draw: Any, size: int, least: float) -> None:
    assert detected(draw, size) >= least


@pytest.mark.parametrize("size", [12, 48, 200, 2000])
@pytest.mark.parametrize(
    "draw",
    [
        lambda chance, size: 0.05 * chance.normal(size=size),
        lambda chance, size: 0.5 * chance.normal(size=size),
        lambda chance, size: 0.3 * chance.standard_t(2, size),
        lambda chance, size: np.log(chance.uniform(1, 3, size)),
        lambda chance, size: np.log(chance.uniform(size=size)),
        lambda chance, size: np.log(chance.exponential(size=size)),
        lambda chance, size: np.log(1 + chance.pareto(1, size)),
        lambda chance, size: np.cumsum(0.15 * chance.normal(size=size)),
    ],
)
def test_one_mode_is_rarely_taken_for_two(draw: Any, size: int) -> None:
    assert detected(draw, size, 120 if size < 1000 else 40) <= 0.025


def test_neither_detector_does_for_the_data_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1)
    rare = np.exp(0.05 * chance.normal(size=200) + np.where(np.arange(200) < 8, np.log(3.5), 0))
    assert gap(rare) is not None
    assert shape(rare.tolist()).clusters == ()
    walks = np.exp(np.cumsum(0.15 * chance.normal(size=(20, 2000)), axis=1))
    assert sum(bool(shape(walk.tolist()).clusters) for walk in walks) >= 5
    assert [gap(walk) for walk in walks] == [None] * 20
    few = np.exp(0.03 * chance.normal(size=(2000, 10)))
    monkeypatch.setattr(modes, "CLEAR_FACTOR", 1.01)
    assert np.mean([gap(values) is not None for values in few]) > 0.005


def test_no_gap_is_clear_where_modes_overlap() -> None:
    assert detected(states((1, 2.4), 0.2), 48) <= 0.02


calibrations = st.lists(st.floats(1, 1000), min_size=2, max_size=40)


@given(calibrations, st.floats(1e-3, 1e3), st.randoms())
def test_neither_the_unit_nor_the_order_matters(
    values: list[float], unit: float, chance: random.Random
) -> None:
    shuffled = [unit * value for value in chance.sample(values, len(values))]
    before, after = gap(values), gap(shuffled)
    if before is None or after is None:
        # Rounding may decide a tie between gaps, but not where one gap is alone and clear.
        assert before is after or len(set(np.round(np.diff(np.sort(np.log(values))), 6))) < len(values) - 1
    else:
        assert after == pytest.approx(unit * before)


# Groups


def flipping(flips: Sequence[int]) -> list[StoredTrial]:
    """Groups of two trials; the host is slow in groups 10 to 19 and changes within the groups in `flips`."""
    chance = random.Random(3)
    trials = []
    for group in range(30):
        center = 160 if 10 <= group < 20 else 45
        for part in range(2):
            after = 205 - center if part == 1 and group in flips else center
            trials.append(
                trial(group, center * chance.uniform(0.95, 1.05), after * chance.uniform(0.95, 1.05))
            )
    return trials


def test_each_group_gets_its_mode() -> None:
    modes = host_modes(flipping([4, 25]), experiment())
    assert modes is not None
    assert modes.metric == "core_to_core_ns"
    assert modes.centers == {"fast": pytest.approx(45, rel=0.05), "slow": pytest.approx(160, rel=0.05)}
    assert modes.boundary == pytest.approx(85, rel=0.1)
    slow = dict.fromkeys(range(10, 20), "slow")
    assert modes.of_group == dict.fromkeys(range(30), "fast") | slow | {4: "mixed", 25: "mixed"}


def test_one_mode_has_no_boundary_and_tells_of_no_group() -> None:
    modes = host_modes([trial(group, 45 + group % 4, 46) for group in range(30)], experiment())
    assert modes is not None
    assert (modes.centers, modes.boundary) == ({}, None)
    assert set(modes.of_group.values()) == {"unknown"}


def test_without_the_calibration_nothing_is_known() -> None:
    alone = [trial(group, None, None, threads=1) for group in range(30)]
    assert host_modes(alone, experiment()) is None
    assert host_modes([], experiment()) is None
    assert disagreement(alone[:1], alone, experiment()) == ""
    both = host_modes([*flipping([]), trial(99, None, None, threads=1)], experiment())
    assert both is not None
    assert both.of_group[99] == "unknown"


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("pair", [(None, 160), (160, None), (None, None)])
def test_a_group_with_a_calibration_missing_is_in_no_known_mode(
    pair: tuple[float | None, float | None], part: int
) -> None:
    trials = flipping([])
    trials[2 * 12 + part] = trial(12, *pair)
    modes = host_modes(trials, experiment())
    assert modes is not None
    assert modes.of_group[12] == "unknown"
    assert modes.of_group[11] == modes.of_group[13] == "slow"


def test_a_group_is_mixed_whatever_else_is_missing() -> None:
    trials = flipping([])
    trials[2 * 25] = trial(25, None, 160)
    trials[2 * 25 + 1] = trial(25, 46, None)
    modes = host_modes(trials, experiment())
    assert modes is not None
    assert modes.of_group[25] == "mixed"
    assert repeated(trials) == [25]


def test_a_trial_with_nothing_to_calibrate_leaves_the_mode_to_the_others() -> None:
    modes = host_modes([*flipping([]), trial(12, None, None, threads=1)], experiment())
    assert modes is not None
    assert modes.of_group[12] == "slow"


def test_one_thread_is_in_no_mode_wherever_it_may_run() -> None:
    alone = [trial(100 + group, (46, 160)[group % 2], (160, 46)[group % 2], threads=1) for group in range(30)]
    assert host_modes(alone, experiment()) is None
    assert disagreement(alone[:1], alone, experiment()) == ""
    modes = host_modes([*flipping([]), *alone], experiment())
    assert modes is not None
    assert modes.of_group[100] == "unknown"
    assert modes.of_group[11] == "slow"


def test_a_command_has_as_many_threads_as_it_likes() -> None:
    command = Program(table="base", program="base", extract="lines")
    modes = host_modes(
        [trial(group, *((46, 46) if group < 12 else (160, 160)), threads=1) for group in range(25)],
        experiment().model_copy(update={"programs": {"base": command}}),
    )
    assert modes is not None
    assert modes.of_group[0] == "fast"


sides = st.sampled_from([None, 45.0, 160.0])


@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=4))
def test_groups_that_are_repeated_are_those_that_are_mixed(
    pairs: list[tuple[float | None, float | None]],
) -> None:
    group = [trial(99, before, after) for before, after in pairs]
    trials = flipping([]) + group
    seen = {value for pair in pairs for value in pair}
    modes = host_modes(trials, experiment())
    assert modes is not None
    if {45.0, 160.0} <= seen:
        expected = "mixed"
    else:
        expected = "unknown" if None in seen else "fast" if 45.0 in seen else "slow"
    assert modes.of_group[99] == expected
    assert bool(disagreement(group, trials, experiment())) == (expected == "mixed")


def test_placements_have_boundaries_of_their_own() -> None:
    # Four threads reach each other in 100 ns in the fast mode, which is neither mode of two threads.
    two = flipping([])
    four = [
        trial(100 + group, 300 if group < 10 else 100, 300 if group < 10 else 100, threads=4)
        for group in range(20)
    ]
    modes = host_modes(two + four, experiment())
    assert modes is not None
    assert modes.boundary == pytest.approx(85, rel=0.1)
    assert {modes.of_group[group] for group in range(100, 110)} == {"slow"}
    assert {modes.of_group[group] for group in range(110, 120)} == {"fast"}
    split = [trial(200, 45, 46), trial(200, 300, 300, threads=4)]
    mixed = host_modes(two + four + split, experiment())
    assert mixed is not None
    assert mixed.of_group[200] == "mixed"


def test_the_same_threads_pinned_elsewhere_are_another_placement() -> None:
    # Cores that share no cache: both pinnings have one mode, however far apart they are.
    pinnings = ("cores_first", "spread")
    experiment_ = experiment().model_copy(
        update={
            "changes": {"pinning": {name: {"pinning": name} for name in pinnings}},
            "fixed": {"threads": 2},
        }
    )
    trials = [
        replace(trial(group, center, center), levels={"pinning": name})
        for group in range(20)
        for name, center in zip(pinnings, (45, 160), strict=True)
    ]
    modes = host_modes(trials, experiment_)
    assert modes is not None
    assert modes.boundary is None
    assert "mixed" not in modes.of_group.values()


@given(st.lists(st.floats(0.1, 1e6), min_size=60, max_size=60), st.randoms())
def test_neither_results_nor_the_order_of_trials_have_a_say(
    results: list[float], chance: random.Random
) -> None:
    trials = flipping([4])
    others = [
        trial(
            ended.group,
            ended.calibration_before["core_to_core_ns"],
            ended.calibration_after["core_to_core_ns"],
            result=r,
        )
        for ended, r in zip(trials, results, strict=True)
    ]
    chance.shuffle(others)
    assert host_modes(others, experiment()) == host_modes(trials, experiment())


# Online


def repeated(trials: Sequence[StoredTrial]) -> list[int]:
    """The groups that would be repeated, each judged when it ends."""
    groups = []
    for group in range(max(trial.group for trial in trials) + 1):
        ended = [trial for trial in trials if trial.group <= group]
        if disagreement([trial for trial in ended if trial.group == group], ended, experiment()):
            groups.append(group)
    return groups


def test_a_group_is_repeated_where_the_host_changed_once_both_modes_are_known() -> None:
    assert repeated(flipping([4, 25])) == [25]
    assert repeated(flipping([])) == []


def test_the_reason_names_what_was_seen() -> None:
    trials = flipping([25])
    group = [trial for trial in trials if trial.group == 25]
    assert "core_to_core_ns from 4" in disagreement(group, trials, experiment())


def test_a_single_stray_repeats_nothing() -> None:
    trials = [trial(group, 45, 160 if group == 20 else 46) for group in range(30)]
    assert repeated(trials) == []
