"""The store of one campaign alone, the same bytes wherever it is written."""

from dataclasses import fields, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from assay.plan.types import PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
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


def plan_of(store: Store, summary: CampaignSummary) -> list[PlannedTrial]:
    """Return every planned trial of a campaign in the order of its ordinals."""
    ordinals = range(summary.planned)
    starts = ordinals[::_PLANNED_AT_ONCE]
    parts = (store.planned(summary.id, ordinals[first : first + _PLANNED_AT_ONCE]) for first in starts)
    return sorted(chain.from_iterable(parts), key=lambda trial: trial.ordinal)


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
