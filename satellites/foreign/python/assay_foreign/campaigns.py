"""Campaigns in the store that another tool measured: how they get in, and how they are read.

Memory does not grow with the number of results: benchmarks are written and read a few at a time.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from pathlib import PurePath
from typing import Any

from msgspec import ValidationError, json
from msgspec.structs import replace
from sqlalchemy import Connection, func, select

from assay.errors import AssayError
from assay.store import DamagedError, Store
from assay.store.database import database_of
from assay.store.reading import OBJECT, row_of
from assay.store.schema import campaign, planned_trial, record, trial
from assay.store.store import add_campaign, extend_view
from assay.store.types import READ_BY, Imported
from assay.store.views import Kind, Type
from assay_foreign.trials import benchmark_of, rows_of, statements
from assay_foreign.types import Benchmark, Benchmarks, ForeignRun

_RUN = json.Decoder(ForeignRun)
_ROWS_AT_ONCE = 1000
_CACHE = "PRAGMA cache_size = -64000"
"""KiB; with SQLite's own 2 MB, pages of indices are written again and again."""
_HOST_NAMES = ("host_name", "hostname")


def import_run(store: Store, run: ForeignRun, origin: Imported) -> int:
    """Write what another tool measured as a campaign that has ended, and return its number.

    It is written in one transaction: a trial for each process of each benchmark. `told_apart` has checked
    each as `stored_run` reads it, so that nothing gets in that it refuses.

    Raises:
        AssayError: it could not be read again.
    """
    try:
        with store.write("import it again") as connection:
            return _write(connection, run, origin)
    except ValidationError as error:
        raise AssayError(f"{origin.file} cannot be stored: {error}") from error


def _write(connection: Connection, run: ForeignRun, origin: Imported) -> int:
    database = database_of(connection)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_CACHE)
    resolved = json.encode(replace(run, benchmarks=())).decode()
    _RUN.decode(resolved)
    name = next((str(run.host[key]) for key in _HOST_NAMES if key in run.host), "")
    row = {
        "question": f"What {run.tool} measured ({origin.file}).",
        "seed": 0,
        "source": "",
        "resolved": resolved,
        "host": {"name": name, READ_BY: asdict(origin)},
    }
    campaign_id = add_campaign(connection, _experiment(run, origin), row, ())
    names: dict[tuple[Kind, str], Type] = {}
    database.reserve_numbers(connection, trial)
    trial_id = connection.execute(select(func.coalesce(func.max(trial.c.id), 0) + 1)).scalar_one()
    rows = rows_of(run, campaign_id, trial_id, datetime.now(UTC), names)
    inserting = statements()
    while part := list(islice(rows, _ROWS_AT_ONCE)):
        for statement, of_table in zip(inserting, zip(*part, strict=True), strict=True):
            connection.execute(statement, [*of_table])
    database.numbered(connection, trial)
    experiment = select(campaign.c.experiment_id).where(campaign.c.id == campaign_id)
    extend_view(connection, connection.execute(experiment).scalar_one(), names)
    return campaign_id


def _experiment(run: ForeignRun, origin: Imported) -> str:
    """Return what stands for the experiment; no experiment of ours may have a colon in its name."""
    stem = PurePath(origin.file).name.split(".")[0]
    return f"{re.sub('[^a-z0-9]+', '-', run.tool.lower()).strip('-')}:{stem}"


def stored_run(store: Store, campaign_id: int) -> ForeignRun:
    """Return what another tool measured, of a campaign that was imported.

    Its benchmarks are read from the store whenever they are needed; a DamagedError may come then.
    """
    with _row_of(campaign_id, "what was imported"):
        run = _RUN.decode(store.head(campaign_id)["resolved"])
    first = (planned_trial.c.campaign_id == campaign_id) & (planned_trial.c.block == 0)
    counted = select(func.count().label("count")).select_from(planned_trial).where(first)
    (row,) = store.rows(campaign_id, counted)
    return replace(run, benchmarks=Benchmarks(row["count"], partial(_benchmarks, store, campaign_id)))


def _benchmarks(store: Store, campaign_id: int) -> Iterator[Benchmark]:
    """Yield the benchmarks of a campaign, each from the trials of its processes."""
    columns = (planned_trial.c.ordinal, planned_trial.c.block, planned_trial.c.request, record.c.outcome)
    statement = (
        select(*columns)
        .select_from(planned_trial)
        .outerjoin(trial)
        .outerjoin(record, record.c.trial_id == trial.c.id)
        .where(planned_trial.c.campaign_id == campaign_id)
    )
    processes: list[dict[str, Any]] = []
    for row in chain(store.each(campaign_id, statement, planned_trial.c.ordinal), [None]):
        if processes and (row is None or row["block"] == 0):
            first = processes[0]["ordinal"]
            with _row_of(campaign_id, f"the benchmark of the planned trial {first}"):
                outcomes = [OBJECT.validate_python(process["outcome"]) for process in processes]
                benchmark = benchmark_of(OBJECT.validate_python(processes[0]["request"]), outcomes)
            if [process["block"] for process in processes] != list(range(benchmark.processes)):
                raise DamagedError(
                    campaign_id, f"the planned trial {first} has not as many processes as it had"
                )
            yield benchmark
            processes = []
        if row is not None:
            processes.append(row)


@contextmanager
def _row_of(campaign: int, row: str) -> Iterator[None]:
    """Turn what is wrong with a row of a campaign into a DamagedError that names both."""
    try:
        with row_of(campaign, row):
            yield
    except ValidationError as error:
        raise DamagedError(campaign, f"{row}: {error}") from error
