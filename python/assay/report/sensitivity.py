"""What a campaign about sensitivity says, in words and in a table."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

from assay.analysis.configurations import LEFT_OUT_AT_MOST, Condition, LeftOut, conditions_of
from assay.analysis.sensitivity import FEWEST, ONE_IN, Misjudgement
from assay.analysis.types import Interval
from assay.experiment.sensitivity import EVERYTHING, NOTHING
from assay.plan.types import LAYOUT
from assay.report.gather import Report
from assay.runner.load import BUSY
from assay.words import agreed, condition_name, counted, listed, one_line, printable, whole_percent

HEADINGS = ("perturbed", "apart", "interval", "between", "interval")
CHANCE = f"{NOTHING} (chance alone)"


@dataclass(frozen=True)
class Row:
    """A line of the table: what was perturbed, and what that did, as text."""

    perturbed: str
    deviation: str
    interval: str
    share: str
    share_interval: str


def measured(report: Report) -> list[Condition]:
    """Return the conditions of a campaign about sensitivity, the most sensitive first."""
    one_layout = report.campaign.host.get("one_layout", {})
    conditions = conditions_of(report.trials, report.experiment, one_layout)
    return sorted(conditions, key=_deviation, reverse=True)


def name_of(condition: Condition) -> str:
    """Return a condition's name."""
    return condition_name(condition.levels) if condition.levels else "the experiment"


def rows(condition: Condition) -> Iterator[Row]:
    """Yield the lines of a condition's table."""
    for name, found in condition.perturbed.items():
        label = CHANCE if name == NOTHING else name
        if found is None:
            yield Row(label, _why_nothing(condition, name), "", "", "")
            continue
        split = found.split
        yield Row(
            label,
            deviation(found.spread.deviation),
            _ends(found.spread.interval, deviation),
            percent(split.share) if split else "-",
            _ends(split.share_interval) if split else "-",
        )


def table(condition: Condition) -> list[str]:
    """Return a condition's name and table as lines of a terminal."""
    cells = [HEADINGS, *(astuple(row) for row in rows(condition))]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADINGS))]
    lines = [printable(name_of(condition))]
    for name, *values in cells:
        texts = [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
        lines.append("  ".join([printable(name).ljust(widths[0]), *texts]).rstrip())
    return lines


def sentence(report: Report) -> str:
    """Return the answer: how wrong two single systems would be, where that is worst."""
    conditions = measured(report)
    withheld = [condition for condition in conditions if _is_withheld(condition, EVERYTHING)]
    worst = conditions[0].perturbed.get(EVERYTHING) if conditions else None
    if worst is None and withheld:
        out = withheld[0].left_out[EVERYTHING]
        return (
            f"Withheld: in {out.busy} of {out.drawn} configurations other work took the trials' processors, "
            "which scatters results more than all else."
        )
    if worst is None:
        return "Nothing is known yet: no condition has two configurations with a valid trial."
    if worst.single.interval is None:
        return f"Too few configurations to say: {worst.configurations}, and it takes {FEWEST}."
    where = f" ({name_of(conditions[0])})" if len(conditions) > 1 else ""
    chance = conditions[0].perturbed.get(NOTHING)
    alone = chance is not None and _overlap(worst.spread.interval, chance.spread.interval)
    told = ", which is not shown to be more than chance alone gives" if alone else ""
    said = (
        f"Two equal systems, each measured once as it happens to be, would differ in {report.analysis.metric}"
        f" by {_wrong(worst.single)}{where}{told}."
    )
    if EVERYTHING in conditions[0].left_out:
        out = conditions[0].left_out[EVERYTHING]
        said += (
            f" {out.busy} of {out.drawn} configurations {agreed(out.busy, 'is', 'are')} left out,"
            " as the host was busy."
        )
    if withheld:
        said += f" Withheld of {counted(len(withheld), 'other condition')}: the host was busy."
    return said


def about(condition: Condition) -> list[str]:
    """Return what there is to say of a condition beside its table, in sentences."""
    whole = condition.perturbed.get(EVERYTHING)
    if whole is None or whole.single.interval is None:
        return further(condition)
    said = f"Two equal systems, each measured once, would differ by {_wrong(whole.single)}."
    if whole.trials > whole.configurations:
        said += (
            f" With the median of {_trials(whole.trials, whole.configurations)} each: by "
            f"{_wrong(whole.repeated)}. Repeating a configuration takes away chance and nothing else."
        )
    return [said, *further(condition)]


def further(condition: Condition) -> list[str]:
    """Return what `about` says beside the answer."""
    told = []
    if condition.one_layout:
        told.append(f"The layout was not drawn: {one_line(condition.one_layout)}.")
    if condition.left_out:
        told.append(
            f"Left out, as other work took more than {whole_percent(BUSY)} of their processor time: "
            f"{_left_out(condition)}. Where that is more than {whole_percent(LEFT_OUT_AT_MOST)} of the "
            "configurations, the line is withheld."
        )
    found = condition.enough
    if found is not None:
        if not found.known:
            told.append(
                f"How much randomness is enough is not known: at {found.measured[-1]:g} C anew in every "
                "trial the sensitivity may still be falling."
            )
        elif found.amount == 0:
            told.append(
                f"No randomness need be added, with 95% confidence at most {found.high:g} C: none of those "
                "tried halves the sensitivity."
            )
        else:
            told.append(
                f"Randomness that is enough, in what has a C: {found.amount:g} C anew in every trial; with "
                f"95% confidence between {found.low:g} C and {found.high:g} C. More does not halve the "
                "sensitivity again."
            )
    return told


def _left_out(condition: Condition) -> str:
    """Return how many configurations of how many are left out, with what perturbed."""
    names: dict[LeftOut, list[str]] = defaultdict(list)
    for name, out in condition.left_out.items():
        names[out].append(name)
    if len(condition.perturbed) in map(len, names.values()):
        names = {out: ["each"] for out in names}
    return "; ".join(f"{out.busy} of {out.drawn} with {listed(alike)}" for out, alike in names.items())


def _why_nothing(condition: Condition, name: str) -> str:
    if condition.one_layout and name == LAYOUT:
        return "as built"
    return "withheld" if _is_withheld(condition, name) else "no trials"


def _is_withheld(condition: Condition, name: str) -> bool:
    return name in condition.left_out and condition.left_out[name].too_many


def percent(value: float) -> str:
    """Return a share in percent."""
    return f"{100 * value:.2g}%" if value < 0.0995 else f"{100 * value:.0f}%"


def deviation(value: float) -> str:
    """Return a standard deviation of logarithms as what it is of the metric itself: 0.05 is 5.1%."""
    return percent(math.expm1(value)) if value < math.log(10) else f"{math.exp(value):.2g} times"


def _ends(interval: Interval | None, written: Callable[[float], str] = percent) -> str:
    return "-" if interval is None else f"{written(interval.low)} to {written(interval.high)}"


def _overlap(one: Interval | None, other: Interval | None) -> bool:
    return one is None or other is None or (one.low <= other.high and other.low <= one.high)


def _wrong(misjudged: Misjudgement) -> str:
    interval = misjudged.interval
    ends = f" ({percent(interval.low - 1)} to {percent(interval.high - 1)})" if interval else ""
    return (
        f"{percent(misjudged.typical - 1)}{ends} or more in half of all cases, and by about "
        f"{percent(misjudged.seldom - 1)} or more in one of {ONE_IN}"
    )


def _trials(trials: int, configurations: int) -> str:
    return counted(round(trials / configurations), "trial")


def _deviation(condition: Condition) -> float:
    found = condition.perturbed.get(EVERYTHING)
    return found.spread.deviation if found else -1.0
