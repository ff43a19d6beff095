"""`assay store`: what is damaged in a store, and how a campaign leaves it."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    named_store,
    print_json,
    whole,
)
from assay.errors import AssayError
from assay.words import counted, listed, printable, shortened

if TYPE_CHECKING:
    from assay.store import StoreName
else:
    StoreName = Any  # as in `options`


def check(store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """Read every row of the store, and say what is damaged.

    A campaign of which a row is not as Assay writes it is damaged; no other campaign suffers from that. The
    exit code is 1 if anything is damaged.

    Example: `assay store check`
    """
    from assay.report.imported import gather_imported
    from assay.store import Store

    with Store.open(store, create=False) as opened:
        damages = list(dict.fromkeys(opened.damages(partial(gather_imported, opened))))
        count = len(opened.campaigns(damaged=True))
    if as_json:
        print_json({"damages": [{"campaign": campaign, "reason": reason} for campaign, reason in damages]})
    for campaign, reason in () if as_json else damages:
        place = "the file" if campaign is None else f"campaign {campaign}"
        typer.echo(printable(f"{place} is damaged: {shortened(reason, 200)}"))
    campaigns = sorted({campaign for campaign, _ in damages if campaign is not None})
    if not as_json:
        for campaign in campaigns:
            typer.echo(f"remedy: restore {store} from a copy, or: assay store remove {campaign}")
        if not damages:
            typer.echo(f"nothing is damaged in {counted(count, 'campaign')}")
        elif not campaigns:
            typer.echo(f"remedy: restore {store} from a copy, or: sqlite3 {store} .recover | sqlite3 NEW")
    raise typer.Exit(1 if damages else 0)


def copy(
    source: Annotated[StoreName, typer.Argument(parser=named_store, metavar="FROM", hidden=True)],
    target: Annotated[StoreName, typer.Argument(parser=named_store, metavar="TO", hidden=True)],
) -> None:
    """Copy a store to another place, which is a file or on a server.

    FROM and TO are files or URLs, as --store takes them. TO is made if it is missing, and holds no campaign
    yet. All is copied as it is at this moment, or nothing; campaigns and trials keep their numbers.

    Example: `assay store copy results/assay.sqlite postgresql://me@lab/assay`
    """
    from assay.store.copy import copy_store

    counts = copy_store(source, target)
    campaigns, trials = counted(counts["campaign"], "campaign"), counted(counts["trial"], "trial")
    typer.echo(f"copied {campaigns} with {trials} from {source} to {target}")


def remove(
    campaign: Annotated[int, typer.Argument(parser=whole(), metavar="N", hidden=True)],
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Remove a campaign from the store, for good.

    N is its number, as `assay store list` shows it. Its plan, trials, records, decisions, findings and
    verdicts are deleted, whether they can be read or not. It asks before, unless there is --yes.

    Example: `assay store remove 3`
    """
    from assay.store import Store, runner_lock

    with Store.open(store, create=False) as opened, runner_lock(store):
        known = {summary.id: summary for summary in opened.campaigns(damaged=True)}
        what = f"campaign {campaign}"
        if campaign in known:
            summary = known[campaign]
            what += f" of {printable(shortened(summary.experiment)) or 'an unknown experiment'}, begun"
            what += f" {summary.started_at:%Y-%m-%d %H:%M}, with {counted(summary.planned, 'planned trial')}"
        if not yes:
            if not sys.stdin.isatty():
                raise AssayError(f"{what} is not removed without a question: add --yes, or use a terminal")
            if not typer.confirm(f"Remove {what}, from {store}? Nothing brings it back.", err=True):
                typer.echo("Nothing was removed.")
                raise typer.Exit(1)
        counts = opened.remove(campaign)
    rows = [f"{number} of {table}" for table, number in counts.items() if number]
    typer.echo(f"removed {what}; rows: {listed(rows)}")
