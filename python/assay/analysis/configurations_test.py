import math
from datetime import UTC, datetime
from random import Random

import numpy as np

from assay.analysis.configurations import (
    LEFT_OUT_AT_MOST,
    ConditionSensitivity,
    DisturbedConfigurations,
    condition_sensitivities,
)
from assay.analysis.sensitivity import sensitivity
from assay.experiment.perturb import UNMOVED
from assay.experiment.sensitivity import EVERYTHING, NOTHING, sensitive, with_randomness
from assay.experiment.testing import experiment
from assay.experiment.types import Design
from assay.store.types import StoredTrial

NUMBER = 40
SCATTER = 0.01
MOVED = 0.1


def measured(
    seed: int, *, valid: bool = True, busy: int = 0, counts: bool = False, hosts: int = 1
) -> ConditionSensitivity:
    """Return what a campaign says whose key range moves the throughput, and whose stack does not.

    Each block runs on the next host, which is twice as fast.

    The first `busy` configurations with everything perturbed lose half of their processor time in two
    of three replicates, which halves their throughput.
    """
    asked = sensitive(
        experiment(
            perturb=UNMOVED.altered(key_range=0.1, stack=64),
            design=Design(blocks=10, busy="count" if counts else "withhold"),
        ),
        NUMBER,
        3,
        randomness=[0.5, 4],
    )
    random = Random(seed)
    offsets: dict[tuple[str, object, object], float] = {}
    trials: list[StoredTrial] = []
    for block in range(3):
        for condition in asked.conditions():
            perturbed = str(condition["perturbed"])
            moves = perturbed not in (NOTHING, "stack", with_randomness(4))
            configuration = (perturbed, condition["configuration"], condition["subject"])
            number = int(str(condition["configuration"]))
            lost = 0.5 if perturbed == EVERYTHING and number <= busy and block != 1 else 0.0
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
                    metrics={
                        "throughput": 1e6
                        * 2 ** (block % hosts)
                        * (1 - lost)
                        * math.exp(offset + random.gauss(0, SCATTER)),
                        "lost_share": lost,
                    },
                    calibration_before={},
                    calibration_after={},
                    environment=None,
                    ran_on=f"host {block % hosts}",
                )
            )
    conditions = condition_sensitivities(trials, asked, {})
    assert [condition.levels for condition in conditions] == [{"subject": "base"}, {"subject": "other"}]
    return conditions[0]


def test_how_fast_a_host_is_does_not_count_as_sensitivity() -> None:
    alone, several = (measured(1, hosts=hosts).perturbed[EVERYTHING] for hosts in (1, 3))
    assert alone is not None
    assert several is not None
    assert math.isclose(several.spread.deviation, alone.spread.deviation, rel_tol=0.1)


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


def test_configurations_that_other_work_disturbed_are_left_out_and_counted() -> None:
    quiet, told = measured(1), measured(1, busy=8)
    assert told.left_out == {EVERYTHING: DisturbedConfigurations(8, NUMBER)}
    found = told.perturbed[EVERYTHING]
    assert found is not None
    assert (found.configurations, found.trials) == (NUMBER - 8, 3 * (NUMBER - 8))
    assert found.spread.deviation < 1.5 * MOVED  # and not that of halves
    assert {**told.perturbed, EVERYTHING: None} == {**quiet.perturbed, EVERYTHING: None}


def test_where_too_many_are_disturbed_nothing_is_said_of_that_line_alone() -> None:
    told = measured(1, busy=9)
    assert told.left_out[EVERYTHING].too_many
    assert [name for name, found in told.perturbed.items() if found is None] == [EVERYTHING]
    assert told.enough is None


def test_an_experiment_may_count_them() -> None:
    told = measured(1, busy=9, counts=True)
    assert told.left_out == {}
    found = told.perturbed[EVERYTHING]
    assert found is not None
    assert found.configurations == NUMBER


def test_what_is_left_out_makes_the_typical_error_little_smaller_even_if_it_lies_farthest_out() -> None:
    random = np.random.default_rng(1)
    number, deviation = 20, 0.05
    kept = number - int(LEFT_OUT_AT_MOST * number)
    typical = []
    for _ in range(100):
        configurations = random.normal(0, deviation, number)
        quiet = configurations[np.argsort(np.abs(configurations))][:kept]
        found = sensitivity([*(quiet[:, None] + random.normal(0, deviation, (kept, 4)))])
        typical.append(math.log(found.single.typical))
    in_truth = 0.6745 * math.sqrt(2 * (deviation**2 + deviation**2))
    assert 0.8 < np.median(typical) / in_truth < 0.9
