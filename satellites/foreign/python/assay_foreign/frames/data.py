"""The tables that a store has to offer, each as one data frame."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from assay.analysis import Comparison, Estimate
from assay.errors import AssayError
from assay.findings import Finding
from assay.store import Store, StoreName
from assay.store.types import CampaignSummary
from assay.store.views import free_name

if TYPE_CHECKING:
    from assay.report import Report

_CAMPAIGN: Mapping[str, Callable[[CampaignSummary], Any]] = {
    "campaign": lambda campaign: campaign.id,
    **{
        name: attrgetter(name)
        for name in ("experiment", "question", "started_at", "seed", "planned", "ended")
    },
    "valid": lambda campaign: campaign.counts.get("valid", 0),
    "finished": lambda campaign: campaign.finished,
    "host": lambda campaign: campaign.host.get("name"),
}
_ESTIMATE = ("ratio", "difference", "low", "high", "confidence", "p", "verdict", "pairs")
_VERDICT = (
    "metric",
    "level",
    "baseline",
    *_ESTIMATE,
    "p_adjusted",
    "reason",
    "zeros",
    "baseline_zeros",
    "dropped",
    *(f"all_{column}" for column in _ESTIMATE),
    "mark",
)
_IN_MODES = tuple(f"{mode}_{column}" for mode in ("fast", "slow") for column in _ESTIMATE)


class Data:
    """A store that is open for reading. Where a campaign may be named, the default is the one begun last.

    Every method raises AssayError for a campaign or trial that is not there, and once it is closed.
    """

    def __init__(self, name: str | StoreName) -> None:
        self._opened: Store | None = Store.open(name, create=False)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Close the store."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _store(self) -> Store:
        if self._opened is None:
            raise AssayError("these data are closed; open the store again with assay.open")
        return self._opened

    def campaigns(self) -> pd.DataFrame:
        """Return one row for each campaign, the oldest first, indexed by its number."""
        campaigns = self._store.campaigns()
        columns = {name: [value(campaign) for campaign in campaigns] for name, value in _CAMPAIGN.items()}
        return pd.DataFrame(columns).set_index("campaign")

    def trials(self, campaign: int | None = None) -> pd.DataFrame:
        """Return one row for each ended trial, indexed by its number.

        The columns are those of the view `trials` (docs/reference/store.md): a metric is missing unless
        its trial is valid. Times are in UTC.
        """
        columns, rows = self._store.query(
            "select * from trials order by trial", campaign=self._store.campaign(campaign).id
        )
        frame = pd.DataFrame.from_records(rows, columns=columns, index="trial")
        frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True)
        return frame

    def series(self, campaign: int | None = None) -> pd.DataFrame:
        """Return the throughput series of valid trials: trial, thread, start of interval (ms), operations.

        The last interval of a trial may be shorter than the others.
        """
        number = self._store.campaign(campaign).id
        valid = [trial.id for trial in self._store.trials(number) if trial.status == "valid"]
        columns: dict[str, list[float | None]] = {
            name: [] for name in ("trial", "thread", "start_ms", "operations")
        }
        for record in self._store.records_of(valid):
            step = record["request"].get("interval_ms")
            for thread, counted in enumerate(record["result"].get("threads", [])):
                operations = counted["series"]
                columns["trial"] += [record["trial"]] * len(operations)
                columns["thread"] += [thread] * len(operations)
                columns["start_ms"] += [step and step * place for place in range(len(operations))]
                columns["operations"] += operations
        return pd.DataFrame(columns)

    def verdicts(self, campaign: int | None = None) -> pd.DataFrame:
        """Return one row for each comparison, of every compared metric.

        The columns of the context's factors come first; a factor `x` becomes `factor_x` where another column
        has that name. `ratio` to `pairs` are what the verdict rests on;
        `all_ratio`, ... are without exclusions; `fast_ratio`, ... by mode of the host, where it has two.
        `mark` says of what misleads on purpose in which ways it does; of honest experiments it is missing.
        """
        report = self._report(campaign)
        analysis = report.analysis
        names = _column_names(factor for factor in report.experiment.factors if factor != analysis.factor)
        mark = {"mark": report.experiment.mark or None}
        every = (*analysis.comparisons, *analysis.rungs, *analysis.also)
        rows = [_comparison(comparison, names) | mark for comparison in every]
        return pd.DataFrame(rows, columns=list(rows[0]) if rows else [*names.values(), *_VERDICT])

    def findings(self, campaign: int | None = None) -> pd.DataFrame:
        """Return what the audit finds, one row for each finding, the most severe first."""
        return pd.DataFrame(
            map(asdict, self._report(campaign).findings), columns=[field.name for field in fields(Finding)]
        )

    def _report(self, campaign: int | None) -> "Report":
        # Loaded late: it brings the audit along.
        from assay.report import gather  # noqa: PLC0415

        return gather(self._store, self._store.campaign(campaign).id)

    def record(self, trial: int) -> dict[str, Any]:
        """Return the whole record of one trial."""
        return self._store.record_of(trial)

    def query(self, sql: str, campaign: int | None = None) -> pd.DataFrame:
        """Return the answer to one SQL query; `median(x)` and `quantile(x, p)` are there."""
        columns, rows = self._store.query(sql, campaign=campaign)
        return pd.DataFrame.from_records(rows, columns=columns)


def _column_names(factors: Iterable[str]) -> dict[str, str]:
    """Return factor -> the column of the verdicts that holds its levels."""
    taken = {*_VERDICT, *_IN_MODES}
    names: dict[str, str] = {}
    for factor in factors:
        names[factor] = free_name(f"factor_{factor}" if factor in taken else factor, taken)
        taken.add(names[factor])
    return names


def _comparison(comparison: Comparison, names: Mapping[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {names[factor]: level for factor, level in comparison.context.items()} | {
        "metric": comparison.metric,
        "level": comparison.level,
        "baseline": comparison.baseline,
        **_estimate(comparison),
        "p_adjusted": comparison.p_adjusted,
        "reason": comparison.reason,
        "zeros": comparison.zeros[0],
        "baseline_zeros": comparison.zeros[1],
        "dropped": sum(comparison.dropped.values()),
    }
    for name, estimate in (("all", comparison.all_groups), *comparison.modes.items()):
        row |= {f"{name}_{column}": value for column, value in _estimate(estimate).items()}
    return row


def _estimate(estimate: Estimate) -> dict[str, Any]:
    interval = estimate.interval
    ends = (interval.low, interval.high, interval.confidence) if interval else (None, None, None)
    sizes = (estimate.ratio, estimate.difference)
    values = (*sizes, *ends, estimate.p, estimate.verdict, estimate.pairs)
    return dict(zip(_ESTIMATE, values, strict=True))
