import pytest

from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.perturb import UNMOVED, Perturb
from assay.experiment.sensitivity import EVERYTHING, NOTHING, sensitive
from assay.experiment.testing import experiment

MOVED = UNMOVED.altered(key_range=0.1, environment=1000, thread_order=True)


def test_each_thing_is_perturbed_alone_and_all_together() -> None:
    asked = sensitive(experiment(perturb=MOVED), 3, 2)
    each = ("key_range", "environment", "thread_order")
    assert asked.factors["perturbed"] == (NOTHING, *each, EVERYTHING)
    assert asked.factors["configuration"] == (1, 2, 3)
    assert asked.design.blocks == 2
    assert asked.varied[EVERYTHING] == MOVED
    assert Experiment.model_validate_json(asked.model_dump_json()) == asked
    with pytest.raises(AssayError, match="measures sensitivity already"):
        sensitive(asked, 3, 2)


def test_the_layout_is_varied_where_the_experiment_draws_it() -> None:
    asked = sensitive(experiment(perturb=UNMOVED.altered(stack=64, layout=True)), 2, 2)
    assert [name for name, varied in asked.varied.items() if varied.layout] == ["layout", EVERYTHING]


def test_fixed_addresses_are_fixed_in_every_trial() -> None:
    asked = sensitive(experiment(perturb=UNMOVED.altered(stack=64, heap=64, address_space="fixed")), 2, 2)
    assert {varied.address_space for varied in asked.varied.values()} == {"fixed"}
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
