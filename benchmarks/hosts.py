"""Measures the analysis of a million trials on 100 hosts: from a store to verdicts, in a process of its own.

.venv/bin/python benchmarks/hosts.py [TRIALS_OF_A_HOST [HOSTS]]
"""

import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from assay.analysis import summarise
from assay.experiment import parse
from assay.plan.make_plan import make_plan
from assay.plan.types import Plan
from assay.store import Store

HOSTS = 100
TRIALS = 10_000
GOAL_S, GOAL_GIB = 60, 4
SOURCE = """
name = "hosts-benchmark"
question = "How long does it take to analyse a million trials?"

[factors]
subject = ["base", "other", "third", "fourth"]
threads = [1, 2]

[trial]
key_range = 20_000
mix = {{ insert = 5, erase = 5, find = 90 }}
duration_ms = 250

[design]
blocks = {blocks}

[comparison]
metric = "throughput"
factor = "subject"
baseline = "base"
smallest_effect_percent = 3
across = ["threads"]
"""


def measure(of_host: int = TRIALS, hosts: int = HOSTS) -> None:
    """Fill a store, and print how long it takes to read and analyse it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "assay.sqlite"
        begin = time.perf_counter()
        fill(path, of_host, hosts)
        took, gib = time.perf_counter() - begin, path.stat().st_size / 2**30
        print(f"\na store of {of_host * hosts} trials on {hosts} hosts, {gib:.1f} GiB, made in {took:.0f} s:")
        subprocess.run([sys.executable, __file__, path], check=True)  # noqa: S603 - so that its memory counts alone


def analyse(path: Path) -> None:
    """Print how long parts of the analysis take, and the most memory that it had."""
    begin, work = time.perf_counter(), time.process_time()
    with Store.open(path) as store:
        experiment = store.experiment(1)
        trials = store.trials(1)
    read = time.perf_counter()
    analysis = summarise(trials, experiment)
    ended = time.perf_counter()
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    used = time.process_time() - work
    print(f"  read in {read - begin:.1f} s, analysed in {ended - read:.1f} s; {used:.1f} s of processor time")
    print(f"  {ended - begin:.1f} s and {gib:.2f} GiB; goal: at most {GOAL_S} s and {GOAL_GIB} GiB")
    assert analysis.hosts is not None
    assert len(analysis.hosts.each) > 1


def fill(path: Path, of_host: int, hosts: int) -> None:
    """Write a campaign as hosts would have, by the tables alone: one by one takes an hour."""
    experiment = parse(SOURCE.format(blocks=of_host // 8), path.parent / "hosts.toml")
    one = make_plan(experiment.altered(design={"blocks": 1}), 1, str, 1024)
    with Store.open(path) as store:
        store.begin_campaign(experiment=experiment, plan=Plan(1, one.trials), host={"name": "leader"})
    connection = sqlite3.connect(path)
    planned = [dict(zip(columns(connection, "planned_trial"), row, strict=True)) for row in
               connection.execute("SELECT * FROM planned_trial ORDER BY ordinal")]  # fmt: skip
    environment = {"sha256": "ab" * 32, "content": json.dumps({"processor": {"governor": "performance"}})}
    put(connection, "environment", iter([environment]))
    for table in ("planned_trial", "trial", "record"):
        made = rows(table, planned, of_host // len(planned), hosts)
        put(connection, table, islice(made, len(planned) if table == "planned_trial" else 0, None))
    connection.commit()
    connection.close()


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the names of a table's columns."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def put(connection: sqlite3.Connection, table: str, made: Iterator[dict[str, Any]]) -> None:
    """Insert rows."""
    first = next(made)
    names = ", ".join(f'"{name}"' for name in first)
    marks = ", ".join("?" * len(first))
    statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names of ours
    connection.execute(statement, [*first.values()])
    connection.executemany(statement, ([*row.values()] for row in made))


def rows(table: str, planned: list[dict[str, Any]], blocks: int, hosts: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table: all hosts run all blocks, each at its own speed."""
    chance = random.Random(1)  # noqa: S311
    groups = 1 + max(row["group"] for row in planned)
    calibration = json.dumps(
        {"core_to_core_ns": 50.0, "memory_ns": 90.0, "arithmetic_ns": 1.0, "elapsed_ms": 9}
    )
    ordinal = 0
    for block in range(blocks):
        for host in range(hosts):
            for row in planned:
                number = {"id": ordinal + 1, "campaign_id": 1, "ordinal": ordinal}
                if table == "planned_trial":
                    group = (block * hosts + host) * groups + row["group"]
                    yield row | {"ordinal": ordinal, "block": block, "group": group, "host_number": host}
                elif table == "record":
                    yield {
                        "trial_id": ordinal + 1,
                        "outcome": "{}",
                        "environment": "ab" * 32,
                        "host": None,
                    }
                else:
                    effect = 1.1 if "other" in row["levels"] else 1.0
                    metrics = {
                        "throughput": 1e6 * (1 + host % 7) * effect * chance.lognormvariate(0, 0.03),
                        "lost_share": 0.01,
                        **{f"metric_{place}": place * 1.5 for place in range(10)},
                    }
                    yield number | {
                        "status": "valid",
                        "reason": "",
                        "started_at": str(datetime(2026, 1, 1) + timedelta(seconds=ordinal)) + ".000000",
                        "wall_s": 0.3,
                        "metrics": json.dumps(metrics),
                        "calibration_before": calibration,
                        "calibration_after": calibration,
                        "ran_on": f"host-{host}",
                    }
                ordinal += 1


if __name__ == "__main__":
    if sys.argv[1:2] and not sys.argv[1].isdigit():
        analyse(Path(sys.argv[1]))
    else:
        measure(*map(int, sys.argv[1:]))
