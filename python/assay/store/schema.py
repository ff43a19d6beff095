"""The tables of the store. A row is written once: triggers refuse to change or delete a trial."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypedColumns,
    TypeDecorator,
    UniqueConstraint,
)

from assay.plan.types import Level
from assay.store.reading import Unfit
from assay.words import shortened

metadata = MetaData()


def to_json(value: Any) -> str:
    """Return `value` as compact JSON that SQLite can hold.

    Text is not escaped, because SQLite's JSON paths find only keys without escapes. If it has half a
    surrogate pair, which UTF-8 cannot express, everything outside ASCII is escaped.

    Raises:
        ValueError: a number in it is not finite (the protocol admits none).
    """
    text = _encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Utc(TypeDecorator[datetime]):
    """A moment, stored as text in UTC such as `2025-01-31 12:00:00.000000`, which SQLite's functions read."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC and drop the time zone."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Add the time zone UTC; return `Unfit` if the text is not a moment."""
        return _moment


def _moment(value: Any) -> Any:
    try:
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    except (TypeError, ValueError):
        return Unfit(f"{shortened(repr(value))}, which is no moment")


class ExperimentColumns(TypedColumns):
    """One row for each experiment name; `view_name` is the name of its view."""

    id = Column(Integer, primary_key=True)
    name = Column(Text, nullable=False, unique=True)
    view_name = Column(Text(collation="NOCASE"), nullable=False, unique=True)


class ViewColumnColumns(TypedColumns):
    """The names of the columns of an experiment's view, in the order of their first occurrence."""

    id = Column(Integer, primary_key=True)
    experiment_id = Column(Integer, ForeignKey("experiment.id"), nullable=False)
    kind: Column[str] = Column(String(16), nullable=False)
    name = Column(Text, nullable=False)


class CampaignColumns(TypedColumns):
    """One execution of an experiment.

    `resolved` is the experiment as JSON; `source` is its original text, which is never read again.
    """

    id = Column(Integer, primary_key=True)
    experiment_id = Column(Integer, ForeignKey("experiment.id"), nullable=False)
    question = Column(Text, nullable=False)
    seed = Column(Integer, nullable=False)
    source = Column(Text, nullable=False)
    resolved = Column(Text, nullable=False)
    host: Column[Mapping[str, Any]] = Column(JSON, nullable=False)
    started_at: Column[datetime] = Column(Utc, nullable=False)


class PlannedTrialColumns(TypedColumns):
    """One trial of a campaign's plan."""

    campaign_id = Column(Integer, ForeignKey("campaign.id"), primary_key=True)
    ordinal = Column(Integer, primary_key=True)
    block = Column(Integer, nullable=False)
    group = Column(Integer, nullable=False)
    levels: Column[Mapping[str, Level]] = Column(JSON, nullable=False)
    request: Column[Mapping[str, Any]] = Column(JSON, nullable=False)
    program = Column(Text, nullable=False)
    perturbation: Column[Mapping[str, int | float | str]] = Column(JSON, nullable=False)
    timeout_s = Column(Float, nullable=False)
    memory_limit_mb = Column(Integer, nullable=False)
    arguments: Column[list[str]] = Column(JSON, nullable=False)
    extract: Column[Any] = Column(JSON, nullable=False)
    repeats = Column(Integer, nullable=True)


class TrialColumns(TypedColumns):
    """One ended trial, slim enough that thousands are read at once."""

    id = Column(Integer, primary_key=True)
    campaign_id = Column(Integer, nullable=False)
    ordinal = Column(Integer, nullable=False)
    status: Column[Any] = Column(String(16), nullable=False)
    reason = Column(Text, nullable=False)
    started_at: Column[datetime] = Column(Utc, nullable=False)
    wall_s = Column(Float, nullable=False)
    metrics: Column[Mapping[str, float]] = Column(JSON, nullable=False)
    calibration_before: Column[Mapping[str, float]] = Column(JSON, nullable=False)
    calibration_after: Column[Mapping[str, float]] = Column(JSON, nullable=False)


class RecordColumns(TypedColumns):
    """The rest of a trial's outcome, without the result's environment and the host's settings, which most
    trials share."""

    trial_id = Column(Integer, ForeignKey("trial.id"), primary_key=True)
    outcome: Column[dict[str, Any]] = Column(JSON, nullable=False)
    environment: Column[str | None] = Column(String(64), ForeignKey("environment.sha256"), nullable=True)
    host: Column[str | None] = Column(String(64), ForeignKey("environment.sha256"), nullable=True)


class EnvironmentColumns(TypedColumns):
    """Facts about machine and program, or a host's settings; `sha256` is that of `content`, keys sorted."""

    sha256 = Column(String(64), primary_key=True)
    content: Column[Any] = Column(JSON, nullable=False)


class DecisionColumns(TypedColumns):
    """The runner's decisions during a campaign."""

    id = Column(Integer, primary_key=True)
    campaign_id = Column(Integer, ForeignKey("campaign.id"), nullable=False)
    block = Column(Integer, nullable=False)
    at: Column[datetime] = Column(Utc, nullable=False)
    kind: Column[Any] = Column(String(16), nullable=False)
    reason = Column(Text, nullable=False)
    content: Column[Mapping[str, Any]] = Column(JSON, nullable=False)


class AuditColumns(TypedColumns):
    """The findings of one audit of a campaign. The view `findings` shows those of each campaign's latest."""

    id = Column(Integer, primary_key=True)
    campaign_id = Column(Integer, ForeignKey("campaign.id"), nullable=False)
    audited_at: Column[datetime] = Column(Utc, nullable=False)
    findings: Column[Any] = Column(JSON, nullable=False)


class ConclusionColumns(TypedColumns):
    """The verdicts of a campaign at some moment. The view `verdicts` shows the latest of each campaign."""

    id = Column(Integer, primary_key=True)
    campaign_id = Column(Integer, ForeignKey("campaign.id"), nullable=False)
    concluded_at: Column[datetime] = Column(Utc, nullable=False)
    verdicts: Column[Any] = Column(JSON, nullable=False)


experiment = Table("experiment", metadata, ExperimentColumns)
view_column = Table(
    "view_column", metadata, ViewColumnColumns, UniqueConstraint("experiment_id", "kind", "name")
)
campaign = Table("campaign", metadata, CampaignColumns)
planned_trial = Table("planned_trial", metadata, PlannedTrialColumns)
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
