"""The hosts of a campaign that runs on several, and the files that its trials need there.

Each host has a number, for which trials are planned, and gets it when its worker joins. A host that joins
again has the number that it had; a new one gets a number that none has, or that of a host that was given up.

    working  its worker runs trials
    ended    its worker has ended by itself: there was nothing left to do, or too little time
    refused  its worker cannot run trials here; `message` says why
    lost     the leader has given the host up: others take its groups
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, insert, select, update

from assay.errors import AssayError
from assay.store.database import database_of
from assay.store.schema import campaign_file, campaign_host, file
from assay.store.store import Store, experiment_of, planned_hosts
from assay.words import counted

HostState = Literal["working", "ended", "refused", "lost"]


@dataclass(frozen=True)
class CampaignHost:
    """A host of a campaign.

    Attributes:
        unit: what it was started with: itself, or an allocation of several hosts.
        worker: the process that runs its trials, or did.
        message: why it was refused or lost, or ended early; for a person.
        changed_at: when its state changed, or its worker was last heard of, by the clock of the store.
    """

    number: int
    name: str
    unit: str
    worker: str
    state: HostState
    message: str
    changed_at: datetime


class NeededFile(NamedTuple):
    """A file that trials name by its path on the host that leads the campaign."""

    path: str
    sha256: str
    executable: bool


def hosts_of(store: Store, campaign: int) -> list[CampaignHost]:
    """Return the hosts that have joined a campaign, by their numbers."""
    columns = [campaign_host.c[name] for name in CampaignHost.__dataclass_fields__]
    statement = select(*columns).where(campaign_host.c.campaign_id == campaign)
    rows = store.rows(campaign, statement.order_by(campaign_host.c.number))
    return [CampaignHost(**row) for row in rows]


def join(store: Store, campaign: int, name: str, unit: str, worker: str) -> tuple[int, str]:
    """Join a campaign as a host of this name; return its number, and the former worker of this number or "".

    Raises:
        AssayError: all numbers belong to other hosts.
    """
    with store.write("try again") as connection:
        planned = planned_hosts(connection, campaign)
        experiment_of(connection, campaign)
        database_of(connection).lock_views(connection)  # so that no two hosts get one number
        known = {row.number: row for row in connection.execute(select(campaign_host).where(_of(campaign)))}
        number = _number_of(known, planned, name)
        if number is None:
            raise AssayError(
                f"campaign {campaign} is planned for {counted(planned, 'host')}, which have joined it"
                f" already; {name} has nothing to do"
            )
        values = _state(connection, "working", "") | {"name": name, "unit": unit, "worker": worker}
        if number in known:
            connection.execute(update(campaign_host).where(_of(campaign, number)).values(values))
        else:
            row = {"campaign_id": campaign, "number": number, **values}
            connection.execute(insert(campaign_host), row)
        return number, known[number].worker if number in known else ""


def leave(store: Store, campaign: int, worker: str, state: HostState, message: str) -> None:
    """Write why the worker of a host has ended; nothing changes if the host has another worker by now."""
    with store.write("try again") as connection:
        changed = update(campaign_host).where(_of(campaign), campaign_host.c.worker == worker)
        connection.execute(changed.values(_state(connection, state, message)))


def works(store: Store, campaign: int, number: int, worker: str) -> bool:
    """Return whether a worker is still the one of its host: not dismissed, and not replaced by another."""
    mine = (campaign_host.c.worker == worker) & (campaign_host.c.state == "working")
    return bool(store.rows(campaign, select(campaign_host.c.number).where(_of(campaign, number), mine)))


def tell(store: Store, campaign: int, number: int, worker: str) -> None:
    """Tell the leader that a worker still runs."""
    with store.write("try again") as connection:
        mine = (campaign_host.c.worker == worker) & (campaign_host.c.state == "working")
        changed = update(campaign_host).where(_of(campaign, number), mine)
        connection.execute(changed.values(_state(connection, "working", "")))


def silent(store: Store, campaign: int, for_s: float) -> list[CampaignHost]:
    """Return the hosts whose workers have not been heard of for some time."""
    before = store.now() - timedelta(seconds=for_s)
    return [
        host for host in hosts_of(store, campaign) if host.state == "working" and host.changed_at < before
    ]


def give_up_host(store: Store, campaign: int, number: int, message: str) -> None:
    """Let the other hosts take the groups of a host, which is lost."""
    with store.write("try again") as connection:
        changed = update(campaign_host).where(_of(campaign, number))
        connection.execute(changed.values(_state(connection, "lost", message)))


def give_up(store: Store, campaign: int, unit: str, message: str) -> None:
    """Let the other hosts take the groups of the hosts of a unit, which are lost."""
    with store.write("try again") as connection:
        changed = update(campaign_host).where(_of(campaign), campaign_host.c.unit == unit)
        if not connection.execute(changed.values(_state(connection, "lost", message))).rowcount:
            known = {
                row.number: row for row in connection.execute(select(campaign_host).where(_of(campaign)))
            }
            number = _number_of(known, planned_hosts(connection, campaign), unit)
            if number is not None and number not in known:  # it has never joined
                values = _state(connection, "lost", message) | {"name": unit, "unit": unit, "worker": ""}
                connection.execute(
                    insert(campaign_host), {"campaign_id": campaign, "number": number, **values}
                )


def prepare(store: Store, campaign: int, units: Mapping[str, int]) -> None:
    """Give up the hosts that a run does not have: of other units, and those for which there are too few.

    Args:
        store: where the campaign is.
        campaign: its number.
        units: what the run starts -> number of its hosts.
    """
    with store.write("try again") as connection:
        others = campaign_host.c.unit.not_in(units)
        changed = update(campaign_host).where(_of(campaign), others)
        connection.execute(changed.values(_state(connection, "lost", "this run does not have it")))
        rows = connection.execute(select(campaign_host).where(_of(campaign))).all()
        taken = {row.number for row in rows}
        free = [number for number in range(planned_hosts(connection, campaign)) if number not in taken]
        to_come = sum(units.values()) - sum(row.unit in units for row in rows)
        for number in free[max(0, to_come) :]:
            nobody = f"host {number}, which no run had"
            row = {"campaign_id": campaign, "number": number, "name": nobody, "unit": nobody, "worker": ""}
            state = _state(connection, "lost", "no run had so many hosts")
            connection.execute(insert(campaign_host), row | state)


def dismiss(store: Store, campaign: int) -> None:
    """Tell the workers of a campaign to end: they do after the group that they run."""
    with store.write("try again") as connection:
        working = campaign_host.c.state == "working"
        changed = update(campaign_host).where(_of(campaign), working)
        connection.execute(changed.values(_state(connection, "ended", "")))


def _number_of(known: Mapping[int, Any], planned: int, name: str) -> int | None:
    """Return the number for a host: its own, a free one, or that of a lost host; None if all are taken."""
    mine = [number for number, row in known.items() if row.name == name]
    free = [number for number in range(planned) if number not in known]
    lost = [number for number, row in known.items() if row.state == "lost"]
    return next(iter([*mine, *free, *lost]), None)


def keep_files(store: Store, campaign: int, places: Mapping[str, str]) -> None:
    """Keep the files that the trials of a campaign need, each content once.

    Args:
        store: where the campaign is.
        campaign: its number.
        places: the path that trials name -> the path of the file on this host.

    Raises:
        AssayError: a file cannot be read.
    """
    for path, here in places.items():
        try:
            content, mode = Path(here).read_bytes(), Path(here).stat().st_mode
        except OSError as error:
            raise AssayError(f"{here}: hosts need it, and it cannot be read: {error.strerror}") from error
        digest = hashlib.sha256(content).hexdigest()
        with store.write("try again") as connection:
            kept = select(file.c.sha256).where(file.c.sha256 == digest)
            if connection.execute(kept).one_or_none() is None:
                adding = database_of(connection).insert_new(file)
                connection.execute(adding, {"sha256": digest, "content": content})
            row = {"sha256": digest, "executable": int(bool(mode & 0o111))}
            named = (campaign_file.c.campaign_id == campaign) & (campaign_file.c.path == path)
            if not connection.execute(update(campaign_file).where(named).values(row)).rowcount:
                row |= {"campaign_id": campaign, "path": path}
                connection.execute(insert(campaign_file), row)


def files_of(store: Store, campaign: int) -> list[NeededFile]:
    """Return the files that the trials of a campaign need."""
    columns = (campaign_file.c.path, campaign_file.c.sha256, campaign_file.c.executable)
    rows = store.rows(campaign, select(*columns).where(campaign_file.c.campaign_id == campaign))
    return [NeededFile(row["path"], row["sha256"], bool(row["executable"])) for row in rows]


def content_of(store: Store, campaign: int, sha256: str) -> bytes:
    """Return the content of a file that the trials of a campaign need."""
    statement = select(file.c.content).where(file.c.sha256 == sha256)
    [row] = store.rows(campaign, statement)
    return bytes(row["content"])


def _of(campaign: int, number: int | None = None) -> Any:
    of_campaign = campaign_host.c.campaign_id == campaign
    return of_campaign if number is None else of_campaign & (campaign_host.c.number == number)


def _state(connection: Connection, state: HostState, message: str) -> dict[str, Any]:
    now = database_of(connection).now(connection)
    return {"state": state, "message": message, "changed_at": now}
