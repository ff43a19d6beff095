from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay import protocol
from assay.experiment.perturb import UNMOVED
from assay.experiment.types import ComparisonDesign, Design, Experiment, Extraction, Level, Program
from assay.plan.make_plan import COMMAND_TIMEOUT_S, default_timeout_s, make_plan, repeat_group
from assay.plan.types import Plan, PlannedTrial

FIXED = {
    "threads": 1,
    "pinning": "none",
    "keys": "dense",
    "key_range": 1000,
    "duration_ms": 100,
    "interval_ms": 10,
    "mix": {"insert": 5, "erase": 5, "find": 90},
}


def small_experiment(
    subjects: int = 3,
    threads: int = 2,
    blocks: int = 3,
    amount: float = 0.01,
    exclude: tuple[dict[str, tuple[Level, ...]], ...] = (),
    **fixed: object,
) -> Experiment:
    names = tuple(f"map_{number}" for number in range(subjects))
    counts = tuple(range(1, threads + 1))
    return Experiment(
        name="x",
        question="?",
        comparison=ComparisonDesign(
            metric="throughput",
            factor="subject",
            baseline="map_0",
            smallest_effect_percent=3,
            better="higher",
        ),
        design=Design(blocks=blocks, exclude=exclude),
        perturb=UNMOVED.altered(key_range=amount or False, environment=4096),
        programs={},
        fixed=FIXED | fixed,
        changes={
            "threads": {count: {"threads": count} for count in counts},
            "subject": {name: {"subject": name} for name in names},
        },
        path=Path("x.toml"),
    )


def plan_of(experiment: Experiment, seed: int = 1) -> Plan:
    return make_plan(experiment, seed, lambda subject: f"/bin/{subject}", 1000)


experiments = st.builds(
    small_experiment,
    subjects=st.integers(2, 5),
    threads=st.integers(1, 4),
    blocks=st.integers(1, 5),
    amount=st.sampled_from([0, 0.005, 0.02, 1]),
    key_range=st.integers(2, 2**40),
    exclude=st.sampled_from([(), ({"subject": ("map_1",), "threads": (2, 4)},)]),
)
seeds = st.integers(0, 2**53 - 1)


@given(experiments, seeds)
def test_the_same_seed_gives_the_same_plan(experiment: Experiment, seed: int) -> None:
    assert plan_of(experiment, seed) == plan_of(experiment, seed)


def test_another_seed_gives_another_plan() -> None:
    assert len({str(plan_of(small_experiment(), seed).trials) for seed in range(20)}) == 20


@given(experiments, seeds)
def test_every_block_runs_every_condition_once(experiment: Experiment, seed: int) -> None:
    conditions = Counter(tuple(condition.items()) for condition in experiment.conditions())
    trials = plan_of(experiment, seed).trials
    assert [trial.ordinal for trial in trials] == list(range(len(trials)))
    assert [trial.block for trial in trials] == sorted(trial.block for trial in trials)
    for block in range(experiment.design.blocks):
        assert Counter(tuple(trial.levels.items()) for trial in trials if trial.block == block) == conditions


@given(experiments, seeds)
def test_a_group_runs_back_to_back_and_differs_only_in_what_is_compared(
    experiment: Experiment, seed: int
) -> None:
    trials = plan_of(experiment, seed).trials
    runs = [list(run) for _, run in groupby(trials, key=lambda trial: trial.group)]
    assert len(runs) == len({trial.group for trial in trials})
    for run in runs:
        assert len({trial.block for trial in run}) == 1
        assert len({experiment.context(trial.levels) for trial in run}) == 1
        compared = [trial.levels["subject"] for trial in run]
        assert len(set(compared)) == len(compared)
        assert "map_0" in compared


@given(experiments, seeds)
def test_every_trial_has_a_seed_of_its_own_and_a_request_that_follows_the_protocol(
    experiment: Experiment, seed: int
) -> None:
    trials = plan_of(experiment, seed).trials
    assert len({trial.request["seed"] for trial in trials}) == len(trials)
    for trial in trials:
        protocol.validator("trial-request").validate(trial.request)
        assert trial.request["subject"] == trial.levels["subject"]
        assert trial.request["threads"] == trial.levels["threads"]
        assert trial.program == f"/bin/{trial.levels['subject']}"


def test_perturbations_are_drawn_anew_for_each_trial() -> None:
    trials = plan_of(small_experiment(blocks=20, key_range=1_000_000)).trials
    assert len({trial.request["key_range"] for trial in trials}) > len(trials) * 0.9
    assert len({trial.perturbation["environment_bytes"] for trial in trials}) > len(trials) * 0.9


def test_a_key_range_moves_up_as_often_as_down() -> None:
    trials = plan_of(small_experiment(blocks=400, key_range=1_000_000, amount=0.5)).trials
    up = sum(trial.request["key_range"] > 1_000_000 for trial in trials)
    assert abs(up - len(trials) / 2) < 4 * (len(trials) / 4) ** 0.5  # four standard deviations


def test_order_favours_no_condition() -> None:
    blocks = 600
    trials = plan_of(small_experiment(subjects=3, threads=2, blocks=blocks)).trials
    position: Counter[tuple[Level, int]] = Counter()
    first_group: Counter[Level] = Counter()
    for _, run in groupby(trials, key=lambda trial: trial.group):
        position.update((trial.levels["subject"], place) for place, trial in enumerate(run))
    for _, run in groupby(trials, key=lambda trial: trial.block):
        first_group[next(run).levels["threads"]] += 1
    groups = 2 * blocks
    bound = 4 * (groups * 1 / 3 * 2 / 3) ** 0.5  # four standard deviations
    assert len(position) == 9
    assert all(abs(count - groups / 3) < bound for count in position.values())
    assert abs(first_group[1] - blocks / 2) < 4 * (blocks / 4) ** 0.5


def test_limits_come_from_the_settings_or_else_from_the_trial() -> None:
    derived = plan_of(small_experiment()).trials[0]
    assert derived.memory_limit_mb == 1000
    assert derived.timeout_s == default_timeout_s(derived.request)
    stated = plan_of(small_experiment(timeout_s=7.5, memory_limit_mb=64)).trials[0]
    assert (stated.timeout_s, stated.memory_limit_mb) == (7.5, 64)


@given(st.integers(1, 3_600_000), st.integers(2, 2**40))
def test_the_time_out_leaves_room_for_the_interval_and_grows_with_the_prefill(
    duration_ms: int, key_range: int
) -> None:
    small = default_timeout_s({"duration_ms": duration_ms, "key_range": key_range})
    large = default_timeout_s({"duration_ms": duration_ms, "key_range": key_range * 2})
    assert small >= 10 + duration_ms / 1000
    assert large > small


def test_warm_up_and_parameters_are_requested_only_where_there_are_any() -> None:
    for experiment in (small_experiment(), small_experiment(warm_up_ms=0), small_experiment(parameters={})):
        assert not plan_of(experiment).trials[0].request.keys() & {"warm_up_ms", "parameters"}
    request = plan_of(small_experiment(warm_up_ms=5, parameters={"level": 3, "name": "x"})).trials[0].request
    protocol.validator("trial-request").validate(request)
    assert request["warm_up_ms"] == 5
    assert request["parameters"] == {"level": 3, "name": "x"}


def test_a_warm_up_lengthens_the_time_out() -> None:
    usual, warm = (plan_of(small_experiment(warm_up_ms=ms)).trials[0].timeout_s for ms in (0, 1000))
    assert warm >= usual + 1


# Workloads


def test_a_request_has_its_roles_and_files_with_their_digests() -> None:
    weights = {"kind": "empirical", "file": "/w"}
    roles = [{"name": "a", "threads": 1, "distribution": weights}, {"name": "b"}]
    experiment = small_experiment(threads=2, roles=roles, distribution=weights)
    experiment = experiment.model_copy(
        update={
            "changes": {**experiment.changes, "threads": {count: {"threads": count} for count in (2, 3)}},
            "digests": {"/w": "0x" + "0" * 16},
        }
    )
    known = weights | {"digest": "0x" + "0" * 16}
    plan = plan_of(experiment)
    for trial in plan.trials:
        protocol.validator("trial-request").validate(trial.request)
        assert trial.request["distribution"] == known
        assert trial.request["roles"] == [
            {"name": "a", "threads": 1, "distribution": known},
            {"name": "b", "threads": trial.request["threads"] - 1},
        ]
    group = [trial for trial in plan.trials if trial.group == 0]
    unread = experiment.model_copy(update={"digests": {}})
    again = repeat_group(unread, group, campaign_seed=1, number=1, group_number=99, first_ordinal=999)
    assert all(trial.request["distribution"] == known for trial in again)


@given(st.sampled_from([2, 1000, 2**31 - 1]), st.sampled_from(["dense", "sparse"]), seeds)
def test_keys_of_32_bits_stay_within_them(key_range: int, keys: str, seed: int) -> None:
    experiment = small_experiment(key_range=key_range, key_type="uint32", keys=keys, percent=50)
    assert all(2 <= trial.request["key_range"] < 2**31 for trial in plan_of(experiment, seed).trials)


def test_strings_and_arrays_take_their_time() -> None:
    settings = {"duration_ms": 1, "key_range": 10**6, "threads": 2}
    usual = default_timeout_s(settings)
    assert default_timeout_s(settings | {"value_type": {"bytes": {"from": 0, "to": 4096}}}) >= usual + 40
    assert default_timeout_s(settings | {"key_type": "uint32"}) == usual
    assert default_timeout_s(settings | {"engine": {"name": "x", "array": 10**7}}) >= usual + 20


# Commands

RULES = (Extraction(metric="a", pattern="a(.)"),)


def command() -> Experiment:
    """Return an experiment that compares a command with a map."""
    arguments = ("-{threads}", "{seed}", "{{{level}}")
    return small_experiment(subjects=2).model_copy(
        update={
            "programs": {
                "map_1": Program(table="map", program="/x", arguments=arguments, extract={"a": "a(.)"})
            },
            "fixed": FIXED | {"parameters": {"level": 9}},
        }
    )


def test_a_command_has_arguments_with_each_trials_own_values_and_its_rules() -> None:
    for trial in plan_of(command()).trials:
        if trial.levels["subject"] == "map_1":
            filled = (f"-{trial.levels['threads']}", str(trial.request["seed"]), "{9}")
            assert (trial.arguments, trial.extract) == (filled, RULES)
            assert trial.timeout_s == COMMAND_TIMEOUT_S
        else:
            assert (trial.arguments, trial.extract) == ((), "protocol")
            assert trial.timeout_s == default_timeout_s(trial.request)


def test_what_a_command_has_not_is_neither_perturbed_nor_requested() -> None:
    fixed = {"threads": 1, "pinning": "none", "timeout_s": 5}
    programs = {f"map_{n}": Program(table="map", program="/x", protocol=False) for n in (0, 1)}
    experiment = command().model_copy(update={"fixed": fixed, "programs": programs})
    for trial in plan_of(experiment).trials:
        assert trial.request.keys() == {"protocol", "seed", "subject", "threads", "pinning"}
        assert trial.perturbation.keys() == {"environment_bytes"}
        assert trial.timeout_s == 5


# Repetitions


def first_group(trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
    return [trial for trial in trials if trial.group == 0]


def repetition(experiment: Experiment, plan: Plan, number: int = 1) -> tuple[PlannedTrial, ...]:
    return repeat_group(
        experiment,
        first_group(plan.trials),
        campaign_seed=plan.seed,
        number=number,
        group_number=1000,
        first_ordinal=5000,
    )


@given(experiments, seeds)
def test_a_repetition_has_the_conditions_of_its_group_and_numbers_of_its_own(
    experiment: Experiment, seed: int
) -> None:
    plan = plan_of(experiment, seed)
    group, repeated = first_group(plan.trials), repetition(experiment, plan)
    assert Counter(str(trial.levels) for trial in repeated) == Counter(str(trial.levels) for trial in group)
    assert [trial.ordinal for trial in repeated] == [5000 + number for number in range(len(group))]
    assert {(trial.group, trial.repeats, trial.block) for trial in repeated} == {(1000, 0, group[0].block)}
    for trial in repeated:
        of_group = next(first for first in group if first.levels == trial.levels)
        assert (trial.program, trial.memory_limit_mb) == (of_group.program, of_group.memory_limit_mb)
        assert trial.request["seed"] not in {planned.request["seed"] for planned in plan.trials}
        protocol.validator("trial-request").validate(trial.request)


def test_a_repetition_can_be_had_again_and_each_is_another() -> None:
    experiment = small_experiment(subjects=5, key_range=1_000_000)
    plan = plan_of(experiment)
    assert repetition(experiment, plan) == repetition(experiment, plan)
    several = [repetition(experiment, plan, number) for number in range(1, 11)]
    assert len({tuple(trial.levels["subject"] for trial in repeated) for repeated in several}) > 5
    assert len({trial.request["seed"] for repeated in several for trial in repeated}) == 50
    assert len({trial.request["key_range"] for repeated in several for trial in repeated}) > 45


def test_a_repetition_of_a_repetition_is_of_the_first_group() -> None:
    experiment = small_experiment()
    plan = plan_of(experiment)
    once = repetition(experiment, plan)
    twice = repeat_group(
        experiment, once, campaign_seed=plan.seed, number=2, group_number=1001, first_ordinal=6000
    )
    assert {trial.repeats for trial in twice} == {0}
    assert {(trial.ordinal, trial.group) for trial in twice} == {(6000 + n, 1001) for n in range(3)}
