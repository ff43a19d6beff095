import math
from collections import defaultdict
from random import Random
from statistics import NormalDist, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment.perturb import UNMOVED, LengthPerturbed, Perturb, RatePerturbed, in_full
from assay.experiment.sensitivity import EVERYTHING, NOTHING, sensitive, with_randomness
from assay.experiment.testing import experiment
from assay.plan.make_plan import make_plan
from assay.plan.perturb import perturbed

SETTINGS: dict[str, Any] = {
    "threads": 2,
    "pinning": "cores_first",
    "keys": "dense",
    "key_range": 1000,
    "duration_ms": 100,
    "interval_ms": 10,
    "batch": 500,
    "mix": in_full("mix", {"insert": 10, "erase": 10, "find": 80}),
    "distribution": in_full("distribution", {"kind": "zipf", "exponent": 0.99}),
    "arrivals": in_full("arrivals", {"rate": 1e6}),
    "range": in_full("range", {"length": 1000}),
    "roles": [{"name": "all", "threads": 2, "range": {"length": {"from": 10, "to": 1000}}}],
    "parameters": {"size": 2.5, "count": 7, "hash": "fnv"},
}
amounts = st.floats(0.001, 1)
perturbations = st.builds(
    Perturb,
    key_range=amounts | st.just(False),
    duration_ms=st.none() | amounts,
    batch=st.none() | amounts,
    mix=st.none() | amounts,
    distribution=st.none() | st.fixed_dictionaries({"exponent": amounts}),
    arrivals=st.none() | st.builds(RatePerturbed, rate=amounts),
    range=st.none() | st.builds(LengthPerturbed, length=amounts),
    parameters=st.none()
    | st.fixed_dictionaries({"size": amounts}, optional={"hash": st.just({"a": 1.0, "b": 1.0})}),
    keys=st.sampled_from([None, {"dense": 1.0, "sparse": 3.0}]),
    environment=st.integers(1, 4096) | st.just(False),
    stack=st.integers(1, 256).map(lambda number: 16 * number) | st.just(False),
    heap=st.integers(1, 65536) | st.just(False),
    address_space=st.sampled_from(["system", "random", "fixed", "either"]),
    thread_order=st.booleans(),
    placement=st.booleans(),
)


@given(st.integers())
def test_what_is_filled_in_and_loaded_is_never_more_than_there_are_keys(seed: int) -> None:
    full = {"prefill": {"size": 1000}, "phase": {"kind": "grow", "size": 900}}
    moved, _ = perturbed(SETTINGS | full, UNMOVED.altered(key_range=0.2), Random(seed))
    assert moved["prefill"]["size"] == min(1000, moved["key_range"])
    assert moved["phase"] == {"kind": "grow", "size": min(900, moved["key_range"])}
    assert full["prefill"] == {"size": 1000}


@given(perturbations, st.integers())
def test_what_is_drawn_is_legal_recorded_and_drawn_again_from_the_same_seed(
    perturb: Perturb, seed: int
) -> None:
    moved, drawn = perturbed(SETTINGS, perturb, Random(seed))
    assert (moved, drawn) == perturbed(SETTINGS, perturb, Random(seed))
    for name in moved:
        if name not in {"parameters", "roles"}:
            in_full(name, moved[name])
    for amount in perturb.amounts.keys() - {"mix"}:
        setting, _, key = amount.partition(".")
        before = SETTINGS[setting][key] if key else SETTINGS[setting]
        after = moved[setting][key] if key else moved[setting]
        if amount != "range.length":  # which the key range may shorten
            assert math.isclose(after, before * (1 + float(drawn[amount]) / 100))
        assert type(after) is type(before)
    assert math.isclose(sum(share for share in moved["mix"].values() if share), 100)
    assert drawn.get("environment_bytes", 0) < max(1, perturb.environment)  # type: ignore[operator]
    assert ("thread_order" in drawn) == perturb.thread_order
    assert moved["range"]["length"] <= moved["key_range"]
    assert SETTINGS["key_range"] == 1000


@given(st.integers())
def test_nothing_moves_where_nothing_is_named(seed: int) -> None:
    assert perturbed(SETTINGS, UNMOVED, Random(seed)) == (SETTINGS, {})


def test_a_number_moves_by_e_to_the_c_z() -> None:
    random = Random(1)
    perturb = UNMOVED.altered(parameters={"size": 0.2})
    draws = [
        math.log(perturbed(SETTINGS, perturb, random)[0]["parameters"]["size"] / 2.5) for _ in range(2000)
    ]
    # Kolmogorov's distance of 2,000 draws is above 0.0436 in 1 of 1,000 samples; the seed is fixed.
    normal = NormalDist(0, 0.2)
    ordered = sorted(map(normal.cdf, draws))
    assert max(abs(value - (rank + 0.5) / 2000) for rank, value in enumerate(ordered)) < 0.0436
    assert 0.19 < stdev(draws) < 0.21


def test_what_is_added_is_uniform_with_the_standard_deviation_that_is_named() -> None:
    """Blackwell 1998, section 5.2.4: start times, with 50 ms."""
    random, perturb = Random(1), UNMOVED.altered(uniform={"parameters.size": 50})
    settings = {"parameters": {"size": 1000.0}}
    added = [perturbed(settings, perturb, random)[0]["parameters"]["size"] - 1000 for _ in range(5000)]
    reach = 50 * math.sqrt(3)
    assert -reach <= min(added) < -0.99 * reach
    assert 0.99 * reach < max(added) <= reach
    assert 49 < stdev(added) < 51
    moved, drawn = perturbed(settings, perturb, random)
    assert math.isclose(moved["parameters"]["size"], 1000 * (1 + float(drawn["parameters.size"]) / 100))


def test_from_0_what_is_added_is_never_below_it_and_recorded_as_it_is() -> None:
    random, perturb = Random(1), UNMOVED.altered(uniform={"parameters.start": 50})
    for _ in range(200):
        moved, drawn = perturbed({"parameters": {"start": 0}}, perturb, random)
        assert 0 <= moved["parameters"]["start"] <= 87
        assert drawn["parameters.start"] == moved["parameters"]["start"]


@pytest.mark.parametrize("moves", [{"parameters": {"window": 0.5}}, {"uniform": {"parameters.window": 900}}])
def test_a_moved_number_may_be_a_multiple_of_a_step_and_is_never_0(moves: dict[str, Any]) -> None:
    """Blackwell 1998, section 5.2.3: windows, of packets of 512 bytes."""
    random, perturb = Random(1), UNMOVED.altered(**moves, multiple_of={"parameters.window": 512})
    settings = {"parameters": {"window": 1024}}
    seen = {perturbed(settings, perturb, random)[0]["parameters"]["window"] for _ in range(300)}
    assert {512, 1024, 1536} <= seen
    assert all(window % 512 == 0 < window for window in seen)


def test_a_step_too_small_to_divide_by_is_ignored() -> None:
    perturb = UNMOVED.altered(parameters={"window": 0.5}, multiple_of={"parameters.window": 1e-320})
    assert perturbed({"parameters": {"window": 1024}}, perturb, Random(1))[1]


def test_values_are_chosen_by_their_weights() -> None:
    random = Random(1)
    perturb = UNMOVED.altered(keys={"dense": 1, "sparse": 3})
    drawn = [perturbed(SETTINGS, perturb, random)[0]["keys"] for _ in range(2000)]
    assert abs(drawn.count("sparse") - 1500) < 4 * (2000 * 0.25 * 0.75) ** 0.5  # four standard deviations


@given(perturbations)
def test_what_is_moved_can_be_taken_apart(perturb: Perturb) -> None:
    parts = [perturb.alone(name) for name in perturb.names()]
    assert [part.names() for part in parts] == [(name,) for name in perturb.names()]
    assert {name: by for part in parts for name, by in part.amounts.items()} == perturb.amounts
    assert {name: by for part in parts for name, by in part.choices.items()} == perturb.choices
    for name in ("environment", "stack", "heap", "thread_order", "placement"):
        assert [getattr(part, name) for part in parts if getattr(part, name)] == [getattr(perturb, name)] * (
            name in perturb.names()
        )


COMPLETE = {
    "pinning": "none",
    "keys": "dense",
    "key_range": 1000,
    "duration_ms": 10,
    "interval_ms": 1,
    "threads": 2,
}


def test_trials_of_a_configuration_are_moved_alike_and_others_are_not() -> None:
    asked = sensitive(
        experiment(
            perturb=UNMOVED.altered(key_range=0.1, environment=1000, thread_order=True), fixed=COMPLETE
        ),
        4,
        3,
        [1],
    )
    drawn = defaultdict(list)
    for trial in make_plan(asked, 1, lambda _: "/bin/x", 1000).trials:
        drawn[trial.levels["perturbed"], trial.levels["configuration"]].append(trial.perturbation)
    for (level, _), perturbations in drawn.items():
        assert len(perturbations) == 6  # three blocks of two subjects
        different = {str(perturbation) for perturbation in perturbations}
        assert (len(different) == 1) == (level != with_randomness(1))
        if level == NOTHING:
            assert different == {"{}"}
    everything = {str(perturbations[0]) for (name, _), perturbations in drawn.items() if name == EVERYTHING}
    assert len(everything) == 4


def test_replicates_of_a_configuration_share_a_layout_where_it_is_varied_and_else_run_what_was_built() -> (
    None
):
    asked = sensitive(experiment(perturb=UNMOVED.altered(stack=64, layout=True), fixed=COMPLETE), 3, 2, [])
    plan = make_plan(asked, 1, lambda _: "/bin/true", 1000)
    layouts = defaultdict(set)
    for trial in plan.trials:
        layouts[trial.levels["perturbed"], trial.levels["configuration"]].add(
            trial.perturbation.get("layout")
        )
    for (perturbed_by, _), drawn in layouts.items():
        assert len(drawn) == 1
        assert (drawn == {None}) == (perturbed_by in (NOTHING, "stack"))
    assert len({seed for drawn in layouts.values() for seed in drawn}) == 1 + 2 * 3
