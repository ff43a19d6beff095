"""`assay export`: a campaign's tables for other programs, and its charts for a paper."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.options import DEFAULT_STORE, CampaignOption, StoreOption
from assay.errors import AssayError


def export(
    form: Annotated[
        Literal["csv", "parquet", "svg", "png", "pdf"],
        typer.Argument(metavar="FORMAT", help="csv, parquet: the tables. svg, png, pdf: the charts."),
    ],
    campaign: CampaignOption = None,
    output: Annotated[Path, typer.Option("--output", help="Folder for the files.")] = Path("export"),
    chart: Annotated[
        list[str] | None,
        typer.Option("--chart", help="Name of a chart, such as estimates-1; may be repeated. Default: all."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write the tables of a campaign, or the charts of its report, as files.

    The tables are trials, series, verdicts and findings. Each chart is as wide as one column of a paper, and
    the line with its file's name says what it shows.

    Example: `assay export parquet --output data`
    """
    from assay.store import Store

    if form == "csv" or form == "parquet":  # noqa: PLR1714 - mypy understands no set
        from assay.frames import Data, write_tables

        if chart:
            raise AssayError(f"--chart is for svg, png and pdf; {form} has tables only")
        with Data(store) as data:
            for file in write_tables(data, campaign, form, output):
                typer.echo(file)
        return
    from assay.report import gather
    from assay.report.figures import write_figures

    with Store.open(store, create=False) as opened:
        gathered = gather(opened, opened.campaign(campaign).id)
    for file, figure in write_figures(gathered, form, output, chart or ()):
        typer.echo(f"{file}: {figure.title}{f'. {figure.note}' if figure.note else ''}")
