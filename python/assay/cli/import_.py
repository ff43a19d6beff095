"""`assay store import`: what another tool measured, as a campaign beside ours."""

import gc
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.invocation import invocation
from assay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, print_json, print_table
from assay.words import printable, shortened, storable

if TYPE_CHECKING:
    from assay.foreign import ForeignRun
    from assay.report.foreign import ForeignReport
    from assay.store.imported import Imported

WIDTH = 80
LINES_AT_MOST = 10
"""Benchmarks that a screen shows; `assay report --verbose` shows all."""


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
    from assay.audit import audit_foreign
    from assay.report.foreign import gather_foreign
    from assay.store import Store

    gc.freeze()  # else each collection visits all that is loaded: about a tenth of the time
    context.call_on_close(gc.unfreeze)
    runs, refused = _read(files)
    with Store.open(store) as opened:
        held = {origin.sha256: summary.id for summary in opened.campaigns() if (origin := summary.imported)}
        reports = []
        audited = [audit_foreign(run) for run, _ in runs]  # before anything is written
        for (run, origin), findings in zip(runs, audited, strict=True):
            known = held.get(origin.sha256)
            if known is not None:
                typer.echo(f"{origin.file} is campaign {known} already", err=True)
            number = opened.import_run(run, origin) if known is None else known
            held[origin.sha256] = number
            reports.append(gather_foreign(opened, number, run, findings))
            opened.write_findings(number, findings)
    for run, origin in runs:
        for message in run.left_out:
            typer.echo(f"left out of {origin.file}: {printable(message)}", err=True)
    if as_json:
        print_json(
            {"campaigns": [as_object(report) for report in reports], "refused": refused, "store": store}
        )
    else:
        for report in reports:
            print_foreign(report)
        typer.echo(f"next: {invocation('report', '--campaign', str(reports[-1].campaign.id), store=store)}")
    if refused:
        raise typer.Exit(2)


def _read(files: list[Path]) -> "tuple[list[tuple[ForeignRun, Imported]], list[str]]":
    """Return the results in files that can be read, and the errors of the others, which it prints.

    Raises:
        AssayError: none can be read.
    """
    import hashlib

    from assay.errors import AssayError
    from assay.foreign import files_of, read
    from assay.store.imported import Imported

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


def print_foreign(report: "ForeignReport", *, verbose: bool = False) -> None:
    """Print what another tool measured and what it lacks: what fits a screen, or with `verbose` all."""
    from rich.console import Console
    from rich.text import Text

    from assay.report.terminal import SEVERITY_STYLES, print_finding
    from assay.report.trust import short
    from assay.words import counted

    origin, campaign, console = report.origin, report.campaign, Console()
    lines = list(report.lines if verbose else islice(report.main_lines, LINES_AT_MOST))
    tool = f"{origin.tool} {origin.version}".strip()
    count = counted(report.run.benchmarks, "benchmark")
    typer.echo(printable(f"{tool}: {count} (campaign {campaign.id}, foreign: no verdict)"))
    cells = [
        [
            "failed" if line.reason else line.value_text,
            line.spread_text,
            f"{line.samples or 'none'} in {counted(line.processes, 'process', 'processes')}",
        ]
        for line in lines
    ]
    columns = ["value", "lowest to highest", "samples"]
    if verbose:
        rows = [[line.benchmark, line.metric, *row] for line, row in zip(lines, cells, strict=True)]
        print_table(["benchmark", "metric", *columns], rows)
    else:
        taken = sum(2 + max(map(len, column)) for column in zip(columns, *cells, strict=True))
        names = [shortened(line.benchmark, WIDTH - taken - len("...")) for line in lines]
        print_table(["benchmark", *columns], [[name, *row] for name, row in zip(names, cells, strict=True)])
    more = len(report.run.benchmarks) - len(lines)
    if more > 0 and not verbose:
        typer.echo(f"and {counted(more, 'more benchmark')}")
    for finding in report.findings:
        if verbose:
            print_finding(finding, console)
            continue
        text = Text(f"  {finding.severity} ", SEVERITY_STYLES[finding.severity])
        text.append(printable(short(finding, WIDTH - text.cell_len)), "not bold default")
        text.truncate(WIDTH, overflow="ellipsis")
        console.print(text)


def as_object(report: "ForeignReport") -> dict[str, Any]:
    """Return what `docs/reference/json.md` describes of a campaign that was imported."""
    return {
        "campaign": report.campaign.id,
        "experiment": report.campaign.experiment,
        "foreign": report.origin,
        "host": report.run.host,
        "options": report.run.options,
        "left_out": report.run.left_out,
        "randomised": report.run.randomised,
        "findings": report.findings,
        "benchmarks": [
            {
                "name": benchmark.name,
                "parameters": benchmark.parameters,
                "processes": benchmark.processes,
                "failure": benchmark.failure,
                "unit_recorded": benchmark.unit_recorded,
                "measures": benchmark.measures,
                "map_runs": benchmark.map_runs,
            }
            for benchmark in report.run.benchmarks
        ],
    }
