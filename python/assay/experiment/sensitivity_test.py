import pytest

from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.perturb import UNMOVED, Perturb
from assay.experiment.sensitivity import EVERYTHING, NOTHING, sensitive, with_randomness
from assay.experiment.testing import experiment

MOVED = UNMOVED.altered(key_range=0.1, environment=1000, thread_order=True)


def test_each_thing_is_perturbed_alone_and_all_together() -> None:
    asked = sensitive(experiment(perturb=MOVED), 3, 2, [0.5])
    assert list(asked.factors["perturbed"]) == [
        *(NOTHING, "key_range", "environment", "thread_order", EVERYTHING, with_randomness(0.5))
    ]
    assert asked.factors["configuration"] == (1, 2, 3)
    assert asked.design.blocks == 2
    assert asked.varied[EVERYTHING].moved == MOVED
    assert asked.randomness() == {with_randomness(0.5): 0.5}
    assert Experiment.model_validate_json(asked.model_dump_json()) == asked


def test_randomness_is_added_to_what_has_a_c_and_never_beyond_one() -> None:
    large = UNMOVED.altered(key_range=0.6)
    assert sensitive(experiment(perturb=large), 3, 2).randomness() == {
        with_randomness(scale): scale for scale in (0.5, 1)
    }
    assert not sensitive(experiment(perturb=UNMOVED.altered(environment=100)), 3, 2).randomness()
    with pytest.raises(AssayError, match=r"2 times the C of 0\.6 is more than 1"):
        sensitive(experiment(perturb=large), 3, 2, [2])
    far = UNMOVED.altered(uniform={"batch": 1e18})
    assert sensitive(experiment(perturb=far), 3, 2).randomness().keys() == {*map(with_randomness, (0.5, 1))}
    with pytest.raises(AssayError, match=r"1000 times the uniform of 1e\+18 is more than 1e\+18"):
        sensitive(experiment(perturb=far), 3, 2, [1000])
    with pytest.raises(AssayError, match="nothing has a C"):
        sensitive(experiment(perturb=UNMOVED.altered(environment=100)), 3, 2, [1])
    with pytest.raises(AssayError, match="measures sensitivity already"):
        sensitive(sensitive(experiment(perturb=large), 3, 2), 3, 2)


def test_randomness_moves_numbers_alone_those_inside_tables_too() -> None:
    perturb = UNMOVED.altered(
        parameters={"window": 0.2, "hash": {"a": 1.0, "b": 1.0}}, uniform={"batch": 8}, stack=64
    )
    redrawn = sensitive(experiment(perturb=perturb), 2, 2, [2]).varied[with_randomness(2)].redrawn
    assert (redrawn.amounts, redrawn.uniform) == ({"parameters.window": 0.4}, {"batch": 16})
    assert redrawn.names() == ("parameters.window", "batch")


def test_the_layout_is_varied_where_the_experiment_draws_it() -> None:
    asked = sensitive(experiment(perturb=UNMOVED.altered(stack=64, layout=True)), 2, 2)
    assert [name for name, varied in asked.varied.items() if varied.moved.layout] == ["layout", EVERYTHING]


def test_fixed_addresses_are_fixed_in_every_trial() -> None:
    asked = sensitive(experiment(perturb=UNMOVED.altered(stack=64, heap=64, address_space="fixed")), 2, 2)
    assert {varied.moved.address_space for varied in asked.varied.values()} == {"fixed"}
    assert list(asked.varied) == [NOTHING, "stack", "heap", EVERYTHING]


@pytest.mark.parametrize(
    ("moved", "factor", "word"),
    [
        (UNMOVED, "size", "name what may vary"),
        (MOVED, "perturbed", "rename"),
        (MOVED, "configuration", "rename"),
    ],
)
def test_what_cannot_be_asked_is_refused(moved: Perturb, factor: str, word: str) -> None:
    held = experiment(perturb=moved)
    changes = {**held.changes, factor: {1: {}}}
    with pytest.raises(AssayError, match=word):
        sensitive(held.model_copy(update={"changes": changes}), 3, 2)
