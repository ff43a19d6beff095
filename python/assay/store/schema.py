"""The tables of the store. A row is written once: triggers refuse to change or delete a trial."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypedColumns,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

from assay.plan.types import Level
from assay.store.encoding import (
    json_from_postgresql,
    json_to_postgresql,
    text_from_postgresql,
    text_to_postgresql,
    to_json,
)
from assay.store.reading import Unfit, from_json
from assay.words import shortened

VERSION = 11
"""The version of the tables, and of the views, triggers and functions of each database: a change raises it,
and brings a migration in `migrations/versions/` whose revision is the new version."""

metadata = MetaData()
Processor = Callable[[Any], Any] | None


class AnyText(TypeDecorator[str]):
    """Any text that UTF-8 can express, U+0000 too."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Leave NOCASE to SQLite, which alone knows it."""
        return Text() if dialect.name == "postgresql" else self.impl_instance

    def bind_processor(self, dialect: Dialect) -> Processor:
        """Replace what PostgreSQL cannot hold."""
        return _only_in_postgresql(dialect, text_to_postgresql)

    def result_processor(self, dialect: Dialect, coltype: object) -> Processor:
        """Put it back."""
        return _only_in_postgresql(dialect, text_from_postgresql)


class JsonText(TypeDecorator[Any]):
    """The text of a JSON value, as it is: PostgreSQL's own types of JSON would refuse some."""

    impl = Text
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Processor:
        """Replace what PostgreSQL cannot hold."""
        return _only_in_postgresql(dialect, json_to_postgresql)

    def result_processor(self, dialect: Dialect, coltype: object) -> Processor:
        """Put it back."""
        return _only_in_postgresql(dialect, json_from_postgresql)


class Json(JsonText):
    """A JSON value, None too; `Unfit` is read where the text is not JSON."""

    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Call the column JSON in SQLite, as ever."""
        return _SqliteJson() if dialect.name == "sqlite" else Text()

    def bind_processor(self, dialect: Dialect) -> Processor:
        """Encode a value."""
        convert = super().bind_processor(dialect)
        return to_json if convert is None else lambda value: convert(to_json(value))

    def result_processor(self, dialect: Dialect, coltype: object) -> Processor:
        """Decode a text; a row that is missing has none."""
        convert = super().result_processor(dialect, coltype)
        if convert is None:
            return lambda text: None if text is None else from_json(text)
        return lambda text: None if text is None else from_json(convert(text))


class RepeatedJson(Json):
    """A JSON value that many rows have: it is decoded once, so it must not be changed."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Processor:
        """Decode a text that was not among the latest."""
        decode = super().result_processor(dialect, coltype)
        return decode and lru_cache(maxsize=1000)(decode)


class _SqliteJson(Text):
    """The type of a text in a column that SQLite calls JSON."""

    __visit_name__ = "JSON"


def _only_in_postgresql(dialect: Dialect, convert: Callable[[str], str]) -> Processor:
    if dialect.name != "postgresql":
        return None
    return lambda text: None if text is None else convert(text)


Whole = BigInteger().with_variant(Integer(), "sqlite")
"""A whole number of 64 bits; SQLite numbers rows by themselves only if they are called INTEGER."""
Word = String(16).with_variant(Text(), "postgresql")
Digest = String(64).with_variant(Text(), "postgresql")


class Utc(TypeDecorator[datetime]):
    """A moment in UTC; SQLite has a text such as `2025-01-31 12:00:00.000000`, which its functions read."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC and drop the time zone."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Add the time zone UTC; return `Unfit` if the text is not a moment."""
        return _moment


def _moment(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    try:
        return datetime.fromisoformat(value + "+00:00")
    except (TypeError, ValueError):
        return Unfit(f"{shortened(repr(value))}, which is no moment")


class ExperimentColumns(TypedColumns):
    """One row for each experiment name; `view_name` is the name of its view."""

    id = Column(Whole, primary_key=True)
    name = Column(AnyText, nullable=False, unique=True)
    view_name: Column[str] = Column(AnyText(collation="NOCASE"), nullable=False, unique=True)


class ViewColumnColumns(TypedColumns):
    """The names of the columns of an experiment's view, in the order of their first occurrence.

    `type` is the type of the values: whole, real, or text if any of them is a text. In
    PostgreSQL, a column of a view has one type.
    """

    id = Column(Whole, primary_key=True)
    experiment_id = Column(Whole, ForeignKey("experiment.id"), nullable=False)
    kind: Column[str] = Column(Word, nullable=False)
    name = Column(AnyText, nullable=False)
    type: Column[Any] = Column(Word, nullable=False, server_default="real")


class CampaignColumns(TypedColumns):
    """One execution of an experiment.

    `resolved` is the experiment as JSON; `source` is its original text, which is never read again.
    """

    id = Column(Whole, primary_key=True)
    experiment_id = Column(Whole, ForeignKey("experiment.id"), nullable=False)
    question = Column(AnyText, nullable=False)
    seed = Column(Whole, nullable=False)
    source = Column(AnyText, nullable=False)
    resolved = Column(JsonText, nullable=False)
    host: Column[Mapping[str, Any]] = Column(Json, nullable=False)
    started_at: Column[datetime] = Column(Utc, nullable=False)


class PlannedTrialColumns(TypedColumns):
    """One trial of a campaign's plan."""

    campaign_id = Column(Whole, ForeignKey("campaign.id"), primary_key=True)
    ordinal = Column(Whole, primary_key=True)
    block = Column(Whole, nullable=False)
    group = Column(Whole, nullable=False)
    levels: Column[Mapping[str, Level]] = Column(RepeatedJson, nullable=False)
    request: Column[Mapping[str, Any]] = Column(Json, nullable=False)
    program = Column(AnyText, nullable=False)
    perturbation: Column[Mapping[str, int | float | str]] = Column(RepeatedJson, nullable=False)
    timeout_s = Column(Float, nullable=False)
    memory_limit_mb = Column(Whole, nullable=False)
    arguments: Column[list[str]] = Column(Json, nullable=False)
    extract: Column[Any] = Column(Json, nullable=False)
    repeats = Column(Whole, nullable=True)
    host_number = Column(Whole, nullable=False, server_default="0")


class TrialColumns(TypedColumns):
    """One ended trial, slim enough that thousands are read at once."""

    id = Column(Whole, primary_key=True)
    campaign_id = Column(Whole, nullable=False)
    ordinal = Column(Whole, nullable=False)
    status: Column[Any] = Column(Word, nullable=False)
    reason = Column(AnyText, nullable=False)
    started_at: Column[datetime] = Column(Utc, nullable=False)
    wall_s = Column(Float, nullable=False)
    metrics: Column[Mapping[str, float]] = Column(Json, nullable=False)
    calibration_before: Column[Mapping[str, float]] = Column(Json, nullable=False)
    calibration_after: Column[Mapping[str, float]] = Column(Json, nullable=False)
    ran_on = Column(AnyText, nullable=True)


class RecordColumns(TypedColumns):
    """The rest of a trial's outcome, without the result's environment and the host's settings, which most
    trials share."""

    trial_id = Column(Whole, ForeignKey("trial.id"), primary_key=True)
    outcome: Column[dict[str, Any]] = Column(Json, nullable=False)
    environment: Column[str | None] = Column(Digest, ForeignKey("environment.sha256"), nullable=True)
    host: Column[str | None] = Column(Digest, ForeignKey("environment.sha256"), nullable=True)


class EnvironmentColumns(TypedColumns):
    """Facts about machine and program, or a host's settings; `sha256` is that of `content`, keys sorted."""

    sha256 = Column(Digest, primary_key=True)
    content: Column[Any] = Column(Json, nullable=False)


class DecisionColumns(TypedColumns):
    """The runner's decisions during a campaign."""

    id = Column(Whole, primary_key=True)
    campaign_id = Column(Whole, ForeignKey("campaign.id"), nullable=False)
    block = Column(Whole, nullable=False)
    at: Column[datetime] = Column(Utc, nullable=False)
    kind: Column[Any] = Column(Word, nullable=False)
    reason = Column(AnyText, nullable=False)
    content: Column[Mapping[str, Any]] = Column(Json, nullable=False)


class AuditColumns(TypedColumns):
    """The findings of one audit of a campaign. The view `findings` shows those of each campaign's latest."""

    id = Column(Whole, primary_key=True)
    campaign_id = Column(Whole, ForeignKey("campaign.id"), nullable=False)
    audited_at: Column[datetime] = Column(Utc, nullable=False)
    findings: Column[Any] = Column(Json, nullable=False)


class ConclusionColumns(TypedColumns):
    """The verdicts of a campaign at some moment. The view `verdicts` shows the latest of each campaign."""

    id = Column(Whole, primary_key=True)
    campaign_id = Column(Whole, ForeignKey("campaign.id"), nullable=False)
    concluded_at: Column[datetime] = Column(Utc, nullable=False)
    verdicts: Column[Any] = Column(Json, nullable=False)


class ClaimColumns(TypedColumns):
    """Which worker runs a group of a campaign that several run together; see `claims.py`.

    `place` is the group whose place in the order it has: that which it repeats, or its own.
    """

    campaign_id = Column(Whole, ForeignKey("campaign.id"), primary_key=True)
    group = Column(Whole, primary_key=True)
    block = Column(Whole, nullable=False)
    place = Column(Whole, nullable=False)
    state: Column[Any] = Column(Word, nullable=False)
    attempt = Column(Whole, nullable=False)
    worker = Column(AnyText, nullable=True)
    until: Column[datetime | None] = Column(Utc, nullable=True)
    host_number = Column(Whole, nullable=False, server_default="0")


class CampaignHostColumns(TypedColumns):
    """A host of a campaign that runs on several; see `hosts.py`."""

    campaign_id = Column(Whole, ForeignKey("campaign.id"), primary_key=True)
    number = Column(Whole, primary_key=True)
    name = Column(AnyText, nullable=False)
    unit = Column(AnyText, nullable=False)
    worker = Column(AnyText, nullable=False)
    state: Column[Any] = Column(Word, nullable=False)
    message = Column(AnyText, nullable=False)
    changed_at: Column[datetime] = Column(Utc, nullable=False)


class FileColumns(TypedColumns):
    """The content of a file that hosts need, by its digest."""

    sha256 = Column(Digest, primary_key=True)
    content = Column(LargeBinary, nullable=False)


class CampaignFileColumns(TypedColumns):
    """A file that the trials of a campaign name by its path on the host that leads it."""

    campaign_id = Column(Whole, ForeignKey("campaign.id"), primary_key=True)
    path = Column(AnyText, primary_key=True)
    sha256: Column[str] = Column(Digest, ForeignKey("file.sha256"), nullable=False)
    executable = Column(Whole, nullable=False)


class LateResultColumns(TypedColumns):
    """A result of a trial that has another one, or whose worker had lost its group; it is never counted."""

    id = Column(Whole, primary_key=True)
    campaign_id = Column(Whole, nullable=False)
    ordinal = Column(Whole, nullable=False)
    received_at: Column[datetime] = Column(Utc, nullable=False)
    worker = Column(AnyText, nullable=False)
    outcome: Column[Any] = Column(Json, nullable=False)


experiment = Table("experiment", metadata, ExperimentColumns)
view_column = Table(
    "view_column", metadata, ViewColumnColumns, UniqueConstraint("experiment_id", "kind", "name")
)
campaign = Table("campaign", metadata, CampaignColumns)
planned_trial = Table(
    "planned_trial",
    metadata,
    PlannedTrialColumns,
    Index("planned_trial_by_group", "campaign_id", "group"),
)
trial = Table(
    "trial",
    metadata,
    TrialColumns,
    UniqueConstraint("campaign_id", "ordinal"),
    ForeignKeyConstraint(["campaign_id", "ordinal"], ["planned_trial.campaign_id", "planned_trial.ordinal"]),
    Index("trial_by_status", "campaign_id", "status"),
)
environment = Table("environment", metadata, EnvironmentColumns)
record = Table("record", metadata, RecordColumns)
decision = Table("decision", metadata, DecisionColumns, Index("decision_by_campaign", "campaign_id"))
audit = Table("audit", metadata, AuditColumns, Index("audit_by_campaign", "campaign_id"))
conclusion = Table("conclusion", metadata, ConclusionColumns, Index("conclusion_by_campaign", "campaign_id"))
claim = Table(
    "claim",
    metadata,
    ClaimColumns,
    Index("claim_in_order", "campaign_id", "state", "host_number", "block", "place", "group"),
)
campaign_host = Table("campaign_host", metadata, CampaignHostColumns, UniqueConstraint("campaign_id", "name"))
file = Table("file", metadata, FileColumns)
campaign_file = Table("campaign_file", metadata, CampaignFileColumns)
late_result = Table(
    "late_result",
    metadata,
    LateResultColumns,
    ForeignKeyConstraint(["campaign_id", "ordinal"], ["planned_trial.campaign_id", "planned_trial.ordinal"]),
    Index("late_result_by_campaign", "campaign_id"),
)
version = Table("alembic_version", metadata, Column("version_num", String(32), primary_key=True))
"""As Alembic makes it."""


@cache
def as_texts(table: Table) -> Table:
    """Return a table whose JSON is written and read as the text that it is."""
    columns = (
        Column(column.name, JsonText if isinstance(column.type, Json) else column.type)
        for column in table.columns
    )
    return Table(table.name, MetaData(), *columns)
