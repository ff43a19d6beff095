"""`assay report`: what a campaign says."""

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.browse import DEFAULT_STORE, JsonOption, StoreOption


def report(
    campaign: Annotated[
        int | None, typer.Argument(help="Number of the campaign. Default: every campaign's pages.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Folder for the site. Default: STORE-report beside the store."),
    ] = None,
    json_wanted: JsonOption = False,
) -> None:
    """Print the findings and verdicts of a campaign, and write its pages into the store's site.

    Without a number it prints the campaign begun last, and writes the pages of every campaign that changed.
    With --json it prints the analysis and the findings, and writes pages only where --output says so.

    Example: `assay report 2`
    """
    from assay.report import as_json, gather
    from assay.report.site import write_page, write_site
    from assay.store import Store

    with Store.open(store, create=False) as opened:
        gathered = gather(opened, opened.campaign(campaign).id)

        def write() -> Path:
            if campaign is None:
                return write_site(opened, output, [gathered])
            return write_page(gathered, opened, output)

        if json_wanted:
            if output is not None:
                write()
            typer.echo(json.dumps(as_json(gathered), indent=2, allow_nan=False))
            return
        from rich.console import Console

        from assay.report.terminal import print_report

        print_report(gathered, Console())
        typer.echo(f"page: {write()}")
