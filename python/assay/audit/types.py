"""The plain types of the audit: rules and their evidence."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from assay.analysis import Analysis, Verdict, summarise
from assay.analysis.verdicts import verdict_word
from assay.experiment.types import Experiment
from assay.findings import Finding, Severity
from assay.plan.types import Level
from assay.store.types import StoredTrial
from assay.words import condition_name, counted

GUIDE = Path(__file__).parent / "guide"
"""The folder with the pages of the core's rules."""

Seen = TypeVar("Seen")
Finder = Callable[[Seen], Iterable[Finding]]
"""Returns the findings of a rule about its object."""


@dataclass(frozen=True)
class Rule(Generic[Seen]):
    """A rule about one known pitfall, for a campaign or for a comparison of several.

    Attributes:
        id: its name in lower case with hyphens.
        title: its subject in a few words.
        source: the source of the pitfall or of its limit.
        check: yields the findings.
        guide: the folder with the page that explains it, `ID.md`.
    """

    id: str
    title: str
    source: str
    check: Finder[Seen]
    guide: Path = GUIDE


def rule(rule_id: str, title: str, source: str, guide: Path = GUIDE) -> Callable[[Finder[Seen]], Rule[Seen]]:
    """Return a decorator that makes a rule from a function; its findings get the rule's id."""

    def decorated(find: Finder[Seen]) -> Rule[Seen]:
        def check(seen: Seen) -> Iterator[Finding]:
            return (replace(finding, rule=rule_id) for finding in find(seen))

        return Rule(rule_id, title, source, check, guide)

    return decorated


class Evidence:
    """The object of campaign rules: the arguments of `audit`; `trials` is None before the campaign."""

    def __init__(
        self,
        experiment: Experiment,
        trials: Iterable[StoredTrial] | None,
        host: Mapping[str, Any],
        analysis: Analysis | None = None,
        environments: Mapping[str, Any] | None = None,
        *,
        texts: Mapping[int, Mapping[str, Sequence[str]]] | None = None,
        programs: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.experiment = experiment
        self.has_run = trials is not None
        self.trials = sorted(trials or (), key=lambda trial: trial.ordinal)
        self.host = host
        self.environments = environments or {}
        self.texts = texts or {}
        self.programs = programs or {}
        self._analysis = analysis

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis of the trials."""
        return self._analysis or summarise(self.trials, self.experiment)

    @cached_property
    def valid(self) -> list[StoredTrial]:
        """The trials whose metrics may be used."""
        return [trial for trial in self.trials if trial.status == "valid"]

    @cached_property
    def groups(self) -> Mapping[int, list[StoredTrial]]:
        """Number of a group -> its ended trials."""
        groups: dict[int, list[StoredTrial]] = defaultdict(list)
        for trial in self.trials:
            groups[trial.group].append(trial)
        return groups

    @cached_property
    def valid_by_condition(self) -> Mapping[str, list[StoredTrial]]:
        """Name of condition -> its valid trials, if it has any; in the experiment's order."""
        return self.by_condition(self.valid)

    def by_condition(self, trials: Iterable[StoredTrial]) -> dict[str, list[StoredTrial]]:
        """Return name of condition -> the trials that ran in it, if any; in the experiment's order."""
        conditions: dict[str, list[StoredTrial]] = {
            condition_name(condition): [] for condition in self.experiment.conditions()
        }
        for trial in trials:
            conditions[condition_name(trial.levels)].append(trial)
        return {name: members for name, members in conditions.items() if members}

    def counted(self, trials: Iterable[StoredTrial]) -> tuple[str, ...]:
        """Return in words each condition of the trials, with their number."""
        return tuple(f"{name}: {len(members)}" for name, members in self.by_condition(trials).items())

    def settings(self, trial: StoredTrial) -> dict[str, Any]:
        """Return the settings of a trial's condition."""
        return self.experiment.settings(trial.levels)

    def settings_by_condition(self) -> dict[str, dict[str, Any]]:
        """Return name of condition -> its settings."""
        conditions = self.experiment.conditions()
        return {condition_name(condition): self.experiment.settings(condition) for condition in conditions}

    def of_trials(
        self, trials: Sequence[StoredTrial], says: str, remedy: str, severity: Severity = "warning"
    ) -> Iterator[Finding]:
        """Yield a finding about valid trials, if there are any; its message begins with their number."""
        if trials:
            yield Finding(
                f"{len(trials)} of {counted(self.valid, 'valid trial')} {says}",
                self.counted(trials),
                {"trials": len(trials), "valid": len(self.valid)},
                remedy,
                severity,
                numbers(trials),
            )

    def name_of(self, context: Mapping[str, Level], level: Level) -> str:
        """Return the name of the condition with a level of the compared factor in a context."""
        levels = {**context, self.experiment.comparison.factor: level}
        return condition_name({factor: levels[factor] for factor in self.experiment.factors})

    def verdict_word(self, verdict: Verdict, metric: str) -> str:
        """Return the word for a verdict on a metric."""
        return verdict_word(verdict, metric, self.experiment.unit(metric))

    def context_name(self, trial: StoredTrial) -> str:
        """Return the name of the context of a trial."""
        compared = self.experiment.comparison.factor
        return condition_name({name: level for name, level in trial.levels.items() if name != compared})


def of_places(
    where: Iterable[str], what: str, says: str, remedy: str, severity: Severity = "warning"
) -> Iterator[Finding]:
    """Yield a finding about places, if there are any; their number is evidence with the name `what`."""
    places = tuple(where)
    if places:
        yield Finding(says, places, {what: len(places)}, remedy, severity)


def numbers(trials: Iterable[StoredTrial]) -> tuple[int, ...]:
    """Return the numbers of trials, sorted."""
    return tuple(sorted(trial.id for trial in trials))
