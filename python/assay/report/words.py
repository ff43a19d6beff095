"""How numbers and names are written for a person, the same in the terminal and on the page."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from assay.analysis import Analysis, Comparison, ConditionSummary, Interval
from assay.analysis.planning import ComparisonForecast
from assay.analysis.types import Aggregate, Cluster, Estimate, Gate, HostMode, LevelEffect, Pathology, Verdict
from assay.analysis.verdicts import verdict, verdict_of_difference, verdict_word
from assay.experiment import Experiment
from assay.findings import SEVERITIES, Finding
from assay.plan.types import Status
from assay.words import condition_name, counted, duration, listed, number, percent, ratio

_FINE_PERCENT = 2
_MOST_DIGITS = 6
IDLE = "idle"
"""In place of a median, where practically nothing happens in trials."""
GATES: tuple[Gate, ...] = ("failed", "passed", "undecided")
VERDICTS: tuple[Verdict, ...] = ("faster", "slower", "equivalent", "undecided")


def interval(value: Interval | None) -> str:
    """Return an interval's ends."""
    return "-" if value is None else f"{ratio(value.low)} to {ratio(value.high)}"


def size(estimate: Estimate, digits: int = 3) -> str:
    """Return the ratio of an estimate or, where there is none, the difference in the metric's units."""
    return ratio(estimate.ratio, digits) if estimate.difference is None else _signed(estimate.difference)


class Effects(Protocol):
    """How large an effect has to be."""

    @property
    def smallest_effect_percent(self) -> float:
        """Ratios that are nearer to 1 are equivalent."""

    @property
    def smallest_effect(self) -> float | None:
        """Differences that are less are equivalent, in the metric's units."""


def ends(estimate: Estimate, effects: Effects | None = None) -> str:
    """Return the ends of an interval, with enough digits to read the verdict off them."""
    if estimate.interval is None:
        return "-"
    if estimate.difference is None:
        return _ends_of_ratio(estimate.interval, 0 if effects is None else effects.smallest_effect_percent, 3)

    smallest = None if effects is None else effects.smallest_effect

    def says(interval: Interval) -> Verdict:
        return verdict_of_difference(interval, "higher", smallest)

    digits = digits_that_say(estimate.interval, says, lambda end, digits: float(f"{end:.{digits}g}"), 3)
    return f"{_signed(estimate.interval.low, digits)} to {_signed(estimate.interval.high, digits)}"


def digits_that_say(
    interval: Interval,
    says: Callable[[Interval], object],
    rounded: Callable[[float, int], float],
    fewest: int,
) -> int:
    """Return how many digits an interval's ends need so that what is read off them stays the same."""
    for digits in range(fewest, _MOST_DIGITS):
        low, high = rounded(interval.low, digits), rounded(interval.high, digits)
        if says(replace(interval, low=low, high=high)) == says(interval):
            return digits
    return _MOST_DIGITS


def _ends_of_ratio(interval: Interval, smallest_effect_percent: float, fewest: int) -> str:
    def says(interval: Interval) -> Verdict:
        return verdict(interval, "higher", smallest_effect_percent)

    digits = digits_that_say(interval, says, round, fewest)
    return f"{ratio(interval.low, digits)} to {ratio(interval.high, digits)}"


def _signed(difference: float, digits: int = 3) -> str:
    return f"{'+' * (difference > 0)}{number(difference, digits)}"


def zeros(answer: LevelEffect) -> str:
    """Return how many values are 0 on either side, and why there is a difference instead of a ratio."""
    of = answer.pairs * (len(answer.weights) if isinstance(answer, Aggregate) else 1)
    sides = zip((answer.level, answer.baseline), answer.zeros, strict=True)
    said = [f"0 in {count} of {of} trials of {side}" for side, count in sides if count]
    if answer.difference is not None:
        always = answer.zeros[1] == of
        said.append("no ratio can be made, so it is compared by difference" if always else "a difference")
    return "; ".join(said)


def effect(effects: Effects) -> str:
    """Return the smallest effect: in percent, or in the metric's units."""
    if effects.smallest_effect is None:
        return f"{effects.smallest_effect_percent:g}%"
    return f"{effects.smallest_effect:g}"


def rung(answer: LevelEffect) -> str:
    """Return what is compared along a ladder."""
    return f"{answer.level} over {answer.baseline}"


def typical(condition: ConditionSummary, *, accept_invalid: bool) -> str:
    """Return the median where it is typical of the values, else in one word why it is not.

    Trials that are not valid leave none, unless they are accepted: survivors may have skipped work. Trials in
    which nothing happens leave none either: a reader would take the speed of an empty map for a map's speed.
    """
    if _failed(condition) and not accept_invalid:
        return "-"
    if condition.idle:
        return IDLE
    if condition.shape.clusters:
        return "several"
    return "varies" if condition.shape.note else number(condition.median)


def glance(value: float | None, effects: Effects) -> str:
    """Return a ratio for an answer that is read at a glance, and not in a table of all numbers.

    It has two digits after the point, three where effects below 2% count.
    """
    return ratio(value, _digits(effects))


def glance_size(estimate: Estimate, effects: Effects) -> tuple[str, str]:
    """Return a ratio as `glance` does, or a difference, and its interval; that is empty where there is none.

    An interval's ends have more digits where rounding would hide on which side of 1 or of the smallest effect
    they lie.
    """
    if estimate.difference is not None:
        return size(estimate), ends(estimate, effects) if estimate.interval else ""
    value, interval = glance(estimate.ratio, effects), estimate.interval
    if interval is None:
        return value, ""
    return value, _ends_of_ratio(interval, effects.smallest_effect_percent, _digits(effects))


def _digits(effects: Effects) -> int:
    return 2 + (effects.smallest_effect_percent < _FINE_PERCENT)


def clusters(values: Iterable[Cluster]) -> str:
    """Return the values around which data gather, each with its share of the data."""
    return ", ".join(f"{number(cluster.center)} ({percent(cluster.share)})" for cluster in values)


def flattened(value: Mapping[str, Any], depth: int = 3, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield name and value of what is inside nested mappings; below `depth` they stay as they are."""
    for name, inner in value.items():
        path = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(inner, Mapping) and inner and depth > 1:
            yield from flattened(inner, depth - 1, f"{path}: ")
        else:
            yield path, inner


def severities(findings: Iterable[Finding]) -> dict[str, int]:
    """Return severity -> number of findings, the worst first, where there are any."""
    counts = Counter(finding.severity for finding in findings)
    return {severity: counts[severity] for severity in SEVERITIES if counts[severity]}


def directions(metric: str, experiment: Experiment) -> str:
    """Return the words for a ratio that differs from 1: "faster or slower", "better or worse"."""
    return " or ".join(verdict_word(of, metric, experiment.unit(metric)) for of in ("faster", "slower"))


def gate(analysis: Analysis, slowest: ComparisonForecast | None = None) -> str:
    """Return how many comparisons passed and failed the gate, and how long the slowest of the others takes.

    It is empty where there is no gate.
    """
    if analysis.gate_percent is None:
        return ""
    counts = Counter(answer.gate for answer in analysis.answers)
    told = listed([f"{counts[word]} {word}" for word in GATES if counts[word]])
    takes = ""
    if slowest is not None and slowest.blocks is not None and slowest.minutes is not None:
        minutes = duration(60 * slowest.minutes)
        takes = f" To decide all probably takes {number(slowest.blocks)} blocks, {minutes} in all."
    return f"Gate, worse by more than {analysis.gate_percent:g}%: {told}.{takes}"


def passes_alone(answer: LevelEffect) -> str:
    """Return by which interval a comparison passes the gate, if it is not the one that is shown."""
    alone = answer.by_itself
    return f"passes the gate by its interval uncorrected for the family, {interval(alone)}" if alone else ""


def correction(experiment: Experiment, comparisons: str) -> str:
    """Return how far the intervals of some comparisons hold together."""
    if experiment.comparison.correction == "family":
        return f"The intervals of all {comparisons} hold together"
    return "Each interval holds by itself, uncorrected for the number of comparisons"


def p_column(experiment: Experiment) -> str:
    """Return the heading of a column of p-values."""
    return "p, corrected" if experiment.comparison.correction == "family" else "p, not corrected"


def together(correction: str) -> str:
    """Return whether a confidence holds for all intervals of a family together."""
    return "together" if correction == "family" else "each"


def look(analysis: Analysis, experiment: Experiment) -> str:
    """Return on which look at the results the verdicts rest."""
    seen = analysis.look
    if seen is None:
        return f"Nothing is decided yet: {analysis.waits}."
    intervals = f"intervals of {percent(seen.confidence)} {together(experiment.comparison.correction)}"
    if seen.of == 1:
        return f"One look at the results, at {counted(seen.blocks, 'block')}; {intervals}."
    return (
        f"Look {seen.number} of at most {seen.of}, at {counted(seen.blocks, 'block')}; {intervals}, "
        f"so that all looks together are right in {percent(analysis.confidence)} of campaigns."
    )


def layout(experiment: Experiment, *, on_hosts: bool = False) -> str:
    """Return how many layouts of code and data the verdicts rest on."""
    if experiment.varied and experiment.moved.layout:
        return "Layouts of code and data were drawn for configurations, where programs could be linked anew."
    if experiment.perturb.layout:
        return "Layouts of code and data were drawn for each block, where programs could be linked anew."
    where = ", on one host (without --on)," if on_hosts else ""
    return (
        "Every program ran in one layout of its code and data, which may favour it by chance: layout = true"
        f" in [perturb]{where} draws one for each block."
    )


def estimate(value: Estimate, metric: str, unit: str = "", effects: Effects | None = None) -> str:
    """Return a verdict on a metric with what it rests on, in one line."""
    word = verdict_word(value.verdict, metric, unit)
    if isinstance(value, LevelEffect) and value.withheld:
        return f"{word}: {value.reason}"
    if value.ratio is None and value.difference is None:
        return f"{word}, no pairs"
    with_ends = "" if value.interval is None else f" ({ends(value, effects)})"
    gate = "" if value.gate is None else f", gate {value.gate}"
    some = f"; {said}" if isinstance(value, LevelEffect) and (said := zeros(value)) else ""
    return f"{word}, {size(value)}{with_ends}, {counted(value.pairs, 'pair')}{gate}{some}"


def place(analysis: Analysis, answer: LevelEffect) -> str:
    """Return what an answer is about: the level and the context, and over which workloads."""
    over = f", over {workloads(answer)}" if isinstance(answer, Aggregate) else ""
    return condition_name({analysis.factor: answer.level, **answer.context}) + over


def beside(comparison: Comparison, modes: Iterable[HostMode]) -> list[Estimate | None]:
    """Return what every group says, then what the groups of each of some modes say; None without pairs."""
    estimates = [comparison.all_groups, *(comparison.modes.get(mode) for mode in modes)]
    return [value if value is not None and value.pairs else None for value in estimates]


def contradicts(other: Estimate | None, comparison: Comparison) -> bool:
    """Tell whether other groups than the comparison's, if enough for an interval, have another verdict."""
    if other is None or other.interval is None or other.pairs == comparison.pairs:
        return False
    return other.verdict != comparison.verdict


def otherwise(comparison: Comparison, unit: str = "") -> list[str]:
    """Return what other choices of groups say where their verdict is another."""
    choices = {
        "without exclusions": comparison.all_groups,
        **{f"in the {mode} mode of the host": there for mode, there in comparison.modes.items()},
    }
    return [
        f"{choice}: {estimate(there, comparison.metric, unit)}"
        for choice, there in choices.items()
        if contradicts(there, comparison)
    ]


def workloads(whole: Aggregate) -> str:
    """Return how many workloads an aggregate puts together, with their weights where they differ."""
    weights = list(map(percent, whole.weights))
    return counted(whole.weights, "workload") + (f" ({listed(weights)})" if len(set(weights)) > 1 else "")


def pathological_bound(experiment: Experiment) -> str:
    """Return what the experiment calls a pathological outcome."""
    comparison = experiment.comparison
    assert comparison.pathological is not None
    if comparison.better == "higher":
        return f"{comparison.metric} below {comparison.pathological:g} times the median of its condition"
    return f"{comparison.metric} above {1 / comparison.pathological:.4g} times the median of its condition"


def idle(analysis: Analysis) -> str:
    """Return in how many conditions trials measured nothing, and what the first did; empty if in none."""
    found = [condition for condition in analysis.conditions if condition.idle]
    if not found:
        return ""
    all_of = "all " * (len(found) == len(analysis.conditions) > 1)
    each = f", such as {condition_name(found[0].levels)}" if len(found) > 1 else ""
    return f"Practically nothing happens in {all_of}{counted(found, 'condition')}{each}: {found[0].idle}."


def probability(pathology: Pathology) -> tuple[str, str]:
    """Return the share of outcomes that are pathological, and the exact interval of its probability."""
    interval = pathology.interval
    return percent(pathology.probability), f"{percent(interval.low)} to {percent(interval.high)}"


def statuses(counts: Mapping[Status, int]) -> str:
    """Return how many trials ended in which way."""
    return ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts.items() if count)


def notes(
    condition: ConditionSummary, comparison: Comparison | None, unit: str = "", *, page: bool = False
) -> list[str]:
    """Return what a reader has to know with the numbers of a condition.

    It is less on a page, where dropped pairs and the shape of values have columns of their own.
    """
    if comparison is not None and comparison.withheld:
        return reservations(comparison, unit)
    pairs = f"pairs that do not count: {dropped(comparison)}" if comparison and comparison.dropped else ""
    more = () if page else (pairs, condition.shape.note)
    return [note for note in (_failed(condition), *more, *reservations(comparison, unit)) if note]


def dropped(answer: LevelEffect) -> str:
    """Return how many pairs do not count, by reason."""
    return ", ".join(f"{count} {reason}" for reason, count in answer.dropped.items())


def _failed(condition: ConditionSummary) -> str:
    return statuses({status: count for status, count in condition.counts.items() if status != "valid"})


def reservations(comparison: Comparison | None, unit: str) -> list[str]:
    """Return why there is no verdict, and other groups' verdicts.

    Not where an interval says why, by holding 1.
    """
    if comparison is None:
        return []
    if comparison.withheld:
        return [f"undecided: {comparison.reason}"]
    reason = comparison.reason if comparison.interval is None else passes_alone(comparison)
    return [note for note in (zeros(comparison), reason, *otherwise(comparison, unit)) if note]
