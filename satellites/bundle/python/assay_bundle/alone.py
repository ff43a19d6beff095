"""The store of one campaign alone, the same bytes wherever it is written."""

from dataclasses import fields, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import func, insert, select

from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from assay.store.schema import campaign_host, claim, late_result, planned_trial
from assay.store.store import add_campaign
from assay.store.types import CampaignSummary
from assay_bundle.moved import Moved

_REMEDY = "write the bundle again"
_PLANNED_AT_ONCE = 10_000


def write_alone(store: Store, summary: CampaignSummary, moved: Moved, file: Path) -> None:
    """Write a new store with one campaign of another store, whose paths are those of the bundle.

    Campaign and trials get numbers from 1.
    """
    experiment = moved.experiment(store.experiment(summary.id))
    ids = {trial.ordinal: trial.id for trial in store.trials(summary.id)}
    planned = [_planned(trial, moved) for trial in plan_of(store, summary)]
    row = {
        "question": summary.question,
        "seed": summary.seed,
        "source": summary.source,
        "resolved": experiment.model_dump_json(),
        "host": moved.value(summary.host),
        "started_at": summary.started_at,
    }
    with Store.open(file) as alone:
        with alone.write(_REMEDY) as connection:
            number = add_campaign(connection, experiment.name, row, planned)
        for ordinal, record in zip(ids, store.records_of(ids.values()), strict=True):
            alone.record(number, ordinal, _outcome(record, moved))
        for decision in store.decisions(summary.id):
            alone.decide(number, decision)
        for table in (claim, campaign_host, late_result):  # of a campaign on several hosts
            statement = select(table).where(table.c.campaign_id == summary.id).order_by(*table.primary_key)
            if rows := store.rows(summary.id, statement):
                with alone.write(_REMEDY) as connection:
                    connection.execute(insert(table), [_row(row, number, moved) for row in rows])


def plan_of(store: Store, summary: CampaignSummary) -> list[PlannedTrial]:
    """Return every planned trial of a campaign in the order of its ordinals."""
    last = select(func.max(planned_trial.c.ordinal)).where(planned_trial.c.campaign_id == summary.id)
    [[most]] = [row.values() for row in store.rows(summary.id, last)]
    ordinals = range(1 + most)
    starts = ordinals[::_PLANNED_AT_ONCE]
    parts = (store.planned(summary.id, ordinals[first : first + _PLANNED_AT_ONCE]) for first in starts)
    return sorted(chain.from_iterable(parts), key=lambda trial: trial.ordinal)


def plan_of_first_host(store: Store, summary: CampaignSummary) -> list[PlannedTrial]:
    """Return the first plan of a campaign, without repetitions; of several hosts, that of the first one.

    It is what the same experiment and seed give on one host.
    """
    planned = [of for of in plan_of(store, summary) if of.repeats is None and of.host_number == 0]
    return [replace(trial, ordinal=ordinal) for ordinal, trial in enumerate(planned)]


def _row(row: dict[str, Any], number: int, moved: Moved) -> dict[str, Any]:
    return {**moved.value(row), "campaign_id": number}


def _planned(trial: PlannedTrial, moved: Moved) -> PlannedTrial:
    return replace(
        trial,
        request=moved.value(trial.request),
        program=moved.place(trial.program),
        arguments=tuple(map(moved.place, trial.arguments)),
    )


def _outcome(record: dict[str, Any], moved: Moved) -> Outcome:
    values = {field.name: moved.value(record[field.name]) for field in fields(Outcome)}
    return Outcome(**{**values, "started_at": datetime.fromisoformat(record["started_at"])})
