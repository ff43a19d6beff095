"""`assay report`: what a campaign says."""

import json
from dataclasses import asdict
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
    as_json: JsonOption = False,
) -> None:
    """Print the findings and verdicts of a campaign, and write its page.

    With --json it prints the analysis and the findings, and writes a page only where --output says so.

    Example: `assay report 2`
    """
    from assay.report import gather, print_verdicts, write_page
    from assay.store import Store

    with Store.open(store, create=False) as opened:
        number = opened.campaign(campaign).id
        if as_json:
            gathered = gather(opened, number)
            if output is not None:
                write_page(opened, number, output)
            answer = {
                "campaign": number,
                "experiment": gathered.campaign.experiment,
                "question": gathered.campaign.question,
                "seed": gathered.campaign.seed,
                "planned": gathered.campaign.planned,
                "counts": gathered.campaign.counts,
                "findings": [asdict(finding) for finding in gathered.findings],
                "analysis": asdict(gathered.analysis),
            }
            typer.echo(json.dumps(answer, indent=2))
            return
        from rich.console import Console

        print_verdicts(opened, number, Console())
        typer.echo(f"page: {write_page(opened, number, output)}")
