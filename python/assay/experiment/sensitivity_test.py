import pytest

from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.perturb import Perturb
from assay.experiment.sensitivity import EVERYTHING, NOTHING, sensitive, with_randomness
from assay.experiment.testing import experiment

MOVED = Perturb(amounts={"key_range": 0.1}, environment=1000, thread_order=True)


def test_each_thing_is_perturbed_alone_and_all_together() -> None:
    asked = sensitive(experiment(perturb=MOVED), 3, 2, [0.5])
    assert list(asked.factors["perturbed"]) == [
        *(NOTHING, "key_range", "environment", "thread_order", EVERYTHING, with_randomness(0.5))
    ]
    assert asked.factors["configuration"] == (1, 2, 3)
    assert asked.design.blocks.most == 2
    assert asked.varied[EVERYTHING].moved == MOVED
    assert asked.randomness() == {with_randomness(0.5): 0.5}
    assert Experiment.model_validate_json(asked.model_dump_json()) == asked


@pytest.mark.parametrize(
    ("moved", "factor", "word"),
    [
        (Perturb(), "size", "name what may vary"),
        (MOVED, "perturbed", "rename"),
        (MOVED, "configuration", "rename"),
    ],
)
def test_what_cannot_be_asked_is_refused(moved: Perturb, factor: str, word: str) -> None:
    held = experiment(perturb=moved)
    changes = {**held.changes, factor: {1: {}}}
    with pytest.raises(AssayError, match=word):
        sensitive(held.model_copy(update={"changes": changes}))
