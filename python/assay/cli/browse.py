"""`assay store list`, `assay store show`, `assay store query`: what is in the store."""

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    CampaignOption,
    JsonOption,
    StoreOption,
    campaign_option,
    print_json,
    print_json_list,
    print_long_table,
    print_table,
    whole,
)
from assay.cli.subjects import Structure, listed_subjects, print_subjects
from assay.cli.trial import outline, summary
from assay.errors import AssayError
from assay.words import QUOTED_AT_MOST, counted, printable, shortened

if TYPE_CHECKING:
    from assay.store import Store, StoreName
    from assay.store.types import CampaignSummary

QUERY_BYTES = 2**31
"""The most memory that `assay store query` may use; with more, the system might end other programs too."""


def list_(
    what: Annotated[
        Literal["campaigns", "trials", "subjects"],
        typer.Argument(metavar="WHAT", hidden=True),
    ] = "campaigns",
    campaign: CampaignOption = None,
    *,
    ours: Annotated[bool, typer.Option("--ours", help="Of subjects: only Assay's own maps.")] = False,
    structure: Annotated[
        Structure | None, typer.Option(metavar="KIND", help="Of subjects: only `map`, `multimap` or `queue`.")
    ] = None,
    operations: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="OPERATION",
            help="Of subjects: only those with it, as `range`. May be repeated.",
        ),
    ] = None,
    variants: Annotated[
        bool, typer.Option("--variants", help="Of subjects: also variants that serve one experiment.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Of subjects: what each can hold and do.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """List campaigns, the trials of one, or what can be measured.

    WHAT is campaigns, trials or subjects. Default: campaigns. With --json, subjects are all those that the
    options --ours, --structure and --with leave, variants too.

    Example: `assay store list trials --campaign 2`, `assay store list subjects --with range`
    """
    if campaign is not None and what != "trials":
        raise AssayError(f"--campaign: belongs to `assay store list trials`; leave it out to list {what}")
    chosen = {"--ours": ours, "--structure": structure, "--with": operations, "--variants": variants}
    for option, value in (chosen | {"--verbose": verbose}).items():
        if value and what != "subjects":
            raise AssayError(f"{option}: belongs to `assay store list subjects`; leave it out to list {what}")
    if what == "subjects":
        from assay import programs

        entries = programs.listing(programs.find("assay-trial"))
        subjects = listed_subjects(entries, ours=ours, structure=structure, operations=operations or ())
        if as_json:
            print_json({"subjects": subjects})
        else:
            print_subjects(subjects, variants=variants, verbose=verbose)
        return
    with _open(store) as opened:
        about: dict[str, Any] = {}
        rows: Callable[[], Iterable[dict[str, Any]]]
        if what == "campaigns":
            listed = _campaigns(opened)
            rows = lambda: listed  # noqa: E731 - as `partial` below
        else:
            about = {"campaign": opened.campaign(campaign).id}
            rows = partial(_trials, opened, about["campaign"])
        if as_json:
            deque(rows(), maxlen=0)  # what is damaged is found before anything is printed
            print_json_list(about, what, rows())
        else:
            _print_listed(rows)


def show(
    trial: Annotated[int, typer.Argument(parser=whole(), metavar="TRIAL", hidden=True)],
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the whole record.")] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Show what one trial was and measured.

    TRIAL is its number, as `assay store list trials` shows it. It fits a screen; --verbose shows the
    whole record, and only --json has the buckets of its histograms.

    Example: `assay store show 17`
    """
    from assay.store import UnreadableError

    with _open(store) as opened:
        record = opened.record_of(trial)
        kinds = opened.campaign(record["campaign"]).host.get("subjects", {})
        compared: tuple[str, ...] = ()
        with suppress(UnreadableError):
            comparison = opened.experiment(record["campaign"]).comparison
            compared = (comparison.metric, *comparison.also)
    if as_json:
        print_json(record)
        return
    lines = outline(record) if verbose else summary(record, compared)
    typer.echo("\n".join(lines))
    if not verbose:
        typer.echo(f"all of it: {invocation('store', 'show', str(trial), '--verbose', store=store)}")
    subject = record["request"].get("subject", "")
    if record["status"] != "valid" and kinds.get(subject) == "map":
        typer.echo(f"look for the defect: {invocation('check', subject)}")


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", hidden=True)],
    campaign: Annotated[int | None, campaign_option("every campaign of the experiment run last")] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Ask the store in SQL.

    SQL is one query; it cannot change the store. The view `trials` has a column for each factor and metric
    of an experiment. It holds every campaign of the experiment that was run last (the column `campaign` tells
    them apart), or only the campaign that --campaign names. Every experiment also has a view of its own name.
    `median(x)` and `quantile(x, p)` are there beside SQLite's functions. A metric is NULL unless its trial
    is valid.

    Example: `assay store query "select subject, threads, median(throughput) from trials group by 1, 2"`
    """
    import resource

    with _open(store) as opened:
        unlimited = limit_memory()
        try:
            columns, rows = opened.query(sql, campaign=campaign)
            if not rows and (found := _other_kind(opened, sql, campaign)):
                typer.echo(f"no row; {found}", err=True)
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


_QUOTED_NUMBER = re.compile(r"'(-?\d+(?:\.\d+)?|true|false)'")
_PLAIN_NUMBER = re.compile(r"(?<![\w'.])(-?\d+(?:\.\d+)?)(?![\w'.])")


def _other_kind(store: "Store", sql: str, campaign: int | None) -> str:
    """Say if a query would find rows with its numbers written as texts, or the other way round.

    SQL never finds 1000000 equal to '1000000', and which of them a level is, the user need not know.
    """
    for written, as_other, advice in (
        (_QUOTED_NUMBER, r"\1", "without quotes"),
        (_PLAIN_NUMBER, r"'\1'", "in quotes"),
    ):
        other = written.sub(as_other, sql)
        if other != sql:
            with suppress(AssayError):
                if rows := store.query(other, campaign=campaign)[1]:
                    return f"with numbers {advice} the query finds {counted(rows, 'row')}: {printable(other)}"
    return ""


def limit_memory() -> tuple[int, int]:
    """Give this process at most `QUERY_BYTES` of memory, and return the limits that it had."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = [limit for limit in (*before, QUERY_BYTES) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(most), before[1]))
    return before


def _open(path: "StoreName") -> "Store":
    from assay.store import Store

    return Store.open(path, create=False)


def _campaigns(store: "Store") -> list[dict[str, Any]]:
    from assay.plan.types import Status

    return [
        {
            "campaign": campaign.id,
            "experiment": campaign.experiment,
            "started": None if campaign.damage else campaign.started_at,
            "planned": campaign.planned,
            "ended": campaign.ended,
            **{status: campaign.counts.get(status, 0) for status in get_args(Status)},
            "state": _state(campaign),
            "foreign": origin.tool if (origin := campaign.imported) else None,
        }
        for campaign in store.campaigns(damaged=True)
    ]


def _state(campaign: "CampaignSummary") -> str:
    if campaign.damage:
        return f"damaged: {shortened(campaign.damage)}"
    if campaign.imported:
        return f"foreign, of {campaign.imported.tool}"
    if campaign.stopped:
        return f"finished early: {campaign.stopped}"
    return "finished" if campaign.finished else "unfinished"


def _trials(store: "Store", number: int) -> Iterator[dict[str, Any]]:
    return (
        {
            "trial": trial.id,
            **{name: getattr(trial, name) for name in ("block", "group", "levels", "status", "wall_s")},
            "reason": trial.reason,
        }
        for trial in store.each_trial(number)
    )


def _print_listed(entries: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
    """Print a table of what is listed, with a column for each factor in the place of `levels`."""
    factors = list(dict.fromkeys(factor for entry in entries() for factor in entry.get("levels", ())))

    def rows() -> Iterator[dict[str, Any]]:
        for entry in entries():
            row: dict[str, Any] = {}
            for name, value in entry.items():
                if name == "levels":
                    # A factor's column keeps its name, so that of a trial's own gives way.
                    row |= {f"factor {key}" if key in entry else key: value.get(key) for key in factors}
                elif isinstance(value, datetime):
                    row[name] = value.isoformat(" ", "seconds")
                elif name != "foreign":
                    row[name.replace("_", " ")] = value
            yield row

    if first := next(rows(), None):
        # A tool that was imported may have given names of any length.
        print_long_table([*map(_short, first)], lambda: ([*map(_short, row.values())] for row in rows()))
    else:
        typer.echo("none yet")


def _short(value: Any) -> Any:
    return shortened(value, QUOTED_AT_MOST) if isinstance(value, str) else value


def _json_value(value: Any) -> Any:
    """Return a value of SQLite as JSON can express it: an infinity as its name, a BLOB in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
