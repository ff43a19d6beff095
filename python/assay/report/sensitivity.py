"""What a campaign about sensitivity says, in words and in a table."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np

from assay.analysis.configurations import (
    LEFT_OUT_AT_MOST,
    ConditionSensitivity,
    DisturbedConfigurations,
    SensitivityRatio,
)
from assay.analysis.sensitivity import FEWEST, ONE_IN, Misjudgement, Scale
from assay.analysis.types import Interval
from assay.experiment import Experiment
from assay.experiment.metrics import BUSY
from assay.experiment.sensitivity import EVERYTHING, NOTHING
from assay.plan.types import LAYOUT
from assay.report import words
from assay.report.aligned import aligned
from assay.report.gather import Report
from assay.words import (
    agreed,
    condition_name,
    counted,
    listed,
    number,
    one_line,
    printable,
    ratio,
    whole_percent,
)

HEADINGS = ("perturbed", "apart", "interval", "between", "interval")
CHANCE = f"{NOTHING} (chance alone)"


@dataclass(frozen=True)
class SensitivityRow:
    """A line of the table: what was perturbed, and what that did, as text."""

    perturbed: str
    deviation: str
    interval: str
    share: str
    share_interval: str


def measured(report: Report) -> list[ConditionSensitivity]:
    """Return the conditions of a campaign about sensitivity, the most sensitive first."""
    return sorted(report.configurations, key=_deviation, reverse=True)


def name_of(condition: ConditionSensitivity) -> str:
    """Return a condition's name."""
    return condition_name(condition.levels) if condition.levels else "the experiment"


def rows(condition: ConditionSensitivity) -> Iterator[SensitivityRow]:
    """Yield the lines of a condition's table."""
    written = partial(deviation, scale=condition.scale)
    for name, found in condition.perturbed.items():
        label = CHANCE if name == NOTHING else name
        if found is None:
            yield SensitivityRow(label, _why_nothing(condition, name), "", "", "")
            continue
        split = found.split
        yield SensitivityRow(
            label,
            written(found.spread.deviation),
            _ends(found.spread.interval, written),
            percent(split.share) if split else "-",
            _ends(split.share_interval) if split else "-",
        )


def table(condition: ConditionSensitivity) -> list[str]:
    """Return a condition's name and table as lines of a terminal."""
    cells = [HEADINGS, *(astuple(row) for row in rows(condition))]
    lines = aligned([[printable(name), *values] for name, *values in cells], right={1, 2, 3, 4})
    return [printable(name_of(condition)), *lines]


def sentence(report: Report) -> str:
    """Return the answer: how wrong two single systems would be, typically and where that is worst."""
    conditions = measured(report)
    metric = report.analysis.metric
    withheld = [condition for condition in conditions if _is_withheld(condition, EVERYTHING)]
    every = [(condition, found) for condition in conditions if (found := condition.perturbed.get(EVERYTHING))]
    zeros = _zeros(conditions, metric)
    if not every and withheld:
        out = withheld[0].left_out[EVERYTHING]
        return (
            f"Withheld: in {out.busy} of {out.drawn} configurations other work took the trials' processors, "
            "which scatters results more than all else."
        )
    if not every:
        return zeros or "Nothing is known yet: no condition has two configurations with a valid trial."
    known = [(condition, found) for condition, found in every if found.single.interval is not None]
    if not known:
        return f"Too few configurations to say: {every[0][1].configurations}, and it takes {FEWEST}."
    worst, found = known[0]
    chance = worst.perturbed.get(NOTHING)
    alone = chance is not None and _overlap(found.spread.interval, chance.spread.interval)
    no_more = "not shown to be more than chance alone gives"
    said = f"Two equal systems, each measured once as it happens to be, would differ in {metric} by "
    if len(known) == 1:
        where = f" ({name_of(worst)})" if len(conditions) > 1 else ""
        said += f"{_wrong(found.single, worst.scale)}{where}{f', which is {no_more}' * alone}."
    else:
        typical = _median([of.single for _, of in known])
        said += (
            f"{_wrong(typical, worst.scale)}: the median of {len(known)} conditions. "
            f"The largest of the {len(known)} ({name_of(worst)}): {_wrong(found.single, worst.scale)}; "
            f"the interval allows for choosing it as the largest{f', {no_more}' * alone}."
        )
    if EVERYTHING in worst.left_out:
        out = worst.left_out[EVERYTHING]
        said += (
            f" {out.busy} of {out.drawn} configurations {agreed(out.busy, 'is', 'are')} left out,"
            " as the host was busy."
        )
    if withheld:
        said += f" Withheld of {counted(len(withheld), 'other condition')}: the host was busy."
    return f"{zeros} {said}" if zeros else said


def relations(conditions: Sequence[ConditionSensitivity], experiment: Experiment) -> list[str]:
    """Return how sensitive each condition is, relative to the one with the first level of a factor."""
    places = {name: {level: at for at, level in enumerate(of)} for name, of in experiment.factors.items()}
    ordered = sorted(conditions, key=lambda of: [places[name][level] for name, level in of.levels.items()])
    return [
        _relation(condition, against, conditions)
        for factor in places
        for condition in ordered
        for against in condition.against
        if against.factor == factor
    ]


def _relation(
    condition: ConditionSensitivity, against: SensitivityRatio, conditions: Sequence[ConditionSensitivity]
) -> str:
    level = condition.levels[against.factor]
    rest = {name: of for name, of in condition.levels.items() if name != against.factor}
    where = f" ({condition_name(rest)})" if rest else ""
    name = f"Sensitivity, {against.factor}={level} against {against.baseline}{where}"
    found = against.relative
    if found is None:
        return f"{name}: not known, as too few configurations have two trials."
    levels = {**condition.levels, against.factor: against.baseline}
    own, other = map(_between, (condition, next(of for of in conditions if of.levels == levels)))
    ends = f"{ratio(found.low, 2)} {'or more' if found.high is None else f'to {ratio(found.high, 2)}'}"
    times = "" if found.times is None else f"{ratio(found.times, 2)} times, "
    return f"{name}: {found.verdict}, {times}95%: {ends} ({own} against {other} between configurations)."


def _between(condition: ConditionSensitivity) -> str:
    found = condition.perturbed.get(EVERYTHING)
    return deviation(found.split.between, condition.scale) if found and found.split else "-"


def about(condition: ConditionSensitivity, experiment: Experiment) -> list[str]:
    """Return what is known of a condition and is not in its table, in sentences."""
    whole = condition.perturbed.get(EVERYTHING)
    if whole is None or whole.single.interval is None:
        return further(condition, experiment)
    said = f"Two equal systems, each measured once, would differ by {_wrong(whole.single, condition.scale)}."
    if whole.trials > whole.configurations:
        said += (
            f" With the median of {_trials(whole.trials, whole.configurations)} each: by "
            f"{_wrong(whole.repeated, condition.scale)}. Repeating a configuration takes away chance and"
            " nothing else."
        )
    return [said, *further(condition, experiment)]


def further(condition: ConditionSensitivity, experiment: Experiment) -> list[str]:
    """Return what `about` says after the answer."""
    told = []
    metric = experiment.comparison.metric
    if zeros := sum(of.count for of in condition.zeros.values()):
        trials = sum(of.of for of in condition.zeros.values())
        told.append(
            f"{metric} was 0{' or below' * (condition.scale == 'unit')} in {zeros} of {trials} trials."
        )
    if condition.one_layout:
        told.append(f"The layout was not drawn: {one_line(condition.one_layout)}.")
    if condition.left_out:
        told.append(
            f"Left out, as other work took more than {whole_percent(BUSY)} of their processor time: "
            f"{_left_out(condition)}. Where that is more than {whole_percent(LEFT_OUT_AT_MOST)} of the "
            "configurations, the line is withheld."
        )
    whole = condition.perturbed.get(EVERYTHING)
    if whole is not None and whole.split is None:
        told.append("Chance cannot be told from the configuration: --replicates 2 or more can.")
    found = condition.enough
    if found is not None:
        much = f"{found.measured[-1]:g} C anew in every trial"
        if not found.known:
            told.append(
                f"How much randomness is enough is not known: at {much} the sensitivity may still be falling."
            )
        elif found.amount == 0:
            told.append(
                f"No randomness need be added, with 95% confidence at most {found.high:g} C: up to {much} "
                f"takes away no more than {whole_percent(found.nearly)} of the sensitivity."
            )
        else:
            told.append(
                f"Randomness that is enough, in what has a C: {found.amount:g} C anew in every trial; with "
                f"95% confidence between {found.low:g} C and {found.high:g} C. More takes away no further "
                f"{whole_percent(found.nearly)} of the sensitivity without it."
            )
    if whole is not None and experiment.comparison.pathological is not None:
        said = "no median above zero"
        if pathological := whole.pathological:
            share, ends = words.probability(pathological)
            said = f"{share} (95%: {ends}), {pathological.count} of {pathological.of} configurations"
        told.append(f"Pathological, {words.pathological_bound(experiment)}: {said}.")
    return told


def _zeros(conditions: Sequence[ConditionSensitivity], metric: str) -> str:
    """Return in how many trials the metric is 0, and what that does to the numbers; "" where in none."""
    each = [of for condition in conditions for of in condition.zeros.values()]
    zeros, trials = sum(of.count for of in each), sum(of.of for of in each)
    if not zeros:
        return ""
    if conditions[0].scale == "unit":
        return (
            f"{metric} was 0 or below in {zeros} of {counted(trials, 'valid trial')}, so that no ratio can "
            "be made: its numbers are in its own unit."
        )
    if zeros == trials:
        return f"No ratio can be made: {metric} was 0 in each of {counted(trials, 'valid trial')}."
    return (
        f"{metric} was 0 in {zeros} of {counted(trials, 'valid trial')}, which count: numbers are percent of "
        "its mean."
    )


def _left_out(condition: ConditionSensitivity) -> str:
    """Return how many configurations of how many are left out, with what perturbed."""
    names: dict[DisturbedConfigurations, list[str]] = defaultdict(list)
    for name, out in condition.left_out.items():
        names[out].append(name)
    if len(condition.perturbed) in map(len, names.values()):
        names = {out: ["each"] for out in names}
    return "; ".join(f"{out.busy} of {out.drawn} with {listed(alike)}" for out, alike in names.items())


def _why_nothing(condition: ConditionSensitivity, name: str) -> str:
    if condition.one_layout and name == LAYOUT:
        return "as built"
    return "withheld" if _is_withheld(condition, name) else "no trials"


def _is_withheld(condition: ConditionSensitivity, name: str) -> bool:
    return name in condition.left_out and condition.left_out[name].too_many


def percent(value: float) -> str:
    """Return a share in percent."""
    return f"{100 * value:.2g}%" if value < 0.0995 else f"{100 * value:.0f}%"


def deviation(value: float, scale: Scale = "logarithm") -> str:
    """Return a standard deviation as what it is of the metric itself: of logarithms 0.05 is 5.1%."""
    if scale == "unit":
        return number(value)
    if scale == "mean":
        return percent(value)
    return percent(math.expm1(value)) if value < math.log(10) else f"{math.exp(value):.2g} times"


def _ends(interval: Interval | None, written: Callable[[float], str] = percent) -> str:
    return "-" if interval is None else f"{written(interval.low)} to {written(interval.high)}"


def _overlap(one: Interval | None, other: Interval | None) -> bool:
    return one is None or other is None or (one.low <= other.high and other.low <= one.high)


def _wrong(misjudged: Misjudgement, scale: Scale) -> str:
    return (
        f"{_typical(misjudged, scale)} or more in half of all cases, and by about "
        f"{_difference(misjudged.seldom, scale)} or more in one of {ONE_IN}"
    )


def _typical(misjudged: Misjudgement, scale: Scale) -> str:
    ends = _ends(misjudged.interval, partial(_difference, scale=scale))
    return f"{_difference(misjudged.typical, scale)} ({ends})"


def _difference(value: float, scale: Scale) -> str:
    """Return by how much two systems differ, which is a factor on the logarithmic scale."""
    if scale == "unit":
        return number(value)
    return percent(value - 1 if scale == "logarithm" else value)


def _median(misjudged: Sequence[Misjudgement]) -> Misjudgement:
    """Return the median of several, between the medians of the ends of intervals that hold together."""
    intervals = [of.interval for of in misjudged if of.interval is not None]
    low, high = (float(np.median([getattr(ends, end) for ends in intervals])) for end in ("low", "high"))
    typical, seldom = (
        float(np.median([getattr(of, name) for of in misjudged])) for name in ("typical", "seldom")
    )
    return Misjudgement(typical, Interval(low, high, intervals[0].confidence), seldom)


def _trials(trials: int, configurations: int) -> str:
    return counted(round(trials / configurations), "trial")


def _deviation(condition: ConditionSensitivity) -> float:
    found = condition.perturbed.get(EVERYTHING)
    return found.spread.deviation if found else -1.0
