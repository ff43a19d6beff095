"""How a campaign goes on: with a real store, and with trials, a clock and an analysis that are made up."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from rich.console import Console

from assay.analysis.sequential import looks
from assay.analysis.types import Analysis, Comparison, Estimate, Interval, Look, Verdict
from assay.campaign.progress import ProgressDisplay
from assay.campaign.scheduler import NothingExtractedError, Scheduler
from assay.errors import AssayError
from assay.experiment import Experiment, parse
from assay.plan.make_plan import make_plan
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from assay.store.types import StoredTrial

SOURCE = """
name = "x"
question = "?"
[factors]
subject = ["a", "b"]
threads = [1, 2]
[trial]
key_range = 1000
mix = { insert = 5, erase = 5, find = 90 }
[comparison]
metric = "throughput"
factor = "subject"
baseline = "a"
smallest_effect_percent = 3
[design]
seed = 1
"""
BLOCKS = 3
GROUPS = 2 * BLOCKS  # of two trials each


def experiment(design: str = f"blocks = {BLOCKS}") -> Experiment:
    return parse(SOURCE + design, Path("x.toml"))


class Killed(BaseException):
    """The runner is no more."""


@dataclass
class Laboratory:
    """A campaign that can be run, killed and run again; the world around it is made up.

    Attributes:
        disagree: tells of a group of trials whether its calibrations disagree.
        settle: tells of the ended blocks at a look whether the campaign may end.
        lost: group -> the share of their processor time that its trials lose.
        trial_s: how long each trial takes.
        kill_at: number of the step, counted from 0, before which the runner is killed. Steps are trials and
            writes to the store; what happens between two of them is lost with the runner in any case.
    """

    store: Store
    experiment: Experiment = field(default_factory=experiment)
    disagree: Callable[[Sequence[StoredTrial]], bool] = lambda _: False
    settle: Callable[[int], bool] = lambda _: False
    looks: frozenset[int] = frozenset()
    metrics: Mapping[str, float] = field(default_factory=lambda: {"throughput": 5.0})
    lost: Mapping[int, float] = field(default_factory=dict)
    trial_s: float = 1.0
    kill_at: int | None = None
    number: int = 0
    steps: int = 0
    now: float = 1000.0
    lines: list[str] = field(default_factory=list)
    questions: list[tuple[list[int], list[int]]] = field(default_factory=list)
    handed: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        plan = make_plan(self.experiment, 1, lambda subject: f"/bin/{subject}", 1000)
        self.number = self.store.begin_campaign(experiment=self.experiment, plan=plan, host={})

    def step(self) -> None:
        self.steps += 1
        if self.steps - 1 == self.kill_at:
            raise Killed

    def execute(self, group: Sequence[PlannedTrial]) -> Iterator[Outcome]:
        self.handed.append([trial.ordinal for trial in group])
        return map(self.outcome_of, group)

    def outcome_of(self, trial: PlannedTrial) -> Outcome:
        self.step()
        self.now += self.trial_s
        return Outcome(
            status="valid",
            reason="",
            exit_code=0,
            result={"metrics": dict(self.metrics)},
            stdout="",
            stderr="",
            calibration_before={"metrics": {}, "elapsed_ms": 100 * self.trial_s},
            calibration_after={"metrics": {}, "elapsed_ms": 100 * self.trial_s},
            calibration_error="",
            started_at=datetime.fromtimestamp(self.now, UTC),
            wall_s=0.8 * self.trial_s,
            derived={"lost_share": self.lost[trial.group]} if trial.group in self.lost else {},
        )

    def __getattr__(self, name: str) -> Any:
        """Return a method of the store; to call one that writes is a step."""
        method = getattr(self.store, name)

        def call(*arguments: Any) -> Any:
            if name in {"record", "extend", "decide"}:
                self.step()
            return method(*arguments)

        return call

    def disagreement(self, group: Sequence[StoredTrial], ended: Sequence[StoredTrial], _: Experiment) -> str:
        self.questions.append(([trial.ordinal for trial in group], [trial.ordinal for trial in ended]))
        return "the host changed its mode" if self.disagree(group) else ""

    def summarise(self, ended: Sequence[StoredTrial], experiment: Experiment, hosts: int) -> Analysis:
        assert hosts == 1
        blocks = max(trial.block for trial in ended) + 1
        return analysis("equivalent" if self.settle(blocks) else "undecided", blocks)

    def run(self, display: Any = None) -> None:
        """Run what is pending until the end, or until the runner is killed."""
        with patch.multiple(
            "assay.campaign.scheduler",
            derive=lambda result, _: {"derived": 2 * result["metrics"].get("throughput", 0)},
            disagreement=self.disagreement,
            summarise=self.summarise,
            stop_reason=lambda seen, _: (
                "" if seen.comparisons[0].verdict == "undecided" else "every comparison has a verdict"
            ),
            looks=lambda _: [Look(0, 0, blocks, 0.98) for blocks in self.looks],
        ):
            store: Any = self
            scheduler = Scheduler(
                store, self.number, self.experiment, clock=lambda: self.now, say=self.lines.append
            )
            scheduler.run(self, display or ProgressDisplay(Console(quiet=True), scheduler.pending, 0, 0))

    def decided(self) -> list[tuple[str, int, str, Mapping[str, Any]]]:
        return [
            (decision.kind, decision.block, decision.reason, decision.content)
            for decision in self.store.decisions(self.number)
        ]

    def ran(self) -> list[StoredTrial]:
        """Return the ended trials in the order in which they ran."""
        return sorted(self.store.trials(self.number), key=lambda trial: trial.id)

    def groups_ran(self) -> list[tuple[int, int | None]]:
        """Return each group that ran, with the one that it repeats, in the order in which they ran."""
        return list(dict.fromkeys((trial.group, trial.repeats) for trial in self.ran()))


def analysis(verdict: Verdict, blocks: int) -> Analysis:
    interval = Interval(0.9, 1.1, 0.98)
    alone = Estimate(1.0, interval, 0.5, verdict, blocks)
    comparison = Comparison(
        **vars(alone), metric="throughput", context={}, level="b", baseline="a", dropped={}, all_groups=alone
    )
    look = Look(1 if blocks == 2 else 2, 2, blocks, 0.98)
    return Analysis("throughput", "subject", "a", "higher", 3, 0.95, (), (comparison,), look=look)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("scheduler") / "assay.sqlite") as opened:
        yield opened


def is_group(*numbers: int) -> Callable[[Sequence[StoredTrial]], bool]:
    return lambda group: group[0].group in numbers


# Repetitions


def test_without_a_reason_every_planned_trial_runs_once_in_its_order(store: Store) -> None:
    laboratory = Laboratory(store)
    laboratory.run()
    assert [trial.ordinal for trial in laboratory.ran()] == list(range(2 * GROUPS))
    assert laboratory.decided() == []
    assert laboratory.lines == []


def test_a_group_whose_calibrations_disagree_is_repeated_whole_and_next(store: Store) -> None:
    laboratory = Laboratory(store, disagree=is_group(2))
    laboratory.run()
    assert laboratory.groups_ran() == [
        (0, None),
        (1, None),
        (2, None),
        (6, 2),
        (3, None),
        (4, None),
        (5, None),
    ]
    first, again = ([trial for trial in laboratory.ran() if trial.group == group] for group in (2, 6))
    assert {str(trial.levels) for trial in first} == {str(trial.levels) for trial in again}
    assert {trial.block for trial in again} == {1}
    assert [trial.ordinal for trial in again] == [12, 13]
    assert laboratory.decided() == [
        ("repeat", 1, "the host changed its mode", {"group": 2, "number": 1, "as": 6})
    ]


def test_a_group_that_other_work_disturbed_is_repeated_where_the_experiment_waits(store: Store) -> None:
    for busy, ran in (("wait", [0, 1, 6, 2, 3, 4, 5]), ("withhold", range(6)), ("count", range(6))):
        laboratory = Laboratory(
            store, experiment(f'blocks = {BLOCKS}\nbusy = "{busy}"'), lost={1: 0.35, 2: 0.05}
        )
        laboratory.run()
        assert [group for group, _ in laboratory.groups_ran()] == list(ran)
    assert {trial.metrics["lost_share"] for trial in laboratory.ran() if trial.group == 1} == {0.35}


def test_the_rule_is_asked_once_for_each_group_and_sees_all_that_ended(store: Store) -> None:
    laboratory = Laboratory(store)
    laboratory.run()
    assert laboratory.questions == [
        ([2 * group, 2 * group + 1], list(range(2 * group + 2))) for group in range(GROUPS)
    ]


@pytest.mark.parametrize("repeat", [0, 1, 3])
def test_a_group_is_repeated_as_often_as_the_experiment_allows(store: Store, repeat: int) -> None:
    laboratory = Laboratory(
        store, experiment(f"blocks = {BLOCKS}\nrepeat = {repeat}"), disagree=lambda group: group[0].block == 0
    )
    laboratory.run()
    repeated = [decision.content["number"] for decision in store.decisions(laboratory.number)]
    assert repeated == [*range(1, repeat + 1), *range(1, min(repeat, 3 - repeat) + 1)]


def test_no_group_is_repeated_where_the_host_has_no_part_in_what_is_compared(store: Store) -> None:
    given = experiment(f"blocks = {BLOCKS}\nbusy = 'wait'")
    comparison = given.comparison.model_copy(update={"metric": "computed_joules"})
    laboratory = Laboratory(
        store,
        given.model_copy(update={"comparison": comparison}),
        disagree=lambda _group: True,
        metrics={"computed_joules": 5.0},
    )
    laboratory.run()
    assert all(repeats is None for _, repeats in laboratory.groups_ran())


def test_repetitions_are_at_most_half_of_the_planned_groups(store: Store) -> None:
    laboratory = Laboratory(store, disagree=lambda _: True)
    laboratory.run()
    assert len(laboratory.decided()) == GROUPS // 2
    assert len(laboratory.ran()) == 3 * GROUPS
    assert store.campaign(laboratory.number).finished


def test_repetitions_have_fresh_seeds(store: Store) -> None:
    laboratory = Laboratory(store, disagree=lambda _: True)
    laboratory.run()
    records = store.records_of([trial.id for trial in laboratory.ran()])
    assert len({record["seed"] for record in records}) == 3 * GROUPS


# Groups


def test_an_executor_is_handed_a_group_and_records_before_each_next_trial(
    store: Store,
) -> None:
    laboratory = Laboratory(store)
    recorded: list[int] = []
    outcome_of = laboratory.outcome_of

    def ending(trial: PlannedTrial) -> Outcome:
        recorded.append(len(laboratory.ran()))
        return outcome_of(trial)

    laboratory.outcome_of = ending  # type: ignore[method-assign]
    laboratory.run()
    assert laboratory.handed == [[2 * group, 2 * group + 1] for group in range(GROUPS)]
    assert recorded == list(range(2 * GROUPS))


def test_what_is_left_of_a_group_that_was_cut_is_a_group(store: Store) -> None:
    laboratory = Laboratory(store, kill_at=2)  # while the second trial runs
    with pytest.raises(Killed):
        laboratory.run()
    laboratory.run()
    assert laboratory.handed[:3] == [[0, 1], [1], [2, 3]]
    assert laboratory.questions[0] == ([0, 1], [0, 1])


def test_a_trial_that_fails_is_recorded_like_any_other_and_the_next_one_runs(store: Store) -> None:
    laboratory = Laboratory(store)
    outcome_of, statuses = laboratory.outcome_of, {0: "crashed", 1: "timed_out"}
    laboratory.outcome_of = lambda trial: replace(  # type: ignore[method-assign]
        outcome_of(trial),
        status=statuses.get(trial.ordinal, "valid"),  # type: ignore[arg-type]
    )
    laboratory.run()
    assert [trial.status for trial in laboratory.ran()][:3] == ["crashed", "timed_out", "valid"]


# Looks and ends


def until_verdict() -> Experiment:
    return experiment().altered(design={"until": "verdict"})


@dataclass
class Display:
    """Writes down what it is told to expect."""

    shares: list[float] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None

    def expects(self, share: float) -> None:
        self.shares.append(share)

    def left_s(self) -> float:
        return 60


@pytest.mark.parametrize(
    ("design", "looks", "shares"),
    [
        # Equal results need the fewest pairs. After 6 blocks the next look decides, or the one after that.
        ('blocks = 20\nuntil = "verdict"\nat_least = 6', {12, 20}, [6 / 14, 3 / 11, 1.0]),
        ('blocks = 20\nuntil = "verdict"\nat_least = 6', {8, 16, 20}, [2 / 14, 7 / 11, 2 / 6]),
        ("blocks = 10", set(), []),  # never ends early
    ],
)
def test_the_look_that_will_probably_end_it_is_foreseen(
    store: Store, design: str, looks: set[int], shares: list[float]
) -> None:
    laboratory = Laboratory(store, experiment(design), looks=frozenset(looks))
    display = Display()
    laboratory.run(display)
    assert display.shares == pytest.approx(shares)


def test_the_results_are_looked_at_after_the_planned_blocks_only(store: Store) -> None:
    laboratory = Laboratory(store, until_verdict(), looks=frozenset({2, 3}))
    laboratory.run()
    assert [(kind, block, content["number"]) for kind, block, _, content in laboratory.decided()] == [
        ("look", 2, 1),
        ("look", 3, 2),
    ]
    first, second = laboratory.lines
    assert re.search("^look 1 .* 2 blocks: 1 of 1 comparisons undecided$", first)
    assert re.search("^look 2 .* 3 blocks: 1 of 1 comparisons undecided$", second)
    assert laboratory.decided()[0][3] == {
        "number": 1,
        "of": 2,
        "confidence": 0.98,
        "comparisons": 1,
        "undecided": 1,
        "withheld": 0,
        "widest_percent": pytest.approx(100 * (1.1 / 0.9 - 1)),
    }
    assert store.campaign(laboratory.number).stopped == ""


def test_a_campaign_ends_at_the_look_at_which_it_is_settled(store: Store) -> None:
    laboratory = Laboratory(store, until_verdict(), settle=lambda _: True, looks=frozenset({2, 3}))
    laboratory.run()
    assert len(laboratory.ran()) == 8
    assert [kind for kind, *_ in laboratory.decided()] == ["look", "stop"]
    reason = "every comparison has a verdict, after 2 of at most 3 blocks"
    summary = store.campaign(laboratory.number)
    assert (summary.stopped, summary.finished) == (reason, True)
    assert laboratory.lines[-1] == f"finished early: {reason}"
    assert store.pending(laboratory.number) == []


def test_a_campaign_that_is_settled_with_its_last_block_did_not_end_early(store: Store) -> None:
    laboratory = Laboratory(
        store, until_verdict(), settle=lambda blocks: blocks == 3, looks=frozenset({2, 3})
    )
    laboratory.run()
    assert [kind for kind, *_ in laboratory.decided()] == ["look", "look"]
    assert store.campaign(laboratory.number).stopped == ""


def within(minutes: float) -> Experiment:
    return experiment(f"blocks = {BLOCKS}\nminutes = {minutes}")


@pytest.mark.parametrize(("seconds", "blocks"), [(0.5, 1), (4, 1), (4.5, 2), (8, 2), (8.5, 3), (60, 3)])
def test_a_time_budget_ends_the_campaign_with_the_block_in_which_it_is_over(
    store: Store, seconds: float, blocks: int
) -> None:
    laboratory = Laboratory(store, within(seconds / 60))  # a block takes 4 s
    laboratory.run()
    assert len(laboratory.ran()) == 4 * blocks
    assert bool(store.campaign(laboratory.number).stopped) == (blocks < BLOCKS)


def test_a_time_budget_ends_a_campaign_that_waits_for_verdicts(store: Store) -> None:
    waiting = experiment('blocks = 20\nuntil = "verdict"\nat_least = 8\nminutes = 0.6')  # a block takes 4 s
    laboratory = Laboratory(store, waiting, looks=frozenset({8}))
    laboratory.run()
    assert [(kind, block) for kind, block, *_ in laboratory.decided()] == [("look", 8), ("stop", 9)]
    assert "36 of 36 seconds have passed" in store.campaign(laboratory.number).stopped


def test_hosts_may_begin_what_the_look_after_the_next_one_takes(store: Store) -> None:
    until = experiment('blocks = 60\nuntil = "verdict"\nat_least = 8')
    number = Laboratory(store, until).number
    scheduler = Scheduler(store, number, until, clock=lambda: 0.0, say=lambda _: None)
    first, second, third, *_, last_but_one, last = (look.blocks for look in looks(until.design))
    assert [scheduler.may_begin(ended) for ended in (0, first - 1, first)] == [second, second, third]
    assert [scheduler.may_begin(ended) for ended in (last_but_one, last - 1)] == [last, last]
    fixed = experiment(f"blocks = {BLOCKS}")
    number = Laboratory(store, fixed).number
    assert Scheduler(store, number, fixed, clock=lambda: 0.0, say=lambda _: None).may_begin(0) == BLOCKS


def test_a_time_budget_counts_what_ended_trials_took_before_and_not_the_time_between(store: Store) -> None:
    laboratory = Laboratory(store, within(7.5 / 60), kill_at=2 * 5)  # before the sixth trial
    with pytest.raises(Killed):
        laboratory.run()
    assert len(laboratory.ran()) == 5
    laboratory.now += 100_000
    laboratory.run()
    assert len(laboratory.ran()) == 8
    [(kind, block, reason, content)] = laboratory.decided()
    assert (kind, block, reason) == (
        "stop",
        2,
        "8 of 7.5 seconds have passed, after 2 of at most 3 blocks",
    )
    assert content["minutes"] == pytest.approx(8 / 60)


# Metrics


def test_derived_metrics_are_recorded_with_the_trial(store: Store) -> None:
    laboratory = Laboratory(store)
    laboratory.run()
    assert {str(trial.metrics) for trial in laboratory.ran()} == {"{'derived': 10.0, 'throughput': 5.0}"}


def test_a_derived_metric_can_be_compared(store: Store) -> None:
    parsed = parse(
        SOURCE.replace('metric = "throughput"', 'metric = "derived"') + "blocks = 1", Path("x.toml")
    )
    Laboratory(store, parsed).run()


@pytest.mark.parametrize(
    ("comparison", "message"),
    [
        (
            'metric = "thruput"',
            "comparison.metric: .* thruput.* throughput",
        ),
        (
            'metric = "throughput"\nalso = ["throughput_p9"]',
            "comparison.also: .* throughput_p9",
        ),
    ],
)
def test_a_metric_that_a_program_does_not_give_ends_the_campaign_after_one_trial(
    store: Store, comparison: str, message: str
) -> None:
    parsed = parse(SOURCE.replace('metric = "throughput"', comparison) + "blocks = 1", Path("x.toml"))
    laboratory = Laboratory(store, parsed)
    with pytest.raises(AssayError, match=message):
        laboratory.run()
    assert len(laboratory.ran()) == 1


def laboratory_with_also(store: Store, lacks: Callable[[PlannedTrial], bool]) -> Laboratory:
    """Return one that compares a second metric, and is killed before its fifth trial at first."""
    parsed = parse(
        SOURCE.replace('metric = "throughput"', 'metric = "throughput"\nalso = ["size"]')
        + f"blocks = {BLOCKS}",
        Path("x.toml"),
    )
    laboratory = Laboratory(store, parsed, kill_at=2 * 4)
    outcome_of = laboratory.outcome_of

    def ending(trial: PlannedTrial) -> Outcome:
        size = {} if lacks(trial) else {"size": 1.0}
        return replace(outcome_of(trial), result={"metrics": {"throughput": 5.0} | size})

    laboratory.outcome_of = ending  # type: ignore[method-assign]
    return laboratory


def test_a_percentile_that_needs_more_operations_is_lacking_where_it_is_compared_also(store: Store) -> None:
    percentiles = 'metric = "latency_p99_ns"\nbetter = "lower"\nalso = ["latency_p99_99_ns"]'
    parsed = parse(SOURCE.replace('metric = "throughput"', percentiles) + "blocks = 1", Path("x.toml"))
    laboratory = Laboratory(store, experiment=parsed, metrics={"latency_p50_ns": 1.0, "latency_p99_ns": 2.0})
    laboratory.run()
    assert len(laboratory.ran()) == 4
    laboratory = Laboratory(store, experiment=parsed, metrics={"latency_p50_ns": 1.0})
    with pytest.raises(AssayError, match="had too few operations to give the metric latency_p99_ns; let"):
        laboratory.run()


def test_a_resumed_campaign_goes_on_where_single_trials_lack_a_metric_that_was_seen_before(
    store: Store,
) -> None:
    laboratory = laboratory_with_also(store, lambda trial: trial.block > 0)
    with pytest.raises(Killed):
        laboratory.run()
    assert {trial.levels["subject"] for trial in laboratory.ran()} == {"a", "b"}
    laboratory.run()
    assert len(laboratory.ran()) == 2 * GROUPS
    assert sum("size" in trial.metrics for trial in laboratory.ran()) == 4


def test_a_resumed_campaign_ends_where_no_ended_trial_had_a_compared_metric(store: Store) -> None:
    laboratory = laboratory_with_also(store, lambda _: True)
    for ended in (1, 2, 3):  # each goes on with the campaign; the third trial is of a subject seen before
        with pytest.raises(AssayError, match=r"comparison\.also: .* size"):
            laboratory.run()
        assert len(laboratory.ran()) == ended


def laboratory_of_a_command(store: Store, *outcomes: tuple[str, str]) -> Laboratory:
    """Return one whose trials end as given, one after the other; `a` is a command."""
    laboratory = Laboratory(
        store, parse(f"{SOURCE}blocks = 2\n[subjects.a]\nprogram = '/a'\nprotocol = false", Path("x.toml"))
    )
    left, outcome_of = list(outcomes), laboratory.outcome_of

    def ending(trial: PlannedTrial) -> Outcome:
        outcome = outcome_of(trial)
        if trial.levels["subject"] == "b" or not left:
            return outcome
        status, reason = left.pop(0)
        return replace(outcome, status=status, reason=reason)  # type: ignore[arg-type]

    laboratory.outcome_of = ending  # type: ignore[method-assign]
    return laboratory


def test_a_command_whose_metrics_are_not_found_at_first_ends_the_campaign(store: Store) -> None:
    laboratory = laboratory_of_a_command(
        store, ("crashed", "exited with 1"), *[("invalid", "m: nowhere")] * 2
    )
    for time in (1, 2):  # the second goes on with the campaign
        with pytest.raises(NothingExtractedError, match=r"subjects\.a\.extract: m: nowhere") as caught:
            laboratory.run()
        ran = laboratory.ran()
        assert [trial.status for trial in ran if trial.status == "invalid"] == ["invalid"] * time
        assert caught.value.trial_id == ran[-1].id
    laboratory.run()
    assert len(laboratory.ran()) == 8


def test_a_command_whose_metrics_were_found_before_may_fail(store: Store) -> None:
    laboratory = laboratory_of_a_command(store, ("valid", ""), ("invalid", "m: nowhere"))
    laboratory.run()
    assert len(laboratory.ran()) == 8
    again = laboratory_of_a_command(store, ("valid", ""), ("invalid", "m: nowhere"))
    again.kill_at = next(
        2 * place + 2 for place, trial in enumerate(laboratory.ran()) if trial.levels["subject"] == "a"
    )
    with pytest.raises(Killed):
        again.run()
    again.run()
    assert len(again.ran()) == 8


def test_a_program_that_speaks_the_protocol_may_be_invalid_from_the_first_trial_on(store: Store) -> None:
    laboratory = Laboratory(store)
    outcome_of = laboratory.outcome_of
    laboratory.outcome_of = lambda trial: replace(outcome_of(trial), status="invalid")  # type: ignore[method-assign]
    laboratory.run()
    assert len(laboratory.ran()) == 2 * GROUPS


# Killed


def restless(store: Store, kill_at: int | None = None) -> Laboratory:
    """A campaign in which much is decided: two repetitions of one group, looks, and an early end."""
    return Laboratory(
        store,
        until_verdict(),
        disagree=is_group(1, 6, 3),
        settle=lambda blocks: blocks == 2,
        looks=frozenset({1, 2, 3}),
        kill_at=kill_at,
    )


def story(laboratory: Laboratory) -> Any:
    """Return all that must not depend on when the runner was killed."""
    store, campaign = laboratory.store, laboratory.number
    timeless = [
        (kind, block, reason, {name: value for name, value in content.items() if name != "minutes"})
        for kind, block, reason, content in laboratory.decided()
    ]
    ordinals = [trial.ordinal for trial in laboratory.ran()]
    return ordinals, timeless, store.planned(campaign, range(100)), store.campaign(campaign).stopped


def test_a_campaign_killed_at_any_moment_comes_to_the_same(store: Store) -> None:
    undisturbed = restless(store)
    undisturbed.run()
    uninterrupted = story(undisturbed)
    assert undisturbed.groups_ran() == [(0, None), (1, None), (6, 1), (7, 1), (2, None), (3, None), (8, 3)]
    assert [kind for kind, *_ in uninterrupted[1]] == ["repeat", "repeat", "look", "repeat", "look", "stop"]
    assert undisturbed.steps > 30
    for moment in range(undisturbed.steps):
        laboratory = restless(store, kill_at=moment)
        with pytest.raises(Killed):
            laboratory.run()
        laboratory.run()
        assert story(laboratory) == uninterrupted, f"killed at step {moment}"
