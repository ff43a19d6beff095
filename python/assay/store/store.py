"""Reading and writing the store."""

import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import fields
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs, PydanticSerializationError
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    RowMapping,
    Select,
    Table,
    delete,
    func,
    insert,
    select,
    union,
    update,
)
from sqlalchemy.exc import IntegrityError

from assay.collection import paused
from assay.errors import AssayError
from assay.experiment.types import Experiment
from assay.plan.types import Plan, PlannedTrial, Status
from assay.runner.extract import pairs
from assay.runner.types import Outcome
from assay.store import reading, schema
from assay.store.database import Database, Rows, database_of, run_sql
from assay.store.ended import content_of, kept_of
from assay.store.names import StoreName
from assay.store.opening import open_database
from assay.store.reading import (
    PLANNED,
    DamagedError,
    UnreadableError,
    reason_of,
    row_of,
)
from assay.store.schema import (
    audit,
    campaign,
    decision,
    environment,
    planned_trial,
    record,
    trial,
    view_column,
)
from assay.store.schema import experiment as experiments
from assay.store.types import CampaignSummary, Decision, Imported, StoredTrial
from assay.store.views import (
    Kind,
    Names,
    Type,
    columns_of,
    create_view,
    free_name,
    quoted,
    type_of,
    wider,
)
from assay.words import counted, json_text, storable

if TYPE_CHECKING:
    from assay.findings import Finding

_RECORDS_AT_ONCE = 500
_ROWS_AT_ONCE = 1000
LARGEST = 2**63 - 1
"""The largest integer that a database holds; no row can have a number beyond it."""
_OF_CAMPAIGN = (
    *(trial, schema.late_result, schema.claim, schema.campaign_host, schema.campaign_file),
    *(planned_trial, decision, audit, schema.conclusion),
)
"""Tables whose rows name their campaign; a table comes before those that it refers to."""


class Store:
    """Every trial of every campaign, in one database. Open it with `Store.open`.

    Each transaction is kept before its method returns.

    Attributes:
        name: the path or server with which it was opened.
        read_only: whether this user can only read it.
    """

    def __init__(self, database: Database) -> None:
        self.name = database.name
        self.read_only = database.read_only
        self._database = database

    @classmethod
    def open(cls, name: str | StoreName, *, create: bool = True) -> Self:
        """Open the store that a path or a URL names; create a missing one and its folders.

        A store of an older version is migrated.

        Raises:
            AssayError: it is missing and not to be created, is not a store, is damaged, comes from a
                newer Assay or one that is too old, its folder cannot be written, or its server refuses.
        """
        return cls(open_database(name, create=create))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database."""
        self.close()

    def begin_campaign(
        self,
        *,
        experiment: Experiment,
        plan: Plan,
        host: Mapping[str, Any],
    ) -> int:
        """Write a new campaign with its whole plan in one transaction, and return its number.

        A resumed campaign uses what is written here: it is not planned twice, and no file is read again.

        Raises:
            AssayError: a text or path of the experiment is not UTF-8.
        """
        resolved = experiment.altered(path=experiment.path.absolute())
        try:
            text = resolved.model_dump_json()
        except PydanticSerializationError as error:
            raise AssayError(
                f"{resolved.path}: the file's path, or a text of the experiment, is not UTF-8, so no store"
                " can hold it; rename the file or its folder, or leave out what is not"
            ) from error
        row = {
            "question": experiment.question,
            "seed": plan.seed,
            "source": experiment.source,
            "resolved": text,
            "host": host,
        }
        with self._database.write("run again") as connection:
            return add_campaign(connection, experiment.name, row, plan.trials)

    def write(self, remedy: str) -> AbstractContextManager[Connection]:
        """Return a transaction for `add_campaign`, `extend_view` and rows of a satellite.

        Args:
            remedy: what the user should do if it fails.
        """
        return self._database.write(remedy)

    def experiment(self, campaign_id: int) -> Experiment:
        """Return the experiment of a campaign, as it was resolved when the campaign began.

        Raises:
            AssayError: there is no such campaign.
            UnreadableError: it was imported from another tool, or another version of Assay wrote it.
        """
        row = self.head(campaign_id)
        if origin := Imported.of(row["host"]):
            raise UnreadableError(
                f"campaign {campaign_id} was imported from {origin.tool}: it has no verdict, and is compared"
                f" with nothing; see it with `assay report --campaign {campaign_id}`, or name a campaign that"
                " Assay ran"
            )
        try:
            resolved = Experiment.model_validate_json(row["resolved"])
        except ValidationError as error:
            raise UnreadableError(
                f"another version of Assay wrote the experiment of campaign {campaign_id} in {self.name}, or"
                " it is damaged: use that version, or run it again; `assay store list`, `show` and `query`"
                " read its trials"
            ) from error
        return resolved.altered(source=row["source"])

    def head(self, campaign_id: int) -> dict[str, Any]:
        """Return the experiment of a campaign, its text and its host."""
        columns = (campaign.c.resolved, campaign.c.source, campaign.c.host)
        (row,) = self.rows(campaign_id, select(*columns).where(campaign.c.id == campaign_id))
        with row_of(campaign_id, "its host"):
            reading.HOST.validate_python(row["host"])
        with row_of(campaign_id, "its source"):
            reading.TEXT.validate_python(row["source"])
        with row_of(campaign_id, "its experiment"):
            reading.OBJECT.validate_python(reading.from_json(row["resolved"]))
        return row

    def decide(self, campaign_id: int, decision: Decision, trials: Sequence[PlannedTrial] = ()) -> None:
        """Write a decision and, in the same transaction, add its trials to the plan.

        Raises:
            AssayError: there is no such campaign, or one of the ordinals is planned already; nothing is
                changed then.
        """
        with self._database.write(f"run `assay resume --campaign {campaign_id}`") as connection:
            add_decision(connection, campaign_id, decision, trials)

    def pending(self, campaign_id: int) -> list[PlannedTrial]:
        """Return the trials of a campaign that have not ended, in the order in which they will run.

        A repetition runs directly after the group that it repeats. A stopped campaign has no pending trials.
        """
        done = select(trial.c.ordinal).where(trial.c.campaign_id == campaign_id)
        replaced = _of_replaced_group()
        stopped = select(decision.c.id).where(
            decision.c.campaign_id == campaign_id, decision.c.kind == "stop"
        )
        return self._planned(campaign_id, planned_trial.c.ordinal.not_in(done), ~stopped.exists(), ~replaced)

    def planned(self, campaign_id: int, ordinals: Sequence[int]) -> list[PlannedTrial]:
        """Return some trials of a campaign's plan, in the order in which they run."""
        found: list[PlannedTrial] = []
        for first in range(0, len(ordinals), _ROWS_AT_ONCE):  # databases limit the parameters of a query
            some = ordinals[first : first + _ROWS_AT_ONCE]
            found += self._planned(campaign_id, planned_trial.c.ordinal.in_(some))
        return found if len(ordinals) <= _ROWS_AT_ONCE else sorted(found, key=_place)

    def planned_in(self, campaign_id: int, group: int) -> list[PlannedTrial]:
        """Return the trials of a group of a campaign's plan, in the order in which they run."""
        return self._planned(campaign_id, planned_trial.c.group == group)

    def hosts_planned(self, campaign_id: int) -> int:
        """Return for how many hosts a campaign is planned."""
        with self._database.read() as connection:
            return planned_hosts(connection, campaign_id)

    def hosts_that_ran(self, campaign_id: int) -> list[str]:
        """Return the names of the hosts that ran trials of a campaign, in the order of their first trials.

        Trials of older versions do not say which host ran them.
        """
        named = trial.c.campaign_id == campaign_id, trial.c.ran_on.is_not(None)
        statement = select(trial.c.ran_on).where(*named).group_by(trial.c.ran_on)
        return [row["ran_on"] for row in self.rows(campaign_id, statement.order_by(func.min(trial.c.id)))]

    def decisions(self, campaign_id: int) -> list[Decision]:
        """Return the decisions of a campaign, the first one first."""
        columns = _columns(Decision, decision)
        statement = select(*columns).where(decision.c.campaign_id == campaign_id).order_by(decision.c.id)
        rows = self.rows(campaign_id, statement)
        return [_checked(reading.DECISION, campaign_id, "a decision", row) for row in rows]

    def write_findings(self, campaign_id: int, findings: Sequence["Finding"]) -> None:
        """Write the findings of an audit of a campaign, which the view `findings` then shows.

        Nothing is written if the findings of the campaign's latest audit are the same.
        """
        self._write_latest(audit, "audited_at", campaign_id, [vars(finding) for finding in findings])

    def write_verdicts(self, campaign_id: int, verdicts: Sequence[Mapping[str, Any]]) -> None:
        """Write the verdicts of a campaign, which the view `verdicts` then shows, a row for each.

        Nothing is written if the latest verdicts are the same.
        """
        self._write_latest(schema.conclusion, "concluded_at", campaign_id, verdicts)

    def verdicts(self, experiment: str) -> dict[int, list[dict[str, Any]]]:
        """Return campaign -> the verdicts that were last written, for the campaigns of an experiment.

        Damaged verdicts are omitted: `damages` reports them, and the next report writes them again.
        """
        conclusion = schema.conclusion
        statement = (
            select(conclusion.c.campaign_id, conclusion.c.verdicts)
            .join_from(conclusion, campaign)
            .join_from(campaign, experiments)
            .where(experiments.c.name == experiment)
            .order_by(conclusion.c.id)
        )
        with self._database.read() as connection:
            latest: dict[int, Any] = dict(connection.execute(statement).all())
        return {number: rows for number, rows in latest.items() if not _unfit(reading.VERDICTS, rows)}

    def _write_latest(self, table: Table, moment: str, campaign_id: int, rows: Sequence[Any]) -> None:
        """Write rows about a campaign, unless they are the same as last time or this user can only read."""
        if self.read_only:
            return
        content = json.loads(storable(json_text(rows)))
        kept = next(column for column in table.columns if isinstance(column.type, schema.Json))
        latest = select(kept).where(table.c.campaign_id == campaign_id).order_by(table.c.id.desc())
        with self._database.write("try again") as connection:
            experiment_of(connection, campaign_id)
            if connection.execute(latest.limit(1)).scalar_one_or_none() != content:
                row = {"campaign_id": campaign_id, moment: datetime.now(UTC), kept.name: content}
                connection.execute(insert(table), row)

    def record(self, campaign_id: int, ordinal: int, outcome: Outcome) -> int:
        """Write the outcome of a planned trial in one transaction, and return the trial's number.

        Derived metrics are added to those that the trial reported; if names are equal, the reported one
        counts.

        Raises:
            AssayError: it was never planned, or has been recorded before; nothing is changed then.
        """
        with self._database.write(f"run `assay resume --campaign {campaign_id}`") as connection:
            return add_ended(connection, campaign_id, ordinal, outcome)

    def leading(self, campaign_id: int) -> AbstractContextManager[None]:
        """Return a context in which no other process on any host runs trials of a campaign.

        Raises:
            AssayError: another process does.
        """
        return self._database.leading(campaign_id)

    def now(self) -> datetime:
        """Return the time by a clock that all writers share."""
        with self._database.read() as connection:
            return self._database.now(connection)

    def is_led(self, campaign_id: int) -> bool:
        """Return whether a process is `leading` a campaign."""
        return self._database.is_led(campaign_id)

    def keep_leading(self, campaign_id: int) -> None:
        """Take the right to run a campaign again, if the server has lost it since `leading`.

        Raises:
            AssayError: another process has it.
        """
        self._database.keep_leading(campaign_id)

    def check_in_place(self, campaign_id: int) -> None:
        """Raise an AssayError if the file, which is saved then, or the server is no longer there."""
        self._database.check_in_place(f"run `assay resume --campaign {campaign_id}`")

    def check_ended(self, campaign_id: int, ended: int) -> None:
        """Check that a campaign has as many ended trials as its runner has recorded, with their records.

        Raises:
            AssayError: another process deleted some.
        """
        kept = (
            select(func.count())
            .select_from(trial)
            .join(record, record.c.trial_id == trial.c.id)
            .where(trial.c.campaign_id == campaign_id)
        )
        self.check_in_place(campaign_id)
        with self._database.read() as connection:
            left = connection.execute(kept).scalar_one()
        if left < ended:
            raise AssayError(
                f"another process deleted {counted(ended - left, 'trial')} of campaign {campaign_id} from"
                f" {self.name} while it ran; `assay resume --campaign {campaign_id}` runs them again"
            )

    def campaigns(self, *, damaged: bool = False) -> list[CampaignSummary]:
        """Return every campaign that can be read, the oldest first; with `damaged`, the others too."""
        return [summary for summary in self._summaries() if damaged or not summary.damage]

    def campaign(self, campaign_id: int | None = None) -> CampaignSummary:
        """Return one campaign, by default the latest.

        Raises:
            AssayError: there is no such campaign, or none at all.
            DamagedError: its row cannot be read.
        """
        number = select(func.max(campaign.c.id)).scalar_subquery() if campaign_id is None else campaign_id
        held = campaign_id is None or abs(campaign_id) <= LARGEST
        summaries = self._summaries(campaign.c.id == number) if held else []
        if not summaries:
            if campaign_id is not None and self.campaigns(damaged=True):
                raise _no_campaign(self.name, campaign_id)
            raise AssayError(f"{self.name} holds no campaign yet: run an experiment first")
        [summary] = summaries
        if summary.damage:
            raise DamagedError(summary.id, summary.damage)
        return summary

    def _summaries(self, *conditions: ColumnElement[bool]) -> list[CampaignSummary]:
        """Return the campaigns that match conditions, the oldest first."""
        ended = select(trial.c.id).where(
            trial.c.campaign_id == planned_trial.c.campaign_id, trial.c.ordinal == planned_trial.c.ordinal
        )
        planned = select(func.count()).where(
            planned_trial.c.campaign_id == campaign.c.id, ~_of_replaced_group() | ended.exists()
        )
        stopped = select(decision.c.reason).where(
            decision.c.campaign_id == campaign.c.id, decision.c.kind == "stop"
        )
        columns = (
            *_columns(CampaignSummary, campaign),
            experiments.c.name.label("experiment"),
            planned.scalar_subquery().label("planned"),
            func.coalesce(stopped.limit(1).scalar_subquery(), "").label("stopped"),
        )
        numbers = select(campaign.c.id).where(*conditions)
        by_status = (
            select(trial.c.campaign_id, trial.c.status, func.count())
            .where(trial.c.campaign_id.in_(numbers))
            .group_by(trial.c.campaign_id, trial.c.status)
        )
        statement = select(*columns).join_from(campaign, experiments, isouter=True).where(*conditions)
        counts: dict[int, dict[Status, int]] = {}
        with self._database.read() as connection:
            rows = connection.execute(statement.order_by(campaign.c.id)).mappings().all()
            for number, status, count in connection.execute(by_status):
                counts.setdefault(number, {})[status] = count
        return [_summary({**row, "counts": counts.get(row["id"], {})}) for row in rows]

    @paused()
    def trials(self, campaign_id: int) -> list[StoredTrial]:
        """Return the ended trials of a campaign in the order of its plan, without their raw records."""
        return list(self.each_trial(campaign_id))

    def trials_of(self, campaign_id: int, groups: Sequence[int]) -> list[StoredTrial]:
        """Return the ended trials of some groups of a campaign."""
        return list(self.each_trial(campaign_id, planned_trial.c.group.in_(groups)))

    def each_trial(self, campaign_id: int, *conditions: ColumnElement[bool]) -> Iterator[StoredTrial]:
        """Yield the trials that `trials` returns; a few hundred are in memory at a time."""
        statement = (
            select(*_columns(StoredTrial, trial, planned_trial, record), record.c.trial_id)
            .select_from(trial)
            .outerjoin(planned_trial)
            .outerjoin(record, record.c.trial_id == trial.c.id)
            .where(trial.c.campaign_id == campaign_id, *conditions)
        )
        for rows in self._some(campaign_id, statement, trial.c.ordinal):
            yield from _checked_trials(campaign_id, rows)

    def environments(self, campaign_id: int) -> dict[str, Any]:
        """Return digest -> content: what trials report about machine and program, and hosts' settings."""
        statement = (
            select(environment.c.sha256, environment.c.content)
            .distinct()
            .select_from(trial)
            .join(record, record.c.trial_id == trial.c.id)
            .join(environment, environment.c.sha256.in_([record.c.environment, record.c.host]))
            .where(trial.c.campaign_id == campaign_id)
        )
        found = {row["sha256"]: row["content"] for row in self.rows(campaign_id, statement)}
        for digest, content in found.items():
            with row_of(campaign_id, f"the environment {digest[:12]}"):
                reading.OBJECT.validate_python(content)
        return found

    def texts(self, trials: Iterable[StoredTrial], experiment: Experiment) -> dict[int, dict[str, list[str]]]:
        """Return trial -> name -> the texts that it reports, for the names in [[validate]] rules.

        A text is a string of the result's details, or the data of each line NAME=DATA that a command printed.
        """
        names = {rule.text for rule in experiment.validations if rule.text is not None}
        valid = [trial.id for trial in trials if trial.status == "valid"] if names else []
        found: dict[int, dict[str, list[str]]] = {}
        for stored in self.records_of(valid):
            details = (stored["result"] or {}).get("details", {})
            of_trial = {name: [text] for name in names if isinstance(text := details.get(name), str)}
            for name, text in pairs(stored["stdout"], "|".join(map(re.escape, names))):
                of_trial.setdefault(name, []).append(text)
            found[stored["trial"]] = of_trial
        return found

    def record_of(self, trial_id: int) -> dict[str, Any]:
        """Return everything known of one ended trial, as values that JSON can express.

        Raises:
            AssayError: there is no such trial.
        """
        return next(self.records_of([trial_id]))

    def records_of(self, trial_ids: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Yield the record of each trial, as from `record_of`, in the given order.

        It reads a few hundred at a time, so there may be any number of trials.

        Raises:
            AssayError: there is no such trial.
            DamagedError: it cannot be read.
        """
        numbers = iter(trial_ids)
        while some := list(islice(numbers, _RECORDS_AT_ONCE)):
            with self._database.read() as connection:
                held = [number for number in some if abs(number) <= LARGEST]
                rows = {row["trial"]: row for row in connection.execute(_select_records(held)).mappings()}
            for number in some:
                if number not in rows:
                    raise AssayError(
                        f"{self.name} has no trial {number}: `assay store list trials` shows its trials"
                    )
                yield _record(rows[number])

    def remove(self, campaign_id: int) -> dict[str, int]:
        """Delete a campaign in one transaction, readable or not; return table -> number of deleted rows.

        With the last campaign of an experiment, the experiment and its view are deleted, too.

        Raises:
            AssayError: the store has nothing of such a campaign.
        """
        trials = select(trial.c.id).where(trial.c.campaign_id == campaign_id)
        orphaned = experiments.c.id.not_in(select(campaign.c.experiment_id))
        used = union(
            *(select(column).where(column.is_not(None)) for column in (record.c.environment, record.c.host))
        ).subquery()
        rows_of: dict[Table, ColumnElement[bool]] = {
            record: record.c.trial_id.in_(trials),
            **{table: table.c.campaign_id == campaign_id for table in _OF_CAMPAIGN},
            campaign: campaign.c.id == campaign_id,
        }
        with self._database.write("try again") as connection, self._database.deletable(connection):
            counts = {
                table.name: connection.execute(delete(table).where(condition)).rowcount
                for table, condition in rows_of.items()
            }
            if not any(counts.values()):
                raise _no_campaign(self.name, campaign_id)
            for view in connection.execute(select(experiments.c.view_name).where(orphaned)).scalars().all():
                run_sql(connection, f"DROP VIEW IF EXISTS {quoted(view)}")
            of_orphans = view_column.c.experiment_id.in_(select(experiments.c.id).where(orphaned))
            connection.execute(delete(view_column).where(of_orphans))
            connection.execute(delete(experiments).where(orphaned))
            connection.execute(delete(environment).where(environment.c.sha256.not_in(select(used))))
            wanted = select(schema.campaign_file.c.sha256)
            connection.execute(delete(schema.file).where(schema.file.c.sha256.not_in(wanted)))
        return counts

    def damages(
        self, read_imported: Callable[[int], object] | None = None
    ) -> Iterator[tuple[int | None, str]]:
        """Read every row, and yield the campaign (None: the file itself) and the reason of each damage.

        For each kind of row of a campaign, it yields only the first damage.

        Args:
            read_imported: reads a satellite's rows about an imported campaign.
        """
        with self._database.read() as connection:
            yield from self._database.damages(connection)
            for column, kind in (
                (audit.c.findings, reading.FINDINGS),
                (schema.conclusion.c.verdicts, reading.VERDICTS),
                (schema.late_result.c.outcome, reading.OBJECT),
            ):
                for number, content in connection.execute(select(column.table.c.campaign_id, column)):
                    if reason := _unfit(kind, content):
                        yield number, f"a row of {column.table.name}: {reason}"
        for summary in self.campaigns(damaged=True):
            if summary.damage:
                yield summary.id, summary.damage
                continue
            for read in (
                (read_imported or self.head) if summary.imported else self.experiment,
                self._each_planned,
                self.each_trial,
                self.decisions,
                self.environments,
            ):
                try:
                    rows = read(summary.id)
                    if isinstance(rows, Iterator):
                        deque(rows, maxlen=0)
                except DamagedError as error:
                    yield summary.id, error.reason
                except UnreadableError:
                    pass  # another version of Assay reads it
            try:
                for _ in self.records_of(self._trial_ids(summary.id)):
                    pass
            except DamagedError as error:
                yield summary.id, error.reason

    def _trial_ids(self, campaign_id: int) -> Iterator[int]:
        statement = select(trial.c.id).where(trial.c.campaign_id == campaign_id)
        return (row["id"] for row in self.each(campaign_id, statement, trial.c.id))

    def query(self, sql: str, *, campaign: int | None = None) -> Rows:
        """Return the columns and rows of one SQL query, which cannot change the store.

        `trials` is the view of the campaign's experiment with only this campaign's rows; without a number, it
        has the rows of all campaigns of the experiment that ran last. `median(x)` and `quantile(x, p)` exist
        in addition to the database's functions.

        Raises:
            AssayError: there is no such campaign, or the database refuses the query.
        """
        campaigns = schema.campaign
        views = select(experiments.c.view_name).join_from(campaigns, experiments)
        with self._database.read() as connection:
            if campaign is not None:
                experiment_of(connection, campaign)
                views = views.where(campaigns.c.id == campaign)
            view = connection.execute(views.order_by(campaigns.c.id.desc()).limit(1)).scalar_one_or_none()
        return self._database.query(sql, view, campaign)

    def _planned(self, campaign_id: int, *conditions: ColumnElement[bool]) -> list[PlannedTrial]:
        statement = (
            select(*_columns(PlannedTrial, planned_trial))
            .where(planned_trial.c.campaign_id == campaign_id, *conditions)
            .order_by(
                planned_trial.c.block,
                func.coalesce(planned_trial.c.repeats, planned_trial.c.group),
                planned_trial.c.group,
                planned_trial.c.ordinal,
            )
        )
        rows = self.rows(campaign_id, statement)
        return [_checked_plan(campaign_id, row) for row in rows]

    def _each_planned(self, campaign_id: int) -> Iterator[PlannedTrial]:
        columns = _columns(PlannedTrial, planned_trial)
        statement = select(*columns).where(planned_trial.c.campaign_id == campaign_id)
        rows = self.each(campaign_id, statement, planned_trial.c.ordinal)
        return (_checked_plan(campaign_id, row) for row in rows)

    def rows(self, campaign_id: int, statement: Select[*tuple[Any, ...]]) -> list[dict[str, Any]]:
        """Return the rows of a statement on a campaign; raise an AssayError if there is no such campaign."""
        return [row._asdict() for row in self._rows(campaign_id, statement)]

    def _rows(self, campaign_id: int, statement: Select[*tuple[Any, ...]]) -> Sequence[Row[*tuple[Any, ...]]]:
        with self._database.read() as connection:
            experiment_of(connection, campaign_id)
            return connection.execute(statement).all()

    def each(
        self, campaign_id: int, statement: Select[*tuple[Any, ...]], number: Column[int]
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of a statement on a campaign, ordered by a unique number."""
        for rows in self._some(campaign_id, statement, number):
            yield from (row._asdict() for row in rows)

    def _some(
        self, campaign_id: int, statement: Select[*tuple[Any, ...]], number: Column[int]
    ) -> Iterator[Sequence[Row[*tuple[Any, ...]]]]:
        """Yield some rows at a time of a statement on a campaign, ordered by a unique number."""
        ordered = statement.order_by(number).limit(_ROWS_AT_ONCE)
        rows = self._rows(campaign_id, ordered)
        while rows:
            yield rows
            last = rows[-1]._mapping[number.name]
            more = ordered.where(number > last)
            rows = self._rows(campaign_id, more) if len(rows) == _ROWS_AT_ONCE else []


def experiment_of(connection: Connection, campaign_id: int) -> int:
    """Return the number of a campaign's experiment; raise an AssayError if there is no such campaign."""
    statement = select(campaign.c.experiment_id).where(campaign.c.id == campaign_id)
    held = abs(campaign_id) <= LARGEST
    experiment_id = connection.execute(statement).scalar_one_or_none() if held else None
    if experiment_id is None:
        raise _no_campaign(database_of(connection).name, campaign_id)
    return experiment_id


def planned_hosts(connection: Connection, campaign_id: int) -> int:
    """Return for how many hosts a campaign is planned."""
    most = select(func.max(planned_trial.c.host_number)).where(planned_trial.c.campaign_id == campaign_id)
    return int(connection.execute(most).scalar_one() or 0) + 1


def _place(trial: PlannedTrial) -> tuple[int, int, int, int]:
    """Return the place of a trial in the order in which a campaign runs, as `Store._planned` has it."""
    original = trial.group if trial.repeats is None else trial.repeats
    return trial.block, original, trial.group, trial.ordinal


def _no_campaign(name: StoreName, campaign_id: int) -> AssayError:
    return AssayError(f"{name} has no campaign {campaign_id}: `assay store list` shows its campaigns")


def _of_replaced_group() -> ColumnElement[bool]:
    """Return the condition that a planned trial's group was lost with its host and is planned anew."""
    claim = schema.claim
    replaced = select(claim.c.group).where(
        claim.c.campaign_id == planned_trial.c.campaign_id,
        claim.c.group == planned_trial.c.group,
        claim.c.state == "replaced",
    )
    return replaced.exists()


def _experiment_id(connection: Connection, name: str) -> int:
    """Return the number of the experiment with a name; add it, with an empty view, if it is new."""
    database = database_of(connection)
    known = select(experiments.c.id).where(experiments.c.name == name)
    experiment_id = connection.execute(known).scalar_one_or_none()
    if experiment_id is not None:
        return experiment_id
    taken = database.taken_names(connection)
    experiment_id = connection.execute(known).scalar_one_or_none()  # another process may have added it
    if experiment_id is not None:
        return experiment_id
    view = free_view(name, taken, database)
    adding = insert(experiments).values(name=name, view_name=view).returning(experiments.c.id)
    experiment_id = connection.execute(adding).scalar_one()
    run_sql(connection, create_view(view, experiment_id, {}, database.view_sql))
    return experiment_id


def free_view(name: str, taken: Iterable[str], database: Database) -> str:
    """Return the name of a new view: that of its experiment, if the database admits it and it is free."""
    stem = f"experiment_{name}" if name.lower().startswith("sqlite_") or not name else name
    return free_name(stem, taken, database.view_sql.longest)


def add_campaign(
    connection: Connection, experiment: str, row: Mapping[str, Any], trials: Sequence[PlannedTrial]
) -> int:
    """Write a campaign of an experiment with its plan, and return its number.

    It begins now, unless `row` has `started_at`.
    """
    experiment_id = _experiment_id(connection, experiment)
    campaign_id = connection.execute(
        insert(campaign).returning(campaign.c.id),
        {"started_at": datetime.now(UTC), **row, "experiment_id": experiment_id},
    ).scalar_one()
    _add_planned(connection, campaign_id, trials)
    factors: dict[tuple[Kind, str], Type] = {}
    for name, level in dict.fromkeys(chain.from_iterable(planned.levels.items() for planned in trials)):
        factors["factor", name] = wider(factors.get(("factor", name)), type_of(level))
    extend_view(connection, experiment_id, factors)
    return campaign_id


def add_decision(
    connection: Connection, campaign_id: int, decision: Decision, trials: Sequence[PlannedTrial]
) -> None:
    """Write a decision, and add its trials to the plan; see `Store.decide`."""
    experiment_of(connection, campaign_id)
    try:
        _add_planned(connection, campaign_id, trials)
    except IntegrityError as error:
        raise AssayError(
            f"campaign {campaign_id} has a trial of this ordinal already; the store was not changed"
        ) from error
    connection.execute(
        insert(schema.decision),
        {"campaign_id": campaign_id, **vars(decision), "reason": storable(decision.reason)},
    )


def add_ended(connection: Connection, campaign_id: int, ordinal: int, outcome: Outcome) -> int:
    """Write the outcome of a planned trial, and return the trial's number; see `Store.record`."""
    experiment_id = experiment_of(connection, campaign_id)
    result = dict(outcome.result) if outcome.result is not None else None
    kept = {
        "campaign_id": campaign_id,
        "ordinal": ordinal,
        **kept_of(outcome),
        "reason": storable(outcome.reason),
    }
    try:
        trial_id = connection.execute(insert(trial).returning(trial.c.id), kept).scalar_one()
    except IntegrityError as error:
        raise AssayError(
            f"trial {ordinal} of campaign {campaign_id} is not planned or has ended already; "
            "the store was not changed"
        ) from error
    digest = None
    if result is not None and "environment" in result:
        digest = _environment_digest(connection, result.pop("environment"))
    row = {
        "trial_id": trial_id,
        "environment": digest,
        "host": _environment_digest(connection, outcome.host) if outcome.host else None,
        "outcome": content_of(outcome) | {"result": result},
    }
    connection.execute(insert(record), row)
    extend_view(connection, experiment_id, _names_of(kept))
    return trial_id


def _names_of(row: Mapping[str, Any]) -> Names:
    """Return the names that an ended trial's row gives to columns of a view."""
    kinds: dict[Kind, str] = {
        "metric": "metrics",
        "before": "calibration_before",
        "after": "calibration_after",
    }
    return {(kind, name): "real" for kind, column in kinds.items() for name in row[column]}


def _add_planned(connection: Connection, campaign_id: int, trials: Sequence[PlannedTrial]) -> None:
    if trials:
        rows = [{"campaign_id": campaign_id, **PLANNED.dump_python(planned)} for planned in trials]
        connection.execute(insert(planned_trial), rows)


def extend_view(connection: Connection, experiment_id: int, names: Names) -> None:
    """Add the columns to an experiment's view that it lacks, and widen types that are too narrow."""
    if not _missing(columns_of(connection, experiment_id), names):
        return
    database = database_of(connection)
    database.lock_views(connection)
    known = columns_of(connection, experiment_id)  # another process may have added some
    missing = _missing(known, names)
    if not missing:
        return
    for (kind, name), type_ in missing.items():
        row = {"experiment_id": experiment_id, "kind": kind, "name": name}
        if (kind, name) in known:
            held = [view_column.c[column] == value for column, value in row.items()]
            connection.execute(update(view_column).where(*held).values(type=type_))
        else:
            connection.execute(insert(view_column), row | {"type": type_})
    view = connection.execute(
        select(experiments.c.view_name).where(experiments.c.id == experiment_id)
    ).scalar_one()
    database.replace_view(
        connection, view, create_view(view, experiment_id, known | missing, database.view_sql)
    )


def _missing(known: Names, names: Names) -> dict[tuple[Kind, str], Type]:
    """Return the names that are not known, or whose values have another type, with the type that fits all."""
    wanted = {name: wider(known.get(name), type_) for name, type_ in names.items()}
    return {name: type_ for name, type_ in wanted.items() if known.get(name) != type_}


def _summary(values: dict[str, Any]) -> CampaignSummary:
    """Return a campaign's summary; if its row is damaged, the summary says so."""
    try:
        summary = reading.SUMMARY.validate_python(values)
        reading.HOST.validate_python(values["host"])
    except ValidationError as error:
        name, begun = values["experiment"], values["started_at"]
        return CampaignSummary(
            id=values["id"],
            experiment=name if isinstance(name, str) else "",
            question="",
            seed=0,
            source="",
            started_at=begun if isinstance(begun, datetime) else datetime.fromtimestamp(0, UTC),
            planned=values["planned"],
            counts={},
            host={},
            damage=reason_of(error),
        )
    return summary


def _checked(kind: TypeAdapter[Any], campaign_id: int, name: str, row: dict[str, Any]) -> Any:
    """Return a row of a campaign as a type; raise a DamagedError if it does not fit."""
    with row_of(campaign_id, name):
        return kind.validate_python(row)


def _checked_trials(campaign_id: int, rows: Sequence[Row[*tuple[Any, ...]]]) -> Iterator[StoredTrial]:
    """Yield trials from rows with their fields, in order, and the number of their record."""
    if all(row[-1] is not None for row in rows):
        with suppress(ValidationError):
            yield from reading.TRIALS.validate_python([ArgsKwargs(tuple(row[:-1])) for row in rows])
            return
    for row in rows:  # one is damaged: which?
        if row.trial_id is None:
            raise DamagedError(campaign_id, f"trial {row.id} has no record")
        yield _checked(reading.TRIAL, campaign_id, f"trial {row.id}", row._asdict())


def _checked_plan(campaign_id: int, row: dict[str, Any]) -> PlannedTrial:
    planned: PlannedTrial = _checked(PLANNED, campaign_id, f"the planned trial {row['ordinal']}", row)
    return planned


def _unfit(kind: TypeAdapter[Any], value: Any) -> str:
    """Return why a value cannot be read as a type; empty if it can."""
    try:
        kind.validate_python(value)
    except ValidationError as error:
        return reason_of(error)
    return ""


def _columns(kind: type, *tables: Table) -> list[Column[Any]]:
    """Return the columns with the names of a dataclass's fields, each of the first table that has it."""
    names = [field.name for field in fields(kind)]
    columns = {name: table.c[name] for table in reversed(tables) for name in names if name in table.c}
    return [columns[name] for name in names if name in columns]


def _select_records(trial_ids: Sequence[int]) -> Select[Any]:
    hosts = environment.alias()
    return (
        select(
            trial.c.id.label("trial"),
            trial.c.campaign_id.label("campaign"),
            experiments.c.name.label("experiment"),
            trial.c.status,
            trial.c.started_at,
            trial.c.wall_s,
            trial.c.ran_on,
            *_columns(PlannedTrial, planned_trial),
            record.c.outcome,
            record.c.environment,
            environment.c.content,
            hosts.c.content.label("host"),
        )
        .select_from(trial)
        .outerjoin(planned_trial)
        .outerjoin(campaign, campaign.c.id == trial.c.campaign_id)
        .outerjoin(experiments)
        .outerjoin(record, record.c.trial_id == trial.c.id)
        .outerjoin(environment, environment.c.sha256 == record.c.environment)
        .outerjoin(hosts, hosts.c.sha256 == record.c.host)
        .where(trial.c.id.in_(trial_ids))
    )


def _record(row: RowMapping) -> dict[str, Any]:
    """Return a row of `_select_records` as values that JSON can express."""
    values = dict(row)
    outcome, digest, content = (values.pop(name) for name in ("outcome", "environment", "content"))
    with row_of(row["campaign"], f"trial {row['trial']}"):
        PLANNED.validate_python(values)
        reading.OBJECT.validate_python(outcome)
        if digest is not None:
            reading.OBJECT.validate_python(outcome.get("result"))
            outcome["result"]["environment"] = content
        values["host"] = values["host"] or {}
        values["ran_on"] = values["ran_on"] or ""
        reading.OUTCOME.validate_python(outcome | values)
        reading.check_result(outcome.get("result"))
        reading.TEXT.validate_python(values["experiment"])
    first = (
        "trial",
        "campaign",
        "experiment",
        "ordinal",
        "block",
        "group",
        "levels",
        "status",
        "reason",
        "exit_code",
    )
    return {
        **dict.fromkeys(first),
        **values,
        "started_at": values["started_at"].isoformat(),
        "seed": values["request"].get("seed"),
        **outcome,
    }


def _environment_digest(connection: Connection, content: Any) -> str:
    """Store an environment once, and return its digest."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    connection.execute(
        database_of(connection).insert_new(environment), {"sha256": digest, "content": content}
    )
    return digest
