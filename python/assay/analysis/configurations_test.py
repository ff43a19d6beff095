import math
from datetime import UTC, datetime
from random import Random

from assay.analysis.configurations import Condition, conditions_of
from assay.experiment.perturb import Perturb
from assay.experiment.sensitivity import EVERYTHING, NOTHING, sensitive, with_randomness
from assay.experiment.testing import experiment
from assay.store.types import StoredTrial

NUMBER = 40
SCATTER = 0.01
MOVED = 0.1


def measured(seed: int, *, valid: bool = True) -> Condition:
    """Return what a campaign says whose key range moves the throughput, and whose stack does not."""
    asked = sensitive(
        experiment(perturb=Perturb(amounts={"key_range": 0.1}, stack=64)), NUMBER, 3, randomness=[0.5, 4]
    )
    random = Random(seed)
    offsets: dict[tuple[str, object, object], float] = {}
    trials: list[StoredTrial] = []
    for block in range(3):
        for condition in asked.conditions():
            perturbed = str(condition["perturbed"])
            moves = perturbed not in (NOTHING, "stack", with_randomness(4))
            configuration = (perturbed, condition["configuration"], condition["subject"])
            offset = offsets.setdefault(configuration, random.gauss(0, MOVED) if moves else 0)
            trials.append(
                StoredTrial(
                    id=len(trials) + 1,
                    ordinal=len(trials),
                    block=block,
                    group=0,
                    levels=condition,
                    repeats=None,
                    status="valid" if valid else "invalid",
                    reason="",
                    started_at=datetime(2024, 1, 1, tzinfo=UTC),
                    wall_s=1,
                    metrics={"throughput": 1e6 * math.exp(offset + random.gauss(0, SCATTER))},
                    calibration_before={},
                    calibration_after={},
                    environment=None,
                )
            )
    conditions = conditions_of(trials, asked)
    assert [condition.levels for condition in conditions] == [{"subject": "base"}, {"subject": "other"}]
    return conditions[0]


def test_what_moves_the_metric_is_told_from_what_does_not() -> None:
    told = measured(1)
    assert list(told.perturbed) == [
        *(NOTHING, "key_range", "stack", EVERYTHING),
        *map(with_randomness, [0.5, 4]),
    ]
    for name, found in told.perturbed.items():
        assert found is not None
        assert (found.configurations, found.trials) == (NUMBER, 3 * NUMBER)
        assert found.split is not None
        moves = name not in (NOTHING, "stack", with_randomness(4))
        assert (found.spread.deviation > MOVED / 2) == moves
        assert (found.split.share > 0.5) == moves
    assert told.enough is not None
    assert told.enough.amount == 4
    assert told.unperturbed is not None
    assert 0.99e6 < told.unperturbed < 1.01e6
    assert all(list(medians) == sorted(medians) for medians in told.medians.values())


def test_trials_that_are_not_valid_say_nothing() -> None:
    told = measured(1, valid=False)
    assert set(told.perturbed.values()) == {None}
    assert told.enough is None
    assert told.unperturbed is None
