"""`assay export`: a campaign's charts as files for a paper."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.browse import DEFAULT_STORE, StoreOption


def export(
    form: Annotated[
        Literal["svg", "png", "pdf"],
        typer.Argument(metavar="FORMAT", help="svg, png, pdf: the charts."),
    ],
    campaign: Annotated[
        int | None, typer.Argument(help="Number of the campaign. Default: the one begun last.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", help="Folder for the files.")] = Path("export"),
    chart: Annotated[
        list[str] | None,
        typer.Option("--chart", help="Name of a chart, such as estimates-1; may be repeated. Default: all."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write the charts of a campaign's report as files.

    Each is as wide as one column of a paper, and prints the name of its file with what it shows.

    Example: `assay export pdf --output figures --chart estimates-1`
    """
    from assay.report import gather
    from assay.report.figures import write_figures
    from assay.store import Store

    with Store.open(store, create=False) as opened:
        gathered = gather(opened, opened.campaign(campaign).id)
    for file, figure in write_figures(gathered, form, output, chart or ()):
        typer.echo(f"{file}: {figure.title}{f'. {figure.note}' if figure.note else ''}")
