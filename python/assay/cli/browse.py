"""`assay list`, `assay show`, `assay query`: what is in the store."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from assay.cli.options import DEFAULT_STORE, CampaignOption, JsonOption, StoreOption, print_json, print_table
from assay.errors import AssayError
from assay.words import printable

if TYPE_CHECKING:
    from assay.store import Store
    from assay.store.types import CampaignSummary

QUERY_BYTES = 2**31
"""The most memory that `assay query` may use; with more, the system might end other programs too."""


def list_(
    what: Annotated[
        Literal["campaigns", "trials", "subjects"], typer.Argument(help="What to list.")
    ] = "campaigns",
    campaign: CampaignOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """List campaigns, the trials of a campaign, or the subjects that can be measured.

    Example: `assay list trials --campaign 2`
    """
    if what == "subjects":
        listed = _subjects()
    else:
        with _open(store) as opened:
            listed = _campaigns(opened) if what == "campaigns" else _trials(opened, campaign)
    if as_json:
        print_json(listed)
    else:
        _print_listed(listed[what])


def show(
    trial: Annotated[int, typer.Argument(help="Number of the trial, as `assay list trials` shows it.")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Show the record of one trial; only --json has the buckets of its histograms.

    Example: `assay show 17`
    """
    with _open(store) as opened:
        record = opened.record_of(trial)
    if as_json:
        print_json(record)
    else:
        typer.echo("\n".join(_outline(record)))


def query(
    sql: Annotated[str, typer.Argument(help="One SQL query; it cannot change the store.")],
    campaign: Annotated[
        int | None,
        typer.Option(help="Number of the campaign. Default: every campaign of the experiment run last."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Ask the store in SQL: `trials` has a column for each factor and metric of an experiment.

    It holds every campaign of the experiment that was run last (the column `campaign` tells them apart), or
    only the campaign that --campaign names. Every experiment also has a view of its own name.
    `median(x)` and `quantile(x, p)` are there beside SQLite's functions. A metric is NULL unless its trial
    is valid.

    Example: `assay query "select subject, threads, median(throughput) from trials group by 1, 2"`
    """
    import resource

    with _open(store) as opened:
        unlimited = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (QUERY_BYTES, unlimited[1]))
        try:
            columns, rows = opened.query(sql, campaign=campaign)
            if as_json:
                print_json({"columns": columns, "rows": [[*map(_json_value, row)] for row in rows]})
            else:
                print_table(columns, rows)
        except MemoryError as error:
            raise AssayError(
                f"the query needs more than {QUERY_BYTES >> 20} MiB of memory: ask for fewer rows or columns,"
                " as by where, limit or median(x)"
            ) from error
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, unlimited)


def _open(path: Path) -> "Store":
    from assay.store import Store

    return Store.open(path, create=False)


def _campaigns(store: "Store") -> dict[str, Any]:
    from assay.runner.types import Status

    return {
        "campaigns": [
            {
                "campaign": campaign.id,
                "experiment": campaign.experiment,
                "started": campaign.started_at,
                "planned": campaign.planned,
                "ended": campaign.ended,
                **{status: campaign.counts.get(status, 0) for status in get_args(Status)},
                "state": _state(campaign),
            }
            for campaign in store.campaigns()
        ]
    }


def _state(campaign: "CampaignSummary") -> str:
    if campaign.stopped:
        return f"finished early: {campaign.stopped}"
    return "finished" if campaign.finished else "unfinished"


def _trials(store: "Store", campaign: int | None) -> dict[str, Any]:
    number = store.campaign(campaign).id
    return {
        "campaign": number,
        "trials": [
            {
                "trial": trial.id,
                **{name: getattr(trial, name) for name in ("block", "group", "levels", "status", "wall_s")},
                "reason": trial.reason,
            }
            for trial in store.trials(number)
        ],
    }


def _subjects() -> dict[str, Any]:
    from assay import programs

    return {
        "subjects": [
            {
                "subject": entry["name"],
                "structure": entry["structure"],
                "max_threads": entry["max_threads"],
                "keys": list(dict.fromkeys(key for key, _ in entry["types"])),
                "values": list(dict.fromkeys(value for _, value in entry["types"])),
                "operations": entry["operations"],
                "description": entry["description"],
            }
            for entry in programs.listing(programs.find("assay-trial"))
        ]
    }


def _print_listed(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of what is listed, with a column for each factor in the place of `levels`."""
    factors = list(dict.fromkeys(factor for entry in entries for factor in entry.get("levels", ())))
    rows: list[dict[str, Any]] = []
    for entry in entries:
        rows.append({})
        for name, value in entry.items():
            if name == "levels":
                # A factor's column keeps its name whatever it is called, so that of a trial's own gives way.
                rows[-1] |= {f"factor {key}" if key in entry else key: value.get(key) for key in factors}
            elif isinstance(value, datetime):
                rows[-1][name] = value.isoformat(" ", "seconds")
            else:
                rows[-1][name.replace("_", " ")] = " ".join(value) if isinstance(value, list) else value
    if rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows])
    else:
        typer.echo("none yet")


def _json_value(value: Any) -> Any:
    """Return a value of SQLite as JSON can express it: an infinity as its name, a BLOB in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _outline(value: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield lines of `name: value`, with what is inside a value indented below it, but for buckets."""
    indent = "  " * depth
    for name, inner in value.items():
        label = f"{indent}{printable(name)}:"
        if isinstance(inner, Mapping) and inner:
            yield label
            yield from _outline(inner, depth + 1)
        elif isinstance(inner, list) and any(isinstance(item, Mapping) for item in inner):
            yield label
            yield from _outline({str(number): item for number, item in enumerate(inner)}, depth + 1)
        elif name == "buckets" and isinstance(inner, list) and inner and isinstance(inner[0], list):
            yield f"{label} {len(inner)}, which --json shows"
        elif isinstance(inner, str) and "\n" in inner:
            yield label
            yield from (f"{indent}  {printable(line)}" for line in inner.removesuffix("\n").split("\n"))
        else:
            text = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
            yield f"{label} {printable(text)}".rstrip()
