"""The plain types of the audit: what a rule looks at and what it says."""

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
"""From what a rule looks at to what is wrong: one finding for each kind of thing."""


@dataclass(frozen=True)
class Rule(Generic[Seen]):
    """One known pitfall, of what a campaign or a comparison of several shows.

    Attributes:
        id: its name in lower case with hyphens.
        title: what it is about, a few words.
        source: where the pitfall is described or its limit comes from.
        check: yields what is wrong.
        guide: the folder with the page that explains it, `ID.md`.
    """

    id: str
    title: str
    source: str
    check: Finder[Seen]
    guide: Path = GUIDE


def rule(rule_id: str, title: str, source: str, guide: Path = GUIDE) -> Callable[[Finder[Seen]], Rule[Seen]]:
    """Return a decorator that makes a rule of a function, whose findings get the rule's id."""

    def decorated(find: Finder[Seen]) -> Rule[Seen]:
        def check(seen: Seen) -> Iterator[Finding]:
            return (replace(finding, rule=rule_id) for finding in find(seen))

        return Rule(rule_id, title, source, check, guide)

    return decorated


class Evidence:
    """What the rules look at: what `audit` is given, `trials` being None before there are any."""

    def __init__(
        self,
        experiment: Experiment,
        trials: Iterable[StoredTrial] | None,
        host: Mapping[str, Any],
        analysis: Analysis | None = None,
        environments: Mapping[str, Any] | None = None,
        *,
        texts: Mapping[int, Mapping[str, Sequence[str]]] | None = None,
    ) -> None:
        self.experiment = experiment
        self.has_run = trials is not None
        self.trials = sorted(trials or (), key=lambda trial: trial.ordinal)
        self.host = host
        self.environments = environments or {}
        self.texts = texts or {}
        self._analysis = analysis

    @cached_property
    def analysis(self) -> Analysis:
        """The verdicts and what they rest on."""
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
        """Name of condition -> its valid trials, where there are any; in the experiment's order."""
        return self.by_condition(self.valid)

    def by_condition(self, trials: Iterable[StoredTrial]) -> dict[str, list[StoredTrial]]:
        """Return name of condition -> which of some trials ran in it, where any did.

        The conditions are in the experiment's order.
        """
        conditions: dict[str, list[StoredTrial]] = {
            condition_name(condition): [] for condition in self.experiment.conditions()
        }
        for trial in trials:
            conditions[condition_name(trial.levels)].append(trial)
        return {name: members for name, members in conditions.items() if members}

    def counted(self, trials: Iterable[StoredTrial]) -> tuple[str, ...]:
        """Return each condition in which some trials ran, with their number."""
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
        """Yield what is said of some valid trials, where there are any, after how many they are."""
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
        """Return what people read for a verdict on a metric."""
        return verdict_word(verdict, metric, self.experiment.unit(metric))

    def context_name(self, trial: StoredTrial) -> str:
        """Return the name of the context of a trial."""
        compared = self.experiment.comparison.factor
        return condition_name({name: level for name, level in trial.levels.items() if name != compared})


def of_places(
    where: Iterable[str], what: str, says: str, remedy: str, severity: Severity = "warning"
) -> Iterator[Finding]:
    """Yield what is said of some places, where there are any; their number is evidence called `what`."""
    places = tuple(where)
    if places:
        yield Finding(says, places, {what: len(places)}, remedy, severity)


def numbers(trials: Iterable[StoredTrial]) -> tuple[int, ...]:
    """Return the numbers of some trials, in order."""
    return tuple(sorted(trial.id for trial in trials))
