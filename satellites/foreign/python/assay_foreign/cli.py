"""`assay store import` and `export`: what another tool measured as a campaign, and a campaign as files."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.invocation import invocation
from assay.cli.options import DEFAULT_STORE, CampaignOption, JsonOption, StoreOption, print_json
from assay.errors import AssayError
from assay.files import STANDARD_OUTPUT, write
from assay.words import printable, storable

if TYPE_CHECKING:
    from assay.store.types import Imported
    from assay_foreign.types import ForeignRun


Format = Literal["csv", "parquet", "markdown", "svg", "png", "pdf", "google-benchmark", "hyperfine"]


def import_(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", hidden=True)],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Store what another tool measured, without a verdict.

    FILE is JSON of Google Benchmark (--benchmark_out), hyperfine (--export-json), pyperf (-o) or JMH (-rf
    json), XML of Catch2 (--reporter xml), the folder target/criterion of Criterion.rs, or what Setbench,
    Synchrobench or ASCYLIB printed; each may be compressed by gzip. Several may be named: one that cannot be
    read is named with the reason, the others are imported, and the exit code is 2.

    The audit says what the results lack, and a page shows them beside what Assay measured. They have no
    verdict and are compared with nothing. A file that is in the store already is not imported again.

    Example: `assay store import build/results.json`, `assay store import target/criterion`
    """
    from assay.store import Store
    from assay_foreign.audit import Survey, audit_foreign
    from assay_foreign.campaigns import import_run
    from assay_foreign.report import gather_foreign

    gc.freeze()  # else each collection visits all that is loaded: about a tenth of the time
    context.call_on_close(gc.unfreeze)
    runs, refused = _read(files)
    with Store.open(store) as opened:
        held = {origin.sha256: summary.id for summary in opened.campaigns() if (origin := summary.imported)}
        reports = []
        for run, origin in runs:
            number = held.get(origin.sha256)
            if number is None:
                survey = Survey(run)
                number = import_run(opened, survey.watched(), origin)
                findings = survey.findings()
            else:
                typer.echo(f"{origin.file} is campaign {number} already", err=True)
                findings = audit_foreign(run)
            held[origin.sha256] = number
            reports.append(gather_foreign(opened, number, run, findings))
            opened.write_findings(number, findings)
    for run, origin in runs:
        for message in run.left_out:
            typer.echo(f"left out of {origin.file}: {printable(message)}", err=True)
    if as_json:
        print_json(
            {"campaigns": [report.as_object() for report in reports], "refused": refused, "store": str(store)}
        )
    else:
        for report in reports:
            report.print()
        typer.echo(f"next: {invocation('report', '--campaign', str(reports[-1].campaign.id), store=store)}")
    if refused:
        raise typer.Exit(2)


def _read(files: list[Path]) -> "tuple[list[tuple[ForeignRun, Imported]], list[str]]":
    """Return the results in files that can be read, and the errors of the others, which it prints.

    Raises:
        AssayError: none can be read.
    """
    import hashlib

    from assay.store.types import Imported
    from assay_foreign.read import files_of, read

    runs, refused = [], []
    for file in files:
        try:
            run = read(file)
        except AssayError as error:
            refused.append(str(error))
            continue
        digest = hashlib.sha256()
        for part in files_of(file):
            with part.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
        runs.append((run, Imported(run.tool, run.version, storable(str(file)), digest.hexdigest())))
    for message in refused if runs else refused[:-1]:
        typer.echo(f"error: {printable(message)}", err=True)
    if not runs:
        raise AssayError(refused[-1])
    return runs, refused


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
