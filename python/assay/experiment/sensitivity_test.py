from collections import defaultdict

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment
from assay.experiment.perturb import Perturb
from assay.experiment.sensitivity import EVERYTHING, NOTHING, sensitive, with_randomness
from assay.experiment.testing import experiment
from assay.plan.make_plan import make_plan

MOVED = Perturb(amounts={"key_range": 0.1}, environment=1000, thread_order=True)
COMPLETE = {
    "pinning": "none",
    "keys": "dense",
    "key_range": 1000,
    "duration_ms": 10,
    "interval_ms": 1,
    "threads": 2,
}


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


def test_trials_of_a_configuration_are_moved_alike_and_others_are_not() -> None:
    asked = sensitive(experiment(perturb=MOVED, fixed=COMPLETE), 4, 3, [1])
    drawn = defaultdict(list)
    for trial in make_plan(asked, 1, lambda _: "/bin/x", 1000).trials:
        drawn[trial.levels["perturbed"], trial.levels["configuration"]].append(trial.perturbation)
    for (perturbed, _), perturbations in drawn.items():
        assert len(perturbations) == 6  # three blocks of two subjects
        different = {str(perturbation) for perturbation in perturbations}
        assert (len(different) == 1) == (perturbed != with_randomness(1))
        if perturbed == NOTHING:
            assert different == {"{}"}
    everything = {str(perturbations[0]) for (name, _), perturbations in drawn.items() if name == EVERYTHING}
    assert len(everything) == 4


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
