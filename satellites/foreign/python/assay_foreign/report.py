"""What another tool measured: its numbers, what they lack, and beside them what Assay did; no verdict."""

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import typer
from msgspec import to_builtins
from rich.console import Console
from rich.text import Text

from assay.analysis import Interval
from assay.analysis.intervals import median_interval
from assay.analysis.pairs import condition_key
from assay.cli.options import print_table
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.findings import Finding
from assay.plan.types import Level
from assay.report.metrics import unit_in
from assay.report.render import render
from assay.report.terminal import SEVERITY_STYLES, print_finding
from assay.report.trust import short
from assay.store import Store, UnreadableError
from assay.store.types import CampaignSummary, Imported, representative
from assay.words import SECONDS, condition_name, counted, in_unit, printable, shared, shortened
from assay_foreign.audit import FOREIGN_RULES, audit_foreign
from assay_foreign.campaigns import stored_run
from assay_foreign.trials import value_of
from assay_foreign.types import Benchmark, ForeignRun, Measure

TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 80
LINES_AT_MOST = 10
"""Benchmarks that a screen shows; `assay report --verbose` shows all."""

BESIDE_AT_MOST = 3
"""Campaigns of ours that are charted beside: the latest ones with the same unit."""


@dataclass(frozen=True)
class BenchmarkMeasure:
    """One measure of a benchmark, as people read it.

    Attributes:
        value: the median over the processes, or what the tool says where it keeps no samples.
        spread: the lowest and the highest process, or the tool's interval; empty where nothing tells.
        samples, processes: how many.
        reason: why it does not count.
    """

    benchmark: str
    metric: str
    value: float
    unit: str
    spread: tuple[float, float] | None
    samples: int
    processes: int
    reason: str

    @property
    def value_text(self) -> str:
        """The value with its unit."""
        return in_unit(self.value, self.unit)

    @property
    def spread_text(self) -> str:
        """The spread with its unit."""
        return "-" if self.spread is None else " to ".join(in_unit(end, self.unit) for end in self.spread)


@dataclass(frozen=True)
class OwnCondition:
    """A condition of ours: its name, the values of its valid trials, its median and the interval of that."""

    name: str
    values: Sequence[float]
    median: float
    interval: Interval | None


@dataclass(frozen=True)
class ReferenceCampaign:
    """A campaign of ours in the unit of another tool's results.

    Attributes:
        shared: the levels that all of its conditions have, which their names leave out.
        mark: in which ways it misleads on purpose; empty of an honest one.
    """

    campaign: int
    experiment: str
    metric: str
    unit: str
    conditions: Sequence[OwnCondition]
    shared: Mapping[str, Level] = field(default_factory=dict)
    mark: str = ""


@dataclass(frozen=True)
class ForeignReport:
    """A campaign that another tool measured, with what the audit says of it.

    Attributes:
        origin: the tool and the file.
        store: holds it, and what Assay measured.
    """

    campaign: CampaignSummary
    store: Store
    origin: Imported
    run: ForeignRun
    findings: list[Finding]

    @property
    def lines(self) -> Iterator[BenchmarkMeasure]:
        """Every measure, in the order of the file."""
        return (
            _line(benchmark, measure) for benchmark in self.run.benchmarks for measure in benchmark.measures
        )

    @property
    def main_lines(self) -> Iterator[BenchmarkMeasure]:
        """The first measure of each benchmark, at which the tool's own comparison looks first."""
        return (
            _line(benchmark, benchmark.measures[0]) for benchmark in self.run.benchmarks if benchmark.measures
        )

    @property
    def failed(self) -> list[Benchmark]:
        """The benchmarks that failed."""
        return [benchmark for benchmark in self.run.benchmarks if benchmark.failure]

    def print(self, *, verbose: bool = False) -> None:
        """Print what another tool measured and what it lacks: what fits a screen, or with `verbose` all."""
        origin, campaign, console = self.origin, self.campaign, Console()
        lines = list(self.lines if verbose else islice(self.main_lines, LINES_AT_MOST))
        tool = f"{origin.tool} {origin.version}".strip()
        count = counted(self.run.benchmarks, "benchmark")
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
            print_table(
                ["benchmark", *columns], [[name, *row] for name, row in zip(names, cells, strict=True)]
            )
        more = len(self.run.benchmarks) - len(lines)
        if more > 0 and not verbose:
            typer.echo(f"and {counted(more, 'more benchmark')}")
        for finding in self.findings:
            if verbose:
                print_finding(finding, console)
                continue
            text = Text(f"  {finding.severity} ", SEVERITY_STYLES[finding.severity])
            text.append(printable(short(finding, WIDTH - text.cell_len)), "not bold default")
            text.truncate(WIDTH, overflow="ellipsis")
            console.print(text)

    def as_object(self) -> dict[str, Any]:
        """Return what `docs/reference/json.md` describes of a campaign that was imported."""
        return {
            "campaign": self.campaign.id,
            "experiment": self.campaign.experiment,
            "foreign": self.origin,
            "host": self.run.host,
            "options": self.run.options,
            "left_out": self.run.left_out,
            "randomised": self.run.randomised,
            "findings": self.findings,
            "benchmarks": [
                {
                    "name": benchmark.name,
                    "parameters": benchmark.parameters,
                    "processes": benchmark.processes,
                    "failure": benchmark.failure,
                    "unit_recorded": benchmark.unit_recorded,
                    "measures": to_builtins(benchmark.measures),
                    "map_runs": to_builtins(benchmark.map_runs),
                }
                for benchmark in self.run.benchmarks
            ],
        }

    def page(self, guide: Collection[str]) -> str:
        """Return its page; the rules in `guide` have a page of their own in `../guide/`."""
        from assay.report import charts  # noqa: PLC0415 - slow to load
        from assay.report.page import LISTED_AT_MOST  # noqa: PLC0415
        from assay_foreign.beside import figures_beside  # noqa: PLC0415

        figures = figures_beside(self.origin.tool, self.run, [*_ours(self.store, self.run)])
        where = f"--campaign {self.campaign.id} --store {shlex.quote(str(self.store.name.absolute()))}"
        return render(
            "foreign.html",
            TEMPLATES,
            root="../",
            report=self,
            rules={rule.id: rule for rule in FOREIGN_RULES},
            guide=guide,
            listed_at_most=LISTED_AT_MOST,
            figures=figures,
            commands=[
                ("this page", f"assay report {where}"),
                ("the trials", f"assay store list trials {where}"),
            ],
            **charts.page_content(figures),
        )


def gather_foreign(
    store: Store, campaign_id: int, run: ForeignRun | None = None, findings: list[Finding] | None = None
) -> ForeignReport:
    """Read and audit a campaign that was imported, unless its run and the findings are at hand.

    Raises:
        AssayError: there is no such campaign, or Assay ran it.
    """
    campaign = store.campaign(campaign_id)
    origin = campaign.imported
    if origin is None:
        raise AssayError(f"campaign {campaign_id} was not imported; see it with `assay report`")
    run = run or stored_run(store, campaign_id)
    findings = audit_foreign(run) if findings is None else findings
    return ForeignReport(campaign, store, origin, run, findings)


def ours_beside(store: Store) -> list[CampaignSummary]:
    """Return the latest campaign of each experiment that Assay ran, the newest first."""
    latest = {
        campaign.experiment: campaign
        for campaign in store.campaigns()
        if campaign.imported is None and campaign.counts.get("valid")
    }
    return sorted(latest.values(), key=lambda campaign: -campaign.id)


def common_unit(experiment: Experiment, metric: str) -> tuple[str, float] | None:
    """Return the unit that other tools' results have for such a metric, and how many of it are one of ours.

    None where they have none.
    """
    unit = unit_in(experiment, metric)
    if unit in SECONDS:
        return "ns", SECONDS[unit] * 1e9
    return (unit, 1.0) if unit in ("op/s", "bytes") else None


def _line(benchmark: Benchmark, measure: Measure) -> BenchmarkMeasure:
    summary = measure.summary
    values = [value_of(measure, process) for process in range(len(measure.samples))]
    samples = [sample for process in measure.samples for sample in process]
    spread = None
    if summary is not None and summary.low is not None and summary.high is not None:
        spread = (summary.low, summary.high)
    elif len(samples) > 1:
        spread = (min(samples), max(samples))
    return BenchmarkMeasure(
        benchmark.title,
        measure.metric,
        median(values) if summary is None else summary.value,
        measure.unit,
        spread,
        len(samples),
        benchmark.processes,
        benchmark.failure,
    )


def _ours(store: Store, run: ForeignRun) -> Iterator[ReferenceCampaign]:
    """Yield the latest campaigns of ours whose main metric has a unit of the run's, as medians in it."""
    found = 0
    has_unit = cache(
        lambda unit: any(measure.unit == unit for of in run.benchmarks for measure in of.measures)
    )
    for campaign in ours_beside(store):
        try:
            experiment = store.experiment(campaign.id)
            metric = experiment.comparison.metric
            common = common_unit(experiment, metric)
            if experiment.varied or common is None or not has_unit(common[0]):
                continue
            beside = _beside(store, campaign, experiment, common)
        except UnreadableError:
            continue
        yield beside
        found += 1
        if found == BESIDE_AT_MOST:
            return


def _beside(
    store: Store, campaign: CampaignSummary, experiment: Experiment, common: tuple[str, float]
) -> ReferenceCampaign:
    unit, factor = common
    metric = experiment.comparison.metric
    valid = [trial for trial in store.trials(campaign.id) if trial.status == "valid"]
    values: dict[tuple[Level, ...], list[float]] = defaultdict(list)
    for trial in representative(valid):
        if metric in trial.metrics:
            values[condition_key(trial.levels, experiment)].append(factor * trial.metrics[metric])
    every = [levels for levels in experiment.conditions() if condition_key(levels, experiment) in values]
    common_levels = shared(every) if len(every) > 1 else {}
    conditions = []
    for levels in every:
        of_condition = values[condition_key(levels, experiment)]
        own = {name: level for name, level in levels.items() if name not in common_levels}
        conditions.append(
            OwnCondition(
                condition_name(own), of_condition, median(of_condition), median_interval(of_condition)
            )
        )
    return ReferenceCampaign(
        campaign.id, campaign.experiment, metric, unit, conditions, common_levels, experiment.mark
    )
