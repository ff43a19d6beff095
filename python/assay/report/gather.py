"""Everything that a report says about a campaign, as plain values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assay.analysis import Analysis, ConditionSummary, summarise
from assay.analysis.configurations import ConditionSensitivity, condition_sensitivities
from assay.analysis.planning import ComparisonForecast, forecast
from assay.audit import audit
from assay.experiment import Experiment
from assay.experiment.types import REVISION
from assay.findings import Finding
from assay.plan.types import Level
from assay.report import words
from assay.report.answers import Answers, answers_of
from assay.store import Store
from assay.store.types import CampaignSummary, Decision, StoredTrial


@dataclass(frozen=True)
class Report:
    """A campaign with what analysis and audit make of it.

    Attributes:
        numbers: levels of a condition, in the order of the factors -> its number from 1.
        decisions: what the runner decided, in the order of time.
        example: the result of the first trial that reported its environment; empty if none did.
        records: numbers of trials -> their raw records, read from the store while that is open.
    """

    campaign: CampaignSummary
    experiment: Experiment
    trials: list[StoredTrial]
    analysis: Analysis
    findings: list[Finding]
    numbers: dict[tuple[Level, ...], int]
    decisions: list[Decision]
    example: Mapping[str, Any]
    records: Callable[[Sequence[int]], Iterable[Mapping[str, Any]]] = field(default=lambda _: (), repr=False)

    @cached_property
    def answers(self) -> Answers:
        """Every answer with its words."""
        return answers_of(self.experiment, self.analysis)

    @cached_property
    def gate_forecast(self) -> ComparisonForecast | None:
        """What it takes until all have probably passed or failed the gate; None where none is open or that
        is not known.

        What is withheld can never be decided, and blocks that the plan still has are not looked at before.
        About a population of hosts it is not known: more blocks on the same hosts need not help.
        """
        if self.analysis.hosts is not None and self.analysis.hosts.population:
            return None
        open_ = any(of.gate == "undecided" and not of.withheld for of in self.analysis.answers)
        if self.analysis.look is None or not open_:
            return None
        return forecast([self.trials], self.experiment, "gate").slowest

    @property
    def gate(self) -> str:
        """Which comparisons have passed the gate, and how long the others take; empty where there is none."""
        return words.gate(self.analysis, self.gate_forecast)

    @cached_property
    def configurations(self) -> list[ConditionSensitivity]:
        """The conditions of a campaign about sensitivity, in the experiment's order."""
        one_layout = self.campaign.host.get("one_layout", {})
        return condition_sensitivities(self.trials, self.experiment, one_layout)

    @property
    def blocks(self) -> int:
        """How many blocks the verdicts rest on; before the first look, how many have begun."""
        if self.analysis.look is not None:
            return self.analysis.look.blocks
        return max((trial.block for trial in self.trials), default=-1) + 1

    def number(self, measured: StoredTrial | ConditionSummary) -> int:
        """Return the number of a condition, or of the condition of a trial."""
        return self.numbers[tuple(measured.levels[factor] for factor in self.experiment.factors)]

    def context(self, summary: ConditionSummary) -> dict[str, Level]:
        """Return the levels of a condition, without the compared factor."""
        return {name: level for name, level in summary.levels.items() if name != self.analysis.factor}


def _programs(
    store: Store, trials: Iterable[StoredTrial], experiment: Experiment
) -> dict[str, dict[str, str]]:
    """Return subject -> host -> the file that its first trial there ran: its build id, or its digest.

    A subject of several revisions is one for each.
    """
    firsts: dict[tuple[str, str], int] = {}
    for trial in trials:
        if trial.status == "valid":
            subject = str(experiment.settings(trial.levels)["subject"])
            if experiment.revisions:
                subject += f" in {trial.levels[REVISION]}"
            firsts.setdefault((subject, trial.ran_on or ""), trial.id)
    programs: dict[str, dict[str, str]] = {}
    for (subject, host), record in zip(firsts, store.records_of(firsts.values()), strict=True):
        programs.setdefault(subject, {})[host] = str(
            record.get("build_id") or record.get("program_sha256") or ""
        )
    return programs


def gather(store: Store, campaign_id: int, analysis: Analysis | None = None) -> Report:
    """Analyse and audit a campaign; its `analysis` is given if its trials have been analysed already.

    Raises:
        AssayError: there is no such campaign.
    """
    campaign = store.campaign(campaign_id)
    experiment = store.experiment(campaign_id)
    trials = store.trials(campaign_id)
    analysis = analysis or summarise(trials, experiment, store.hosts_planned(campaign_id))
    reporting = next((trial.id for trial in trials if trial.environment is not None), None)
    return Report(
        campaign=campaign,
        experiment=experiment,
        trials=trials,
        analysis=analysis,
        findings=audit(
            experiment,
            trials,
            campaign.host,
            analysis=analysis,
            environments=store.environments(campaign_id),
            texts=store.texts(trials, experiment),
            programs=_programs(store, trials, experiment) if analysis.hosts else {},
        ),
        numbers={
            tuple(condition.values()): number
            for number, condition in enumerate(experiment.conditions(), start=1)
        },
        decisions=store.decisions(campaign_id),
        example={} if reporting is None else store.record_of(reporting)["result"],
        records=store.records_of,
    )
