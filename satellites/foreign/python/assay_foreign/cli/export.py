"""`assay store export`: a campaign's tables for other programs, and its charts for a paper."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.options import DEFAULT_STORE, CampaignOption, StoreOption
from assay.errors import AssayError
from assay.files import STANDARD_OUTPUT, write

Format = Literal["csv", "parquet", "markdown", "svg", "png", "pdf", "google-benchmark", "hyperfine"]


def export(
    form: Annotated[Format, typer.Argument(metavar="FORMAT", hidden=True)],
    campaign: CampaignOption = None,
    output: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder for the files; -: print the one of a summary or tool."),
    ] = Path("export"),
    chart: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Name of a chart, such as estimates-1; may be repeated. Default: all."
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write tables, a summary or charts of a campaign as files.

    FORMAT is csv or parquet for the tables, which are trials, series, verdicts and findings; markdown for a
    summary that a pull request can quote; or svg, png or pdf for the charts. Each chart is as wide as one
    column of a paper, and the line with its file's name says what it shows.

    google-benchmark and hyperfine are the JSON of those tools, with a time for each valid trial, which their
    own scripts read; neither has a place for verdicts.

    Example: `assay store export parquet --output data`
    """
    from assay import extras
    from assay.report import gather
    from assay.store import Store

    charts = form in ("svg", "png", "pdf")
    if chart and not charts:
        raise AssayError(f"--chart is for svg, png and pdf; {form} has none")
    if output == STANDARD_OUTPUT and (charts or form in ("csv", "parquet")):
        raise AssayError(f"--output -: {form} is for files, which may be several; name a folder")
    if form in ("csv", "parquet"):
        extras.require("pandas", f"assay store export {form}")
        if form == "parquet":
            extras.require("pyarrow", "assay store export parquet")
        from assay_foreign.frames import Data, write_tables

        with Data(store) as data:
            for file in write_tables(data, campaign, form, output):
                typer.echo(file)
        return
    if charts:
        extras.require("vl_convert", f"assay store export {form}")
    with Store.open(store, create=False) as opened:
        summary = opened.campaign(campaign)
        if form in ("svg", "png", "pdf"):
            from assay.report.figures import write_figures

            for file, figure in write_figures(gather(opened, summary.id), form, output, chart or ()):
                typer.echo(f"{file}: {figure.title}{f'. {figure.note}' if figure.note else ''}")
        elif form == "markdown":
            from assay.report.markdown import summary as in_markdown

            _write_one(output, "summary.md", in_markdown(gather(opened, summary.id)))
        else:
            from assay_foreign.export import for_google_benchmark, for_hyperfine

            for_tool = for_hyperfine if form == "hyperfine" else for_google_benchmark
            text, what = for_tool(opened, summary)
            _write_one(output, f"{form}.json", text, what)


def _write_one(folder: Path, name: str, text: str, what: str = "") -> None:
    """Write the one file that there is, or print it."""
    if folder == STANDARD_OUTPUT:
        write(folder, text)
    else:
        typer.echo(f"{write(folder / name, text)}{f': {what}' if what else ''}")
