import math
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_lab.randomness import Decisions, RandomDecision, seed_of_decision

SEEDS = st.integers(0, 2**64 - 1)
NUMBERS = st.floats(allow_nan=False)


def shares(choose: Callable[[RandomDecision], int]) -> list[float]:
    """Return how often each candidate is chosen by 5000 programs: a share is known to within 0.035."""
    count = Counter(choose(Decisions(seed).named("tie")) for seed in range(5000))
    return [count[i] / 5000 for i in range(max(count) + 1)]


@given(SEEDS, st.text(), st.integers(1, 2**70))
def test_a_choice_is_one_of_the_candidates_and_the_same_again(seed: int, name: str, candidates: int) -> None:
    program = Decisions(seed)
    candidates %= 2**64
    if candidates:
        chosen = program.named(name).choose(candidates)
        assert 0 <= chosen < candidates
        assert chosen == RandomDecision(program.seed_of(name)).choose(candidates)


@given(SEEDS, st.lists(NUMBERS, min_size=1))
def test_without_noise_the_best_is_chosen(seed: int, values: list[float]) -> None:
    one = RandomDecision(seed)
    assert values[one.arg_min(values)] == min(values)
    assert values[one.arg_max(values)] == max(values)
    off = Decisions.none().named("a")
    assert off.arg_min(values, 5) == values.index(min(values))
    assert off.arg_max(values, 5) == values.index(max(values))


@given(SEEDS, st.lists(NUMBERS, min_size=1), st.floats(0, 10))
def test_noise_moves_neither_zeros_nor_signs_nor_what_is_infinite(
    seed: int, values: list[float], c: float
) -> None:
    one = RandomDecision(seed)
    for value in values:
        noisy = one.noisy(value, c)
        assert noisy == 0 or math.copysign(1, noisy) == math.copysign(1, value)
        assert noisy == 0 if value == 0 else not math.isnan(noisy)
        assert math.isfinite(value) or noisy == value


def test_equals_are_chosen_alike() -> None:
    assert shares(lambda one: one.choose(5)) == pytest.approx([0.2] * 5, abs=0.035)
    assert shares(lambda one: one.arg_min([2, 1, 1])) == pytest.approx([0, 0.5, 0.5], abs=0.035)
    assert shares(lambda one: one.arg_max([0, 0], 1)) == pytest.approx([0.5, 0.5], abs=0.035)


def test_a_normal_number_has_the_moments_of_one() -> None:
    one = RandomDecision(3)
    drawn = [one.normal() for _ in range(20_000)]
    for power, moment, tolerance in ((1, 0, 0.035), (2, 1, 0.05), (3, 0, 0.14), (4, 3, 0.35)):
        assert sum(z**power for z in drawn) / len(drawn) == pytest.approx(moment, abs=tolerance)


def test_an_estimate_is_chosen_as_often_as_it_would_be_right() -> None:
    assert shares(lambda one: one.arg_min_estimated([10, 11], [0.6, 0.8]))[0] == pytest.approx(
        0.8413, abs=0.035
    )
    assert shares(lambda one: one.arg_max_estimated([10, 11], [0, 0])) == [0, 1]


def test_a_decision_is_repeated_while_the_others_vary() -> None:
    first, other = Decisions(1), Decisions(2)
    other.fix("b", first.seed_of("b"))
    many = 10**9
    assert other.named("b").choose(many) == first.named("b").choose(many)
    assert other.named("a").choose(many) == Decisions(2).named("a").choose(many)
    assert len({seed_of_decision(seed, name) for seed in range(100) for name in "abc"}) == 300


def test_only_what_is_fixed_is_drawn_where_randomness_is_off() -> None:
    off = Decisions.none()
    assert off.named("a").estimated(3, 2) == 3
    off.fix("a", 5)
    assert off.named("a").choose(1000) == RandomDecision(5).choose(1000)
    assert off.seed_of("a") == 5
    with pytest.raises(ValueError, match="no decision has a seed"):
        off.seed_of("b")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda one: one.choose(0), "no candidate"),
        (lambda one: one.choose(-1), "no candidate"),
        (lambda one: one.choose(2**64 + 1), "candidates"),
        (lambda one: one.arg_min([]), "no candidate"),
        (lambda one: one.arg_max_estimated([], []), "no candidate"),
        (lambda one: one.arg_min([1, math.nan]), "value of candidate 1 of 2 is not a number"),
        (lambda one: one.arg_min([1], -0.1), "randomness C is -0.1"),
        (lambda one: one.arg_max([1], 10.1), "from 0, none, to 10"),
        (lambda one: one.noisy(1, math.nan), "randomness C is nan"),
        (lambda one: one.estimated(math.nan, 1), "the estimate is not a number"),
        (lambda one: one.arg_min_estimated([1, 2], [1]), "2 estimates and 1 standard errors"),
        (lambda one: one.arg_min_estimated([1, 2], [1, -2]), "standard error of candidate 1 of 2 is -2"),
        (lambda one: one.estimated(1, math.inf), "must be a finite number"),
        (lambda _: Decisions(-1), "the seed is -1: it must be from 0"),
        (lambda _: Decisions(1).fix("a", 2**64), "must be from 0 to 2\\^64 - 1"),
    ],
)
def test_what_cannot_be_decided_is_refused(act: Callable[[RandomDecision], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        act(RandomDecision(1))
