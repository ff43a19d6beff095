"""The rules of the user's own: what an experiment's [[validate]] tables ask of its metrics."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import isfinite

from assay.analysis import median, median_interval
from assay.audit.types import Evidence, numbers
from assay.experiment.types import Validation
from assay.findings import Finding
from assay.plan.types import Level
from assay.store.types import StoredTrial
from assay.words import condition_name, counted


class Validate:
    """What the experiment itself says must hold and does not."""

    id = "validate"
    title = "A rule of the experiment is violated"
    source = "the experiment's file"

    def check(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield at most one finding for each rule, and one of what of it could not be checked."""
        for rule in evidence.experiment.validations:
            if not evidence.valid:
                return
            if rule.must != "present" and not any(rule.metric in trial.metrics for trial in evidence.valid):
                yield Finding(
                    self.id,
                    f"{_stated(rule)}: no valid trial reports {rule.metric}, so nothing was checked.",
                    (),
                    {"trials": 0, "valid": len(evidence.valid)},
                    "Name a metric that trials report; `assay show` lists those of a trial.",
                    rule.severity,
                )
            elif rule.factor is None:
                yield from self._trials(evidence, rule)
            else:
                yield from self._trend(evidence, rule, rule.factor)

    def _trials(self, evidence: Evidence, rule: Validation) -> Iterator[Finding]:
        found = evidence.by_condition(lambda trial: trial.status == "valid" and _violates(trial, rule))
        violating = numbers(found)
        if violating:
            example = next(trial for trials in found.values() for trial in trials)
            value = example.metrics.get(rule.metric)
            yield Finding(
                self.id,
                f"{_stated(rule)}: {len(violating)} of {counted(evidence.valid, 'valid trial')} violate it"
                f" (for example trial {example.id}: {'missing' if value is None else f'{value:.6g}'}).",
                tuple(f"{name}: {len(trials)}" for name, trials in found.items()),
                {"trials": len(violating), "valid": len(evidence.valid)},
                "`assay show` gives the whole record of a trial.",
                rule.severity,
                violating,
            )

    def _trend(self, evidence: Evidence, rule: Validation, factor: str) -> Iterator[Finding]:
        """Neighbouring medians may be out of order by chance; only intervals that do not overlap count.

        Conditions come in the order of a factor's levels.
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
                values = [_values(evidence, condition, rule.metric) for condition in (first, second)]
                before, after = (median_interval(each) for each in values)
                if before is None or after is None:
                    unchecked.append(f"{condition_name(first)} to {second[factor]}")
                    continue
                if before.low > after.high if rule.must == "increase" else before.high < after.low:
                    medians = " then ".join(f"{median(each):.4g}" for each in values)
                    where.append(f"{condition_name(first)} to {second[factor]}: {medians}")
        checked = steps - len(unchecked)
        if where:
            yield Finding(
                self.id,
                f"{_stated(rule)}: {len(where)} of {counted(checked, 'step')} from one level to the next"
                f" {'goes' if len(where) == 1 else 'go'} the other way.",
                tuple(where),
                {"steps": len(where), "checked": checked},
                "Look at the distributions of these conditions.",
                rule.severity,
            )
        if unchecked or not steps:
            yield Finding(
                self.id,
                f"{_stated(rule)}: not checked: "
                + (
                    f"{len(unchecked)} of {counted(steps, 'step')} from one level to the next, for want of"
                    " values for intervals of both medians."
                    if steps
                    else f"no two conditions differ in {factor} alone."
                ),
                tuple(unchecked),
                {"unchecked": len(unchecked), "steps": steps},
                f"A median needs 6 values: run more blocks, or see why trials lack {rule.metric}."
                if steps
                else f"Give {factor} two levels in the same circumstances, or leave the rule out.",
                "note",
            )


def _stated(rule: Validation) -> str:
    """Write what a rule asks for."""
    low, high = rule.bounds or (0.0, 0.0)
    asked = {
        "present": "be present",
        "positive": "be positive",
        "equal": f"equal {low:g}",
        "between": f"lie between {low:g} and {high:g}",
        "increase": f"not fall with {rule.factor}",
        "decrease": f"not rise with {rule.factor}",
    }
    return f"{rule.metric} must {asked[rule.must]}"


def _violates(trial: StoredTrial, rule: Validation) -> bool:
    value = trial.metrics.get(rule.metric)
    if value is None:
        return True
    if rule.must == "present":
        return False
    if rule.must == "positive" or rule.bounds is None:
        return value <= 0
    return not rule.bounds[0] <= value <= rule.bounds[1]


def _values(evidence: Evidence, condition: Mapping[str, Level], metric: str) -> list[float]:
    trials = evidence.valid_by_condition.get(condition_name(condition), [])
    return [trial.metrics[metric] for trial in trials if isfinite(trial.metrics.get(metric, float("nan")))]
