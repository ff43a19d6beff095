"""Groups that several workers run: each trial counts once, whatever is killed when."""

import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as altered
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.plan.types import PlannedTrial
from assay.store import Store
from assay.store.claims import Claim, expire, offer, record, renew, replace, take
from assay.store.store_test import begin, decision, measured, planned
from assay.store.types import StoredTrial

BLOCKS = 100
"""More than any campaign of these tests has."""
LEASE_S = 600.0
OVER_S = -1.0


@pytest.fixture(params=["sqlite", "postgresql"])
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    on_server = request.param == "postgresql"
    return str(request.getfixturevalue("postgresql").create() if on_server else tmp_path / "assay.sqlite")


@pytest.fixture
def store(name: str) -> Iterator[Store]:
    with Store.open(name) as opened:
        yield opened


def taken(store: Store, campaign: int, worker: str = "lab1", lease_s: float = LEASE_S) -> Claim:
    claim = take(store, campaign, worker, lease_s)
    assert claim is not None
    return claim


def anew(store: Store, campaign: int, group: int) -> None:
    """Plan a lost group anew, as the leader does."""
    every: list[PlannedTrial | StoredTrial] = [*store.pending(campaign), *store.trials(campaign)]
    lost = store.planned(campaign, [trial.ordinal for trial in every if trial.group == group])
    original = lost[0].repeats if lost[0].repeats is not None else group
    last = max(trial.ordinal for trial in every) + 1
    number = max(trial.group for trial in every) + 1
    trials = [
        altered(trial, ordinal=last + index, group=number, repeats=original)
        for index, trial in enumerate(lost)
    ]
    replace(store, campaign, group, decision("repeat", group=group), trials)


def late(store: Store) -> list[tuple[object, ...]]:
    return store.query("select ordinal, worker from late_result order by id")[1]


def test_groups_are_taken_in_the_order_of_the_plan_and_once(store: Store) -> None:
    campaign = begin(store, 8)
    store.decide(campaign, decision("repeat"), [altered(planned(8), block=0, group=4, repeats=0)])
    offer(store, campaign, BLOCKS)
    offer(store, campaign, BLOCKS)
    claims = [taken(store, campaign, f"lab{number}") for number in range(5)]
    assert [claim.group for claim in claims] == [0, 4, 1, 2, 3]
    assert [trial.ordinal for trial in claims[2].trials] == [2, 3]
    assert claims[2].trials[0] == planned(2)
    assert take(store, campaign, "lab1", LEASE_S) is None


def test_only_the_first_blocks_are_taken_until_more_are_offered(store: Store) -> None:
    campaign = begin(store, 8)
    assert [trial.block for trial in store.pending(campaign)] == [0, 0, 0, 0, 1, 1, 1, 1]
    offer(store, campaign, 1)
    assert [taken(store, campaign).group for _ in range(2)] == [0, 1]
    assert take(store, campaign, "lab1", LEASE_S) is None
    offer(store, campaign, 2)
    assert taken(store, campaign).group == 2


def test_a_group_is_done_when_all_of_its_trials_have_a_result(store: Store) -> None:
    campaign = begin(store)
    offer(store, campaign, BLOCKS)
    claim = taken(store, campaign)
    assert record(store, claim, 0, measured(1)) == 1
    assert renew(store, claim, LEASE_S)
    assert record(store, claim, 1, measured(2)) == 2
    assert not renew(store, claim, LEASE_S)
    assert [trial.metrics["throughput"] for trial in store.trials(campaign)] == [1, 2]
    assert expire(store, campaign) == []
    assert taken(store, campaign).group == 1
    with pytest.raises(AssayError, match="not planned"):
        record(store, altered(claim, group=1), 99, measured(1))


def test_a_second_result_is_kept_and_never_counted(store: Store) -> None:
    campaign = begin(store)
    offer(store, campaign, BLOCKS)
    claim = taken(store, campaign)
    record(store, claim, 0, measured(1))
    assert record(store, claim, 0, measured(99)) is None
    assert [trial.metrics["throughput"] for trial in store.trials(campaign)] == [1]
    assert late(store) == [(0, "lab1")]
    assert store.campaign(campaign).ended == 1


def test_a_group_that_had_not_begun_is_open_again_after_its_lease(store: Store) -> None:
    campaign = begin(store)
    offer(store, campaign, BLOCKS)
    slow = taken(store, campaign, "slow", OVER_S)
    assert expire(store, campaign) == []
    assert not renew(store, slow, LEASE_S)
    other = taken(store, campaign, "other")
    assert (other.group, other.attempt) == (slow.group, slow.attempt + 1)
    assert record(store, slow, 0, measured(99)) is None
    assert record(store, other, 0, measured(1)) == 1
    assert record(store, slow, 1, measured(99)) is None
    assert late(store) == [(0, "slow"), (1, "slow")]
    assert [trial.metrics["throughput"] for trial in store.trials(campaign)] == [1]


def test_a_lease_that_is_over_holds_until_the_leader_says_so(store: Store) -> None:
    campaign = begin(store)
    offer(store, campaign, BLOCKS)
    claim = taken(store, campaign, lease_s=OVER_S)
    assert renew(store, claim, LEASE_S)
    assert expire(store, campaign) == []
    assert record(store, claim, 0, measured(1)) == 1


def test_a_lost_group_is_planned_anew_as_a_whole(store: Store) -> None:
    campaign = begin(store)
    offer(store, campaign, BLOCKS)
    slow = taken(store, campaign, "slow", OVER_S)
    record(store, slow, 0, measured(1))
    assert expire(store, campaign) == [0]
    assert expire(store, campaign) == [0]  # until it is planned anew
    assert not store.campaign(campaign).finished
    anew(store, campaign, 0)
    assert expire(store, campaign) == []
    with pytest.raises(AssayError, match="group 0 of campaign 1 is not lost"):
        anew(store, campaign, 0)
    assert record(store, slow, 1, measured(99)) is None
    assert [trial.ordinal for trial in store.pending(campaign)] == [4, 5, 2, 3]
    for _ in range(2):
        claim = taken(store, campaign)
        for trial in claim.trials:
            record(store, claim, trial.ordinal, measured(2))
    assert take(store, campaign, "lab1", LEASE_S) is None
    summary = store.campaign(campaign)
    assert (summary.planned, summary.ended, summary.finished) == (5, 5, True)


@pytest.mark.parametrize("offered", [False, True], ids=["never offered", "offered before"])
def test_what_a_run_on_one_host_has_begun_is_lost_and_what_it_has_ended_is_done(
    store: Store, offered: bool
) -> None:
    campaign = begin(store, 6)
    if offered:
        offer(store, campaign, BLOCKS)
    for ordinal in (0, 1, 2):
        store.record(campaign, ordinal, measured(1))
    offer(store, campaign, BLOCKS)
    assert expire(store, campaign) == [1]
    assert taken(store, campaign).group == 2


def test_nothing_of_a_campaign_that_was_stopped_is_taken(store: Store) -> None:
    campaign = begin(store)
    offer(store, campaign, BLOCKS)
    store.decide(campaign, decision("stop"))
    assert take(store, campaign, "lab1", LEASE_S) is None


def test_what_was_claimed_leaves_the_store_with_its_campaign(store: Store) -> None:
    campaign = begin(store)
    offer(store, campaign, BLOCKS)
    claim = taken(store, campaign)
    for _ in range(2):
        record(store, claim, 0, measured(1))
    counts = store.remove(campaign)
    assert (counts["claim"], counts["late_result"]) == (2, 1)


def test_many_that_take_at_once_get_a_group_each(store: Store) -> None:
    campaign = begin(store, 40)
    offer(store, campaign, BLOCKS)

    def take_all(worker: int) -> list[int]:
        groups = []
        while claim := take(store, campaign, f"lab{worker}", LEASE_S):
            groups.append(claim.group)
        return groups

    with ThreadPoolExecutor(8) as threads:
        groups = [group for of in threads.map(take_all, range(8)) for group in of]
    # One that finds all rows locked takes none; what is left is open.
    while claim := take(store, campaign, "last", LEASE_S):
        groups.append(claim.group)
    assert sorted(groups) == [*range(20)]


def work(name: str, campaign: int, lease_s: float) -> None:
    """Run groups until the campaign is finished, as a worker does."""
    with Store.open(name, create=False) as store:
        while not store.campaign(campaign).finished:
            claim = take(store, campaign, f"{os.getpid()}", lease_s)
            if claim is None:
                time.sleep(0.01)
                continue
            for trial in claim.trials:
                if not renew(store, claim, lease_s):
                    break
                time.sleep(0.01)  # the trial
                if record(store, claim, trial.ordinal, measured(os.getpid())) is None:
                    break


def test_workers_that_are_killed_at_any_moment_lose_nothing_and_count_nothing_twice(
    name: str, store: Store
) -> None:
    groups, workers, most, lease_s = 30, 3, 8, 3.0
    trials = [
        PlannedTrial(n, n // 20, n // 4, {"subject": "abcd"[n % 4]}, {"seed": n}, "/bin/x", {}, 1.0, 512)
        for n in range(4 * groups)
    ]
    campaign = begin(store, trials)
    offer(store, campaign, BLOCKS)
    store.close()  # no connection is shared with a process that is forked
    draw = random.Random(7)

    def started() -> ForkProcess:
        process = ForkProcess(target=work, args=(name, campaign, lease_s))
        process.start()
        return process

    killed = 0
    living = [started() for _ in range(workers)]
    try:
        while not store.campaign(campaign).finished:
            for group in expire(store, campaign):
                anew(store, campaign, group)
            if killed < most:
                killed += 1
                place = draw.randrange(workers)
                living[place].kill()
                living[place].join()
                store.close()
                living[place] = started()
            time.sleep(draw.random() * 0.1)
        for process in living:
            process.join()
            assert process.exitcode == 0
    finally:
        for process in living:
            process.kill()
            process.join()
    assert killed > 1
    ended = store.trials(campaign)
    assert len({trial.ordinal for trial in ended}) == len(ended)
    # Each condition of each group of the first plan has a result in a group that one worker ran as a whole.
    by_group: dict[int, list[float]] = {}
    whole: set[int] = set()
    for trial in ended:
        by_group.setdefault(trial.group, []).append(trial.metrics["throughput"])
    for trial in ended:
        values = by_group[trial.group]
        assert len({*values}) == 1
        if len(values) == 4:
            whole.add(trial.group if trial.repeats is None else trial.repeats)
    assert whole == {*range(groups)}
    states = store.query("select distinct state from claim order by 1")[1]
    assert {state for (state,) in states} <= {"done", "replaced"}
    assert list(store.damages()) == []
