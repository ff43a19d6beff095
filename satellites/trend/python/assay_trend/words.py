"""The histories of a store's experiments, in words."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from assay.analysis.verdicts import verdict_word
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.report.words import interval
from assay.store import Store, UnreadableError
from assay.words import condition_name, counted, listed, nearest, number, printable, ratio, shortened, show
from assay_trend.history import (
    FEWEST_COMMITS,
    Changepoint,
    Commit,
    Drift,
    History,
    MeasuredCampaign,
    MetricSeries,
    Unplaced,
    history,
)


@dataclass(frozen=True)
class Change:
    """Steps at one commit, or drifts, of the same metric in the same direction.

    Attributes:
        parts: the series that have it, the one that changed most first.
        of: how many series the metric has.
    """

    metric: str
    worse: bool
    parts: tuple[tuple[MetricSeries, Changepoint | Drift], ...]
    of: int

    @property
    def greatest(self) -> Changepoint | Drift:
        """That of the series that changed most."""
        return self.parts[0][1]


def gathered_history(store: Store, experiment: str) -> tuple[History, Experiment]:
    """Return the history of an experiment, and its latest form.

    Raises:
        AssayError: the store has no campaign of it with a trial that has ended, and that can be read.
    """
    campaigns = []
    for campaign in store.campaigns():
        if campaign.experiment == experiment and campaign.ended:
            with suppress(UnreadableError):
                campaigns.append(
                    MeasuredCampaign(campaign, store.experiment(campaign.id), store.trials(campaign.id))
                )
    if not campaigns and any(campaign.experiment == experiment for campaign in store.campaigns()):
        raise UnreadableError(f"no campaign of {experiment} in {store.name} can be read")
    if not campaigns:
        known = dict.fromkeys(campaign.experiment for campaign in store.campaigns() if campaign.ended)
        raise AssayError(
            f"{store.name} has no campaign of {show(experiment)} with a trial;"
            f" {nearest(experiment, [*known])}"
        )
    return history(campaigns), campaigns[-1].experiment


def headline(history: History, experiment: Experiment) -> str:
    """Return in a sentence whether something got slower, after one that says whether trials mislead."""
    said, mark = _headline(history, experiment), experiment.mark
    return f"{mark[:1].upper()}{mark[1:]}. {said}" if mark else said


def _headline(history: History, experiment: Experiment) -> str:
    if not history.commits:
        return "No campaign says anything of a commit."
    first, last = (f"{commit.committed_at:%Y-%m-%d}" for commit in (history.commits[0], history.commits[-1]))
    over = f"over {counted(history.commits, 'commit')}, {first if first == last else f'{first} to {last}'}"
    if len(history.commits) < FEWEST_COMMITS:
        return f"Too early to say {over}: it takes {FEWEST_COMMITS} commits."
    told = changes(history)
    if not told:
        nothing = "nothing" if history.unplaced else "Nothing"
        return f"{_unplaced_first(history)}{nothing} is shown to have changed {over}."
    word = _word(told[0], experiment)
    return (
        f"Something got {word} {over}."
        if told[0].worse
        else f"Something got {word} {over}{', and nothing worse' * (not history.unplaced)}."
    )


def _unplaced_first(history: History) -> str:
    """Return the beginning of the headline where campaigns have no place in the history."""
    if not history.unplaced:
        return ""
    campaigns = {campaign for part in history.unplaced for campaign in part.campaigns}
    return f"In {counted(campaigns, 'campaign')} a median is 0 or below, of which no step tells; otherwise "


def _word(change: Change, experiment: Experiment) -> str:
    return verdict_word("slower" if change.worse else "faster", change.metric, experiment.unit(change.metric))


def sentences(history: History, experiment: Experiment) -> Iterator[str]:
    """Yield what changed, the worst first: when, by how much, and where."""
    places = {commit.hash: place for place, commit in enumerate(history.commits)}
    for change in changes(history):
        what = change.greatest
        if isinstance(what, Drift):
            when = (
                f"slowly, from {what.first.short} ({what.first.committed_at:%Y-%m-%d}) to {what.last.short}"
                f" ({what.last.committed_at:%Y-%m-%d}), by about {number(abs(what.percent_per_commit), 2)}%"
                " a commit"
            )
            how = f"{ratio(what.ratio, 2)} times the {change.metric} (95% interval {interval(what.interval)})"
        else:
            between = places[what.commit.hash] - places[what.before.hash] - 1
            since = f" or {counted(between, 'commit')} before it" if between else ""
            subject = shortened(printable(what.commit.subject), 50)
            when = f"at {what.commit.short}{since} ({what.commit.committed_at:%Y-%m-%d}, {subject})"
            how = f"{ratio(what.ratio, 2)} times the {change.metric}"
        yield f"{_word(change, experiment)} {when}: {how}{_where(change)}.{_host(what)}"


def _where(change: Change) -> str:
    if change.of == 1:
        return ""
    most = f" with {printable(condition_name(change.parts[0][0].levels))}"
    others = len(change.parts) - 1
    return f"{most}, and by less in {others} more of {change.of} conditions" if others else most


def _host(what: Changepoint | Drift) -> str:
    if not what.host:
        return ""
    does = "drifts as well" if isinstance(what, Drift) else "changed there too"
    return f" The host {does} ({listed(what.host)}), which may be the cause."


def changes(history: History) -> list[Change]:
    """Return the changes of a history: those for the worse first, then by size."""
    found: dict[tuple[str, bool, str], list[tuple[MetricSeries, Changepoint | Drift]]] = {}
    for series in history.series:
        for step in series.steps:
            found.setdefault((series.metric, bool(step.worse), step.commit.hash), []).append((series, step))
        if series.drift is not None:
            found.setdefault((series.metric, bool(series.drift.worse), ""), []).append((series, series.drift))
    told = []
    for (metric, worse, _), parts in found.items():
        parts.sort(key=lambda part: _size(part[1]), reverse=True)
        total = sum(series.metric == metric for series in history.series)
        told.append(Change(metric, worse, tuple(parts), total))
    return sorted(told, key=lambda change: (not change.worse, -_size(change.greatest)))


def _size(change: Changepoint | Drift) -> float:
    return max(change.ratio, 1 / change.ratio)


def unplaced(history: History) -> list[str]:
    """Return in which campaigns a median has no logarithm, the conditions of a metric together."""
    said: dict[tuple[str, tuple[int, ...]], list[Unplaced]] = {}
    for part in history.unplaced:
        said.setdefault((part.metric, part.campaigns), []).append(part)
    return [
        f"The median {metric}{_unplaced_where(parts, history)} is not above 0 in"
        f" campaign{'s' * (len(numbers) > 1)} {listed([*map(str, numbers)])}"
        f" ({_span(parts[0].commits)}): it has no ratio and is in no step or"
        " drift, so look at it by itself."
        for (metric, numbers), parts in said.items()
    ]


def _span(commits: Sequence[Commit]) -> str:
    first, last = commits[0].short, commits[-1].short
    return first if first == last else f"{first} to {last}"


def _unplaced_where(parts: Sequence[Unplaced], history: History) -> str:
    metric = parts[0].metric
    conditions = {tuple(series.levels.items()) for series in history.series if series.metric == metric}
    conditions |= {tuple(part.levels.items()) for part in history.unplaced if part.metric == metric}
    if len(parts) == len(conditions):
        return ""
    others = f" and in {len(parts) - 1} more conditions" if len(parts) > 1 else ""
    return f" with {printable(condition_name(parts[0].levels))}{others}"


def visible(history: History) -> str:
    """Return how large a step would probably have been seen; empty where that is not known."""
    known = [series.visible_percent for series in history.series if series.visible_percent is not None]
    if not known:
        return ""
    least, most = (f"{number(end, 2)}%" for end in (min(known), max(known)))
    range_ = least if least == most else f"{least} to {most}, by the noise of each condition"
    return f"A step half-way is seen in about every second history if it is as large as {range_}."


def left_out(history: History) -> str:
    """Return which campaigns are not in it, and why; empty where all are."""
    if not history.left_out:
        return ""
    by_reason: dict[str, list[str]] = {}
    for campaign in history.left_out:
        by_reason.setdefault(campaign.reason, []).append(str(campaign.campaign))
    parts = [
        f"campaign{'s' * (len(numbers) > 1)} {listed(numbers)}: {reason}"
        for reason, numbers in by_reason.items()
    ]
    return f"Left out: {'; '.join(parts)}."
