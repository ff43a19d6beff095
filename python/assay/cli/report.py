"""`assay report`: what a campaign says."""

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption


def report(
    campaign: Annotated[
        int | None, typer.Argument(help="Number of the campaign. Default: the one begun last.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Folder for the page. Default: report/campaign-N beside the store."),
    ] = None,
    json_wanted: JsonOption = False,
) -> None:
    """Print the findings and verdicts of a campaign, and write its page.

    With --json it prints the analysis and the findings, and writes a page only where --output says so.

    Example: `assay report 2`
    """
    from assay.report import as_json, gather, print_verdicts, write_page
    from assay.store import Store

    with Store.open(store, create=False) as opened:
        gathered = gather(opened, opened.campaign(campaign).id)
        if json_wanted:
            if output is not None:
                write_page(gathered, opened, output)
            typer.echo(json.dumps(as_json(gathered), indent=2, allow_nan=False))
            return
        from rich.console import Console

        print_verdicts(gathered, Console())
        typer.echo(f"page: {write_page(gathered, opened, output)}")
