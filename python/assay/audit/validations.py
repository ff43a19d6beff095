"""The user's own rules: what an experiment's [[validate]] tables require of metrics and texts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite

from assay.analysis import median, median_interval
from assay.audit.types import Evidence, numbers, rule
from assay.experiment.types import Validation
from assay.findings import Finding
from assay.plan.types import Level
from assay.store.types import StoredTrial
from assay.words import agreed, condition_name, counted, printable


@rule("validate", "A rule of the experiment is violated", "the experiment's file")
def validate(evidence: Evidence) -> Iterator[Finding]:
    """Find violations of the experiment's own rules."""
    for validation in evidence.experiment.validations:
        if not evidence.valid:
            return
        if validation.is_ != "present" and not any(
            _reported(evidence, trial, validation) for trial in evidence.valid
        ):
            yield Finding(
                f"{_stated(validation)}: no valid trial reports {validation.about}, so nothing was checked.",
                (),
                {"trials": 0, "valid": len(evidence.valid)},
                f"Name a {'metric' if validation.text is None else 'text'} that trials report; `assay store"
                " show` gives all that a trial reports.",
                validation.severity,
            )
        elif validation.factor is None:
            yield from _trials(evidence, validation)
        else:
            yield from _trend(evidence, validation, validation.factor)


def _trials(evidence: Evidence, validation: Validation) -> Iterator[Finding]:
    violating = [trial for trial in evidence.valid if _violates(evidence, trial, validation)]
    if violating:
        reported = ", ".join(map(_shown, _reported(evidence, violating[0], validation)))
        yield Finding(
            f"{_stated(validation)}: {len(violating)} of {counted(evidence.valid, 'valid trial')}"
            f" {agreed(violating, 'violates', 'violate')} it"
            f" (for example trial {violating[0].id}: {reported or 'missing'}).",
            evidence.counted(violating),
            {"trials": len(violating), "valid": len(evidence.valid)},
            "`assay store show` gives the whole record of a trial.",
            validation.severity,
            numbers(violating),
        )


def _trend(evidence: Evidence, validation: Validation, factor: str) -> Iterator[Finding]:
    """Find medians that violate a trend over a factor's levels, in their order.

    Neighbouring medians may be out of order by chance; only intervals that do not overlap count.
    """
    lines: dict[tuple[Level, ...], list[Mapping[str, Level]]] = {}
    for condition in evidence.experiment.conditions():
        others = tuple(level for name, level in condition.items() if name != factor)
        lines.setdefault(others, []).append(condition)
    where = []
    unchecked = []
    steps = 0
    for line in lines.values():
        for first, second in pairwise(line):
            steps += 1
            values = [_values(evidence, condition, validation.about) for condition in (first, second)]
            before, after = map(median_interval, values)
            if before is None or after is None:
                unchecked.append(f"{condition_name(first)} to {second[factor]}")
                continue
            if before.low > after.high if validation.increases_with else before.high < after.low:
                medians = " then ".join(f"{median(sample):.4g}" for sample in values)
                where.append(f"{condition_name(first)} to {second[factor]}: {medians}")
    checked = steps - len(unchecked)
    if where:
        yield Finding(
            f"{_stated(validation)}: {len(where)} of {counted(checked, 'step')} from one level to the next"
            f" {'violates' if len(where) == 1 else 'violate'} it.",
            tuple(where),
            {"steps": len(where), "checked": checked},
            "Look at the distributions of these conditions.",
            validation.severity,
        )
    if unchecked or not steps:
        why = f"no two conditions differ in {factor} alone"
        remedy = f"Give {factor} two levels in the same circumstances, or leave the rule out."
        if steps:
            why = (
                f"{len(unchecked)} of {counted(steps, 'step')} from one level to the next lack the values for"
                " intervals of both medians"
            )
            remedy = f"A median needs 6 values: run more blocks, or see why trials lack {validation.about}."
        yield Finding(
            f"{_stated(validation)}: not checked: {why}.",
            tuple(unchecked),
            {"unchecked": len(unchecked), "steps": steps},
            remedy,
            "note",
        )


def _stated(validation: Validation) -> str:
    """Return in words what a validation requires."""
    if validation.factor is not None:
        demand = f"not {'fall' if validation.increases_with else 'rise'} with {validation.factor}"
    elif validation.between is not None:
        demand = "lie between {:g} and {:g}".format(*validation.between)
    elif validation.matches is not None:
        demand = f"match {_shown(validation.matches)}"
    elif validation.equals is not None:
        equals = validation.equals
        demand = f"equal {_shown(equals) if isinstance(equals, str) else f'{equals:g}'}"
    else:
        demand = f"be {validation.is_}"
    return f"{validation.about} must {demand}"


def _reported(evidence: Evidence, trial: StoredTrial, validation: Validation) -> Sequence[float | str]:
    """Return the value of a trial's metric, or each text with that name; empty if it reports none."""
    if validation.text is not None:
        return evidence.texts.get(trial.id, {}).get(validation.text, ())
    return [trial.metrics[validation.about]] if validation.about in trial.metrics else []


def _shown(value: float | str) -> str:
    if isinstance(value, str):
        return f"'{printable(value[:60])}{'...' if len(value) > 60 else ''}'"
    return f"{value:.6g}"


def _violates(evidence: Evidence, trial: StoredTrial, validation: Validation) -> bool:
    """Return whether a trial reports nothing, or a value that violates the rule."""
    reported = _reported(evidence, trial, validation)
    return not reported or not all(_holds(value, validation) for value in reported)


def _holds(value: float | str, validation: Validation) -> bool:
    if validation.equals is not None:
        return value == validation.equals
    if isinstance(value, str):
        return validation.matches is None or re.search(validation.matches, value) is not None
    if validation.between is not None:
        return validation.between[0] <= value <= validation.between[1]
    return validation.is_ != "positive" or value > 0


def _values(evidence: Evidence, condition: Mapping[str, Level], metric: str) -> list[float]:
    trials = evidence.valid_by_condition.get(condition_name(condition), [])
    return [trial.metrics[metric] for trial in trials if isfinite(trial.metrics.get(metric, float("nan")))]
