"""What a campaign about sensitivity says, in words and in a table."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass

from assay.analysis.configurations import Condition, conditions_of
from assay.analysis.sensitivity import ONE_IN, Misjudgement
from assay.analysis.types import Interval
from assay.experiment.sensitivity import EVERYTHING, NOTHING
from assay.report.gather import Report
from assay.words import condition_name, counted, printable

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
    conditions = conditions_of(report.trials, report.experiment)
    return sorted(conditions, key=_deviation, reverse=True)


def name_of(condition: Condition) -> str:
    """Return a condition's name."""
    return condition_name(condition.levels) if condition.levels else "the experiment"


def rows(condition: Condition) -> Iterator[Row]:
    """Yield the lines of a condition's table."""
    for name, found in condition.perturbed.items():
        label = CHANCE if name == NOTHING else name
        if found is None:
            yield Row(label, "no trials", "", "", "")
            continue
        split = found.split
        yield Row(
            label,
            percent(found.spread.deviation),
            _ends(found.spread.interval),
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
    worst = conditions[0].perturbed.get(EVERYTHING) if conditions else None
    if worst is None:
        return "Nothing is known yet: no condition has two configurations with a valid trial."
    where = f" ({name_of(conditions[0])})" if len(conditions) > 1 else ""
    metric = report.analysis.metric
    return (
        f"Two equal systems, each measured once as it happens to be, would differ in {metric} by "
        f"{_wrong(worst.single)}{where}."
    )


def about(condition: Condition) -> list[str]:
    """Return what else there is to say of a condition, in sentences."""
    told = []
    whole = condition.perturbed.get(EVERYTHING)
    if whole is not None:
        told.append(
            f"Two equal systems, each measured once, would differ by {_wrong(whole.single)}. With the median "
            f"of {_trials(whole.trials, whole.configurations)} each: by {_wrong(whole.repeated)}. Repeating "
            "a configuration takes away chance and nothing else."
        )
    found = condition.enough
    if found is not None:
        if not found.known:
            told.append(
                f"How much randomness is enough is not known: at {found.measured[-1]:g} C anew in every "
                "trial the sensitivity may still be falling."
            )
        elif found.amount == 0:
            told.append("No randomness need be added: the sensitivity falls with none of those tried.")
        else:
            told.append(
                f"Randomness that is enough: {found.amount:g} C anew in every trial; with 95% confidence "
                f"between {found.low:g} C and {found.high:g} C. More does not halve the sensitivity again."
            )
    return told


def percent(value: float) -> str:
    """Return a share or a deviation of logarithms in percent."""
    return f"{100 * value:.2g}%" if value < 0.0995 else f"{100 * value:.0f}%"


def _ends(interval: Interval | None) -> str:
    return "-" if interval is None else f"{percent(interval.low)} to {percent(interval.high)}"


def _wrong(misjudged: Misjudgement) -> str:
    return (
        f"{percent(misjudged.typical - 1)} or more in half of all cases, and by "
        f"{percent(misjudged.seldom - 1)} or more in one of {ONE_IN}"
    )


def _trials(trials: int, configurations: int) -> str:
    return counted(round(trials / configurations), "trial")


def _deviation(condition: Condition) -> float:
    found = condition.perturbed.get(EVERYTHING)
    return found.spread.deviation if found else -1.0
