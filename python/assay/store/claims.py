"""Groups that several workers run together, each exactly once.

A worker takes a group with a lease, runs its trials, records each, and renews the lease meanwhile. Only the
store decides which results count:

    offer(store, campaign, blocks)                      # the leader, whenever groups were planned
    while claim := take(store, campaign, "lab1", 60):   # a worker
        for planned in claim.trials:
            record(store, claim, planned.ordinal, run(planned))   # and `renew` in between
    for group in expire(store, campaign):               # the leader, now and then
        replace(store, campaign, group, decision, trials_planned_anew)

Where a campaign runs on several hosts, each group is planned for one of them (`hosts.py`), whose worker takes
it. Groups of a host that the leader has given up are for all.

A group is in one state, which changes under a lock on its row:

    open      nobody runs it
    taken     a worker runs it, until its lease is over and the leader says so
    done      all of its trials have a result
    lost      it cannot go on although some of its trials have ended: it must be planned anew as a whole,
              since the trials of a group run on one host, one after the other
    replaced  it was planned anew: what ended counts, what did not will never run

Each trial counts at most once: a result is counted only by `record`, in the transaction that locks the
group's row and finds it taken with this claim's attempt (1), and if the trial has no result yet (2); the
table itself refuses a second one. A group that is taken again has a higher attempt, so that results of its
former worker are late, by (1).

No trial is forgotten: one without a result is in a group that is open; or taken, which `expire` opens again
or calls lost after its lease; or lost, which the leader plans anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from assay.errors import AssayError
from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store.database import database_of
from assay.store.ended import content_of, kept_of
from assay.store.schema import campaign_host, claim, decision, late_result, planned_trial, trial
from assay.store.store import Store, add_decision, add_ended, experiment_of
from assay.store.types import Decision

_same_trial = (planned_trial.c.campaign_id == trial.c.campaign_id) & (
    planned_trial.c.ordinal == trial.c.ordinal
)


@dataclass(frozen=True)
class Claim:
    """A group that a worker has taken.

    Attributes:
        attempt: how often the group has been taken; it tells this claim from earlier ones.
        trials: those of the group, in the order in which they run.
    """

    campaign: int
    group: int
    attempt: int
    worker: str
    trials: tuple[PlannedTrial, ...]


def offer(store: Store, campaign: int, blocks: int) -> None:
    """Let workers take the groups of the first blocks that have not begun, beside those offered before.

    A group that has begun without a claim, in a run on one host, is lost, or done if all of it has ended.
    """
    place = func.coalesce(planned_trial.c.repeats, planned_trial.c.group)
    of_group = (planned_trial.c.group, planned_trial.c.block, place, planned_trial.c.host_number)
    groups = (
        select(*of_group, func.count(), func.count(trial.c.id), func.max(claim.c.state))
        .select_from(planned_trial)
        .outerjoin(trial, _same_trial)
        .outerjoin(
            claim,
            (claim.c.campaign_id == planned_trial.c.campaign_id) & (claim.c.group == planned_trial.c.group),
        )
        .where(planned_trial.c.campaign_id == campaign, planned_trial.c.block < blocks)
        .group_by(*of_group)
    )
    with store.write("offer them again") as connection:
        experiment_of(connection, campaign)
        rows = []
        for *of, planned, ended, state in connection.execute(groups):
            begun = "open" if not ended else "lost" if ended < planned else "done"
            if state is None:
                rows.append(_row(campaign, tuple(of), begun))
            elif state == "open" and begun != "open":
                still = (*_of(campaign, of[0]), claim.c.state == "open")
                connection.execute(update(claim).where(*still).values(state=begun))
        if rows:
            connection.execute(database_of(connection).insert_new(claim), rows)


def _row(campaign: int, of: tuple[int, ...], state: str) -> dict[str, Any]:
    """Return the row of a group; `of` are its number, block, place and number of its host."""
    place = dict(zip(("group", "block", "place", "host_number"), of, strict=True))
    return {"campaign_id": campaign, "state": state, "attempt": 0, **place}


def take(store: Store, campaign: int, worker: str, lease_s: float, host_number: int = 0) -> Claim | None:
    """Take the first open group of a host of a campaign; None if there is none, or the campaign was stopped.

    The groups of hosts that were given up come last.
    """
    stopped = select(decision.c.id).where(decision.c.campaign_id == campaign, decision.c.kind == "stop")
    given_up = select(campaign_host.c.number).where(
        campaign_host.c.campaign_id == campaign, campaign_host.c.state == "lost"
    )
    # Two statements, of which the first finds its row in an index; an `or` would sort all open groups.
    for hosts in (claim.c.host_number == host_number, claim.c.host_number.in_(given_up)):
        open_group = (
            select(claim.c.group, claim.c.attempt)
            .where(claim.c.campaign_id == campaign, claim.c.state == "open", hosts, ~stopped.exists())
            .order_by(claim.c.block, claim.c.place, claim.c.group)
            .limit(1)
            .with_for_update(skip_locked=True, of=claim)
        )
        with store.write("try again") as connection:
            row = connection.execute(open_group).one_or_none()
            if row is None:
                continue
            group, attempt = row.group, row.attempt + 1
            values = {
                "state": "taken",
                "attempt": attempt,
                "worker": worker,
                "until": _until(connection, lease_s),
            }
            connection.execute(update(claim).where(*_of(campaign, group)).values(values))
        return Claim(campaign, group, attempt, worker, tuple(store.planned_in(campaign, group)))
    return None


def renew(store: Store, held: Claim, lease_s: float) -> bool:
    """Begin a claim's lease anew; False if the worker has lost the group, and must end its trial."""
    with store.write("try again") as connection:
        renewed = (
            update(claim)
            .where(*_held(held))
            .values(until=_until(connection, lease_s))
            .returning(claim.c.group)
        )
        return connection.execute(renewed).one_or_none() is not None


def end_leases(store: Store, campaign: int, worker: str) -> None:
    """End the leases of a worker that has ended: `expire` then frees its groups, or calls them lost."""
    with store.write("try again") as connection:
        taken = claim.c.campaign_id == campaign, claim.c.state == "taken", claim.c.worker == worker
        connection.execute(update(claim).where(*taken).values(until=_until(connection, -1)))


def ended_groups(store: Store, campaign: int) -> list[int]:
    """Return the groups of a campaign that are done, in the order of its plan."""
    done = select(claim.c.group).where(claim.c.campaign_id == campaign, claim.c.state == "done")
    rows = store.rows(campaign, done.order_by(claim.c.block, claim.c.place, claim.c.group))
    return [row["group"] for row in rows]


def record(store: Store, held: Claim, ordinal: int, outcome: Outcome) -> int | None:
    """Write the outcome of a trial of a claim, and return the trial's number.

    If the trial has a result, or the worker has lost the group, the outcome is kept as a late result, which
    is never counted, and None is returned. So a worker that does not know whether it has recorded may do so
    again.
    """
    ended = select(trial.c.id).where(trial.c.campaign_id == held.campaign, trial.c.ordinal == ordinal)
    lock = select(claim.c.group, ended.scalar_subquery()).where(*_held(held)).with_for_update(of=claim)
    with store.write("record it again") as connection:
        row = connection.execute(lock).one_or_none()
        if row is None or row[1] is not None:
            _keep(connection, held, ordinal, outcome)
            return None
        number = add_ended(connection, held.campaign, ordinal, outcome)
        left = (
            select(planned_trial.c.ordinal)
            .outerjoin(trial, _same_trial)
            .where(
                planned_trial.c.campaign_id == held.campaign,
                planned_trial.c.group == held.group,
                trial.c.id.is_(None),
            )
        )
        done = update(claim).where(*_of(held.campaign, held.group), ~left.exists())
        connection.execute(done.values(state="done", until=None))
        return number


def expire(store: Store, campaign: int) -> list[int]:
    """Free the groups whose leases are over, and return those that are lost: they must be planned anew.

    A group of which no trial has ended is open again.
    """
    ended = (
        select(planned_trial.c.group).join(trial, _same_trial).where(planned_trial.c.campaign_id == campaign)
    )
    with store.write("try again") as connection:
        now = database_of(connection).now(connection)
        taken = claim.c.campaign_id == campaign, claim.c.state == "taken"
        over = select(claim.c.group).where(*taken, claim.c.until < now).with_for_update()
        groups = connection.execute(over).scalars().all()
        # A statement of its own, which sees what was recorded until the locks were there.
        begun = {*connection.execute(ended.where(planned_trial.c.group.in_(groups))).scalars()}
        for group in groups:
            state = "lost" if group in begun else "open"
            connection.execute(update(claim).where(*_of(campaign, group)).values(state=state, until=None))
        lost = select(claim.c.group).where(claim.c.campaign_id == campaign, claim.c.state == "lost")
        return [*connection.execute(lost.order_by(claim.c.group)).scalars()]


def replace(
    store: Store, campaign: int, group: int, reason: Decision, trials: Sequence[PlannedTrial]
) -> None:
    """Write that a lost group was planned anew as some trials, which workers may take then.

    Raises:
        AssayError: the group is not lost, or a trial is planned already; nothing is changed then.
    """
    with store.write("try again") as connection:
        replaced = (
            update(claim)
            .where(*_of(campaign, group), claim.c.state == "lost")
            .values(state="replaced")
            .returning(claim.c.group)
        )
        if connection.execute(replaced).one_or_none() is None:
            raise AssayError(f"group {group} of campaign {campaign} is not lost; the store was not changed")
        add_decision(connection, campaign, reason, trials)
        groups = {planned.group: planned for planned in trials}.values()
        rows = [
            _row(
                campaign,
                (of.group, of.block, of.group if of.repeats is None else of.repeats, of.host_number),
                "open",
            )
            for of in groups
        ]
        connection.execute(insert(claim), rows)


def _of(campaign: int, group: int) -> tuple[ColumnElement[bool], ...]:
    return claim.c.campaign_id == campaign, claim.c.group == group


def _held(held: Claim) -> tuple[ColumnElement[bool], ...]:
    taken = claim.c.state == "taken", claim.c.attempt == held.attempt
    return *_of(held.campaign, held.group), *taken


def _until(connection: Connection, lease_s: float) -> Any:
    return database_of(connection).now(connection) + timedelta(seconds=lease_s)


def _keep(connection: Connection, held: Claim, ordinal: int, outcome: Outcome) -> None:
    kept = kept_of(outcome) | {"started_at": outcome.started_at.isoformat(), "host": outcome.host}
    connection.execute(
        insert(late_result),
        {
            "campaign_id": held.campaign,
            "ordinal": ordinal,
            "received_at": database_of(connection).now(connection),
            "worker": held.worker,
            "outcome": content_of(outcome) | kept,
        },
    )
