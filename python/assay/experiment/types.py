"""The plain types of an experiment, as the plan, the audit and the report read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

Level = str | int | float


@dataclass(frozen=True)
class Comparison:
    """What the verdicts are about.

    Attributes:
        metric: the metric compared.
        factor: the factor whose levels are compared.
        baseline: the level of that factor that every other is compared with.
        smallest_effect_percent: differences below this are of no interest; above 0, at most 100.
        better: whether a higher or a lower value of the metric is better.
    """

    metric: str
    factor: str
    baseline: Level
    smallest_effect_percent: float
    better: Literal["higher", "lower"]


@dataclass(frozen=True)
class Design:
    """How often and with what chance the conditions are run.

    Attributes:
        blocks: how many times each condition is run.
        seed: seed of the plan; None draws one.
        exclude: rules; a condition that matches every factor of one of them is left out.
        key_range_percent: how far the key range is perturbed either way; 0 leaves it alone.
    """

    blocks: int
    seed: int | None
    exclude: tuple[Mapping[str, tuple[Level, ...]], ...]
    key_range_percent: float


@dataclass(frozen=True)
class Experiment:
    """A question about software, as one TOML file asks it.

    Attributes:
        factors: factor -> its levels, in the order of the file.
        programs: subject -> the program of one's own that runs it, an absolute path.
        fixed: setting -> value where no factor changes it; defaults are filled in.
        changes: factor -> level -> the settings that this level changes.
        source: the file's text.
        path: the file.
    """

    name: str
    question: str
    factors: Mapping[str, tuple[Level, ...]]
    comparison: Comparison
    design: Design
    programs: Mapping[str, Path]
    fixed: Mapping[str, Any]
    changes: Mapping[str, Mapping[Level, Mapping[str, Any]]]
    source: str
    path: Path

    def conditions(self) -> list[dict[str, Level]]:
        """Return every condition that is not excluded, as factor -> level; the last factor varies fastest."""
        every = (dict(zip(self.factors, levels, strict=True)) for levels in product(*self.factors.values()))
        return [condition for condition in every if not self._excluded(condition)]

    def context(self, condition: Mapping[str, Level]) -> tuple[Level, ...]:
        """Return the levels of a condition less that of the compared factor."""
        return tuple(condition[factor] for factor in self.factors if factor != self.comparison.factor)

    def settings(self, condition: Mapping[str, Level]) -> dict[str, Any]:
        """Return the trial settings of a condition, before any perturbation."""
        settings = dict(self.fixed)
        for factor, level in condition.items():
            settings |= self.changes[factor][level]
        return settings

    def _excluded(self, condition: Mapping[str, Level]) -> bool:
        return any(
            all(condition[factor] in levels for factor, levels in rule.items())
            for rule in self.design.exclude
        )
