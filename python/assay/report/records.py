"""The raw records of a campaign's trials as script files, which a page loads from disk without fetch.

A script file calls `receive(name, text)`: the text is gzip in base64, so that nothing in it can be anything
but data. The trials, in the order of their numbers, are cut into chunks of `CHUNK`. For chunk K, from 1:

- `records-K.js`: lines of JSON. The first is `{"trials": [[trial, condition, environment], ...],
  "environments": [...]}`, where `environment` is a place in `environments`, or null. Then one line for each
  of those trials: its record as `Store.record_of` gives it, less the environment and the series.
- `series-K.js`: lines of JSON, one for each trial: the throughput series of its threads.
"""

import base64
import gzip
from collections.abc import Iterator
from typing import Any

from assay.report.gather import Report
from assay.store import Store
from assay.store.types import StoredTrial
from assay.words import json_text

CHUNK = 250
"""Trials in one file: a browser unpacks it in some tens of milliseconds, and 20,000 trials make 80 files."""


def chunks(report: Report) -> list[list[StoredTrial]]:
    """Return the campaign's trials by number, cut into chunks."""
    trials = sorted(report.trials, key=lambda trial: trial.id)
    return [trials[start : start + CHUNK] for start in range(0, len(trials), CHUNK)]


def record_files(report: Report, store: Store) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file of records and series."""
    cut = chunks(report)
    records = store.records_of([trial.id for chunk in cut for trial in chunk])
    for number, chunk in enumerate(cut, start=1):
        environments: dict[str, tuple[int, Any]] = {}
        heads: list[list[int | None]] = []
        lines: list[str] = []
        series: list[str] = []
        for trial, record in zip(chunk, records, strict=False):
            result = record["result"] or {}
            content = result.pop("environment", None)
            place = None
            if trial.environment is not None:
                place, _ = environments.setdefault(trial.environment, (len(environments), content))
            heads.append([trial.id, report.number(trial), place])
            series.append(json_text([thread.pop("series", []) for thread in result.get("threads", [])]))
            lines.append(json_text(record))
        head = {"trials": heads, "environments": [content for _, content in environments.values()]}
        yield f"records-{number}.js", packed(f"records-{number}", "\n".join([json_text(head), *lines]))
        yield f"series-{number}.js", packed(f"series-{number}", "\n".join(series))


def packed(name: str, text: str) -> str:
    """Return a script that hands a text to the page that loads it."""
    content = base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
    return f'receive("{name}", "{content}");\n'
