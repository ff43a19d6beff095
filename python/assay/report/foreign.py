"""What another tool measured: its numbers, what they lack, and beside them what Assay did; no verdict."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median

from assay.analysis import Interval
from assay.analysis.intervals import median_interval
from assay.analysis.pairs import condition_key
from assay.audit import audit_foreign
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.findings import Finding
from assay.foreign import Benchmark, ForeignRun, Measure
from assay.plan.types import Level
from assay.report.metrics import unit_in
from assay.store import Store, UnreadableError
from assay.store.foreign_trials import value_of
from assay.store.imported import Imported
from assay.store.types import CampaignSummary, representative
from assay.words import SECONDS, condition_name, in_unit, shared

BESIDE_AT_MOST = 3
"""Campaigns of ours that are charted beside: the latest ones with the same unit."""


@dataclass(frozen=True)
class Line:
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
class Condition:
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
    conditions: Sequence[Condition]
    shared: Mapping[str, Level] = field(default_factory=dict)
    mark: str = ""


@dataclass(frozen=True)
class ForeignReport:
    """A campaign that another tool measured, with what the audit says of it.

    Attributes:
        origin: the tool and the file.
        ours: campaigns that Assay ran whose main metric has a unit of these results.
    """

    campaign: CampaignSummary
    origin: Imported
    run: ForeignRun
    findings: list[Finding]
    ours: list[ReferenceCampaign]

    @property
    def lines(self) -> Iterator[Line]:
        """Every measure, in the order of the file."""
        return (
            _line(benchmark, measure) for benchmark in self.run.benchmarks for measure in benchmark.measures
        )

    @property
    def main_lines(self) -> Iterator[Line]:
        """The first measure of each benchmark, at which the tool's own comparison looks first."""
        return (
            _line(benchmark, benchmark.measures[0]) for benchmark in self.run.benchmarks if benchmark.measures
        )

    @property
    def failed(self) -> list[Benchmark]:
        """The benchmarks that failed."""
        return [benchmark for benchmark in self.run.benchmarks if benchmark.failure]


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
    run = run or store.foreign_run(campaign_id)
    findings = audit_foreign(run) if findings is None else findings
    return ForeignReport(campaign, origin, run, findings, list(_ours(store, run)))


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


def _line(benchmark: Benchmark, measure: Measure) -> Line:
    summary = measure.summary
    values = [value_of(measure, process) for process in range(len(measure.samples))]
    samples = [sample for process in measure.samples for sample in process]
    spread = None
    if summary is not None and summary.low is not None and summary.high is not None:
        spread = (summary.low, summary.high)
    elif len(samples) > 1:
        spread = (min(samples), max(samples))
    return Line(
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
            Condition(condition_name(own), of_condition, median(of_condition), median_interval(of_condition))
        )
    return ReferenceCampaign(
        campaign.id, campaign.experiment, metric, unit, conditions, common_levels, experiment.mark
    )
