"""The plain types of the audit: what a rule looks at and what it says."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol, TypeVar

from assay.analysis import Analysis, summarise
from assay.experiment.types import Experiment
from assay.findings import Finding
from assay.plan.types import Level
from assay.store.types import StoredTrial
from assay.words import condition_name

Seen_contra = TypeVar("Seen_contra", contravariant=True)


class Rule(Protocol[Seen_contra]):
    """One known pitfall, of what a campaign or a comparison of several shows."""

    @property
    def id(self) -> str:
        """Its name in lower case with hyphens; `guide/ID.md` explains it."""

    @property
    def title(self) -> str:
        """What it is about, a few words."""

    @property
    def source(self) -> str:
        """Where the pitfall is described or its limit comes from."""

    def check(self, seen: Seen_contra, /) -> Iterable[Finding]:
        """Yield what is wrong: one finding for each kind of thing, however many trials show it."""
        ...


class Evidence:
    """What the rules look at: an experiment, its ended trials, and what is known of the host.

    Args:
        experiment: what was asked.
        trials: the ended trials of a campaign; None before there is one.
        host: what is known of the machine; `processors` is its number of processors.
        analysis: what `summarise` says of the trials, where that is known already.
        environments: digest -> what trials report of machine and program.
    """

    def __init__(
        self,
        experiment: Experiment,
        trials: Iterable[StoredTrial] | None,
        host: Mapping[str, Any],
        analysis: Analysis | None = None,
        environments: Mapping[str, Any] | None = None,
    ) -> None:
        self.experiment = experiment
        self.has_run = trials is not None
        self.trials = sorted(trials or (), key=lambda trial: trial.ordinal)
        self.host = host
        self.environments = environments or {}
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
        return self.by_condition(lambda trial: trial.status == "valid")

    def by_condition(self, include: Callable[[StoredTrial], bool]) -> dict[str, list[StoredTrial]]:
        """Return name of condition -> those of its trials that `include` accepts, where there are any.

        The conditions are in the experiment's order.
        """
        conditions: dict[str, list[StoredTrial]] = {
            condition_name(condition): [] for condition in self.experiment.conditions()
        }
        for trial in self.trials:
            if include(trial):
                conditions[condition_name(trial.levels)].append(trial)
        return {name: trials for name, trials in conditions.items() if trials}

    def name_of(self, context: Mapping[str, Level], level: Level) -> str:
        """Return the name of the condition with a level of the compared factor in a context."""
        levels = {**context, self.experiment.comparison.factor: level}
        return condition_name({factor: levels[factor] for factor in self.experiment.factors})

    def context_name(self, trial: StoredTrial) -> str:
        """Return the name of the context of a trial."""
        compared = self.experiment.comparison.factor
        return condition_name({name: level for name, level in trial.levels.items() if name != compared})


def numbers(by_condition: Mapping[str, Iterable[StoredTrial]]) -> tuple[int, ...]:
    """Return the numbers of some conditions' trials, in order."""
    return tuple(sorted(trial.id for trials in by_condition.values() for trial in trials))
