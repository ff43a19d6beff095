"""`assay store export`: a campaign's tables for other programs, and its charts for a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from assay.cli.options import DEFAULT_STORE, CampaignOption, StoreOption
from assay.errors import AssayError
from assay.files import STANDARD_OUTPUT, write
from assay.satellites import added

FORMATS = ("csv", "parquet", "markdown", "svg", "png", "pdf")
if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[(*FORMATS, *added("assay.exports"))]


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

    google-benchmark and hyperfine (of the satellite assay-foreign) are the JSON of those tools, with a time
    for each valid trial, which their own scripts read; neither has a place for verdicts.

    Example: `assay store export parquet --output data`
    """
    from assay import extras
    from assay.store import Store

    if chart and form not in ("svg", "png", "pdf"):
        raise AssayError(f"--chart is for svg, png and pdf; {form} has none")
    if form in ("csv", "parquet"):
        if output == STANDARD_OUTPUT:
            raise AssayError(f"--output -: {form} is several files; name a folder")
        extras.require("pandas", f"assay store export {form}")
        if form == "parquet":
            extras.require("pyarrow", "assay store export parquet")
        from assay.frames import Data, write_tables

        with Data(store) as data:
            for file in write_tables(data, campaign, cast(Literal["csv", "parquet"], form), output):
                typer.echo(file)
        return
    if form not in FORMATS:
        with Store.open(store, create=False) as opened:
            text, what = added("assay.exports")[form].load()(opened, opened.campaign(campaign))
        _write_one(output, f"{form}.json", text, what)
        return
    from assay.report import gather

    if form == "markdown":
        from assay.report.markdown import summary

        with Store.open(store, create=False) as opened:
            text = summary(gather(opened, opened.campaign(campaign).id))
        _write_one(output, "summary.md", text)
        return
    if output == STANDARD_OUTPUT:
        raise AssayError(f"--output -: {form} is for files, which may be several; name a folder")
    extras.require("vl_convert", f"assay store export {form}")
    from assay.report.figures import write_figures

    with Store.open(store, create=False) as opened:
        written = write_figures(
            gather(opened, opened.campaign(campaign).id),
            cast(Literal["svg", "png", "pdf"], form),
            output,
            chart or (),
        )
    for file, figure in written:
        typer.echo(f"{file}: {figure.title}{f'. {figure.note}' if figure.note else ''}")


def _write_one(folder: Path, name: str, text: str, what: str = "") -> None:
    """Write the one file that there is, or print it."""
    if folder == STANDARD_OUTPUT:
        write(folder, text)
    else:
        typer.echo(f"{write(folder / name, text)}{f': {what}' if what else ''}")
