"""Everything that a report says about a campaign, as plain values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis import Analysis, ConditionSummary, summarise
from assay.audit import audit
from assay.experiment import Experiment
from assay.findings import Finding
from assay.plan.types import Level
from assay.store import Store
from assay.store.types import CampaignSummary, Decision, StoredTrial


@dataclass(frozen=True)
class Report:
    """A campaign with what analysis and audit make of it.

    Attributes:
        numbers: levels of a condition, in the order of the factors -> its number from 1.
        decisions: what the runner decided, in the order of time.
        example: the result of the first trial that told its environment; empty where none did.
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

    def number(self, of: StoredTrial | ConditionSummary) -> int:
        """Return the number of a condition, or of a trial's."""
        return self.numbers[tuple(of.levels[factor] for factor in self.experiment.factors)]

    def context(self, summary: ConditionSummary) -> dict[str, Level]:
        """Return the levels of a condition less that of the compared factor."""
        return {name: level for name, level in summary.levels.items() if name != self.analysis.factor}


def gather(store: Store, campaign_id: int) -> Report:
    """Analyse and audit a campaign.

    Raises:
        AssayError: there is no such campaign.
    """
    campaign = store.campaign(campaign_id)
    experiment = store.experiment(campaign_id)
    trials = store.trials(campaign_id)
    analysis = summarise(trials, experiment)
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
        ),
        numbers={
            tuple(condition.values()): number
            for number, condition in enumerate(experiment.conditions(), start=1)
        },
        decisions=store.decisions(campaign_id),
        example={} if reporting is None else store.record_of(reporting)["result"],
        records=store.records_of,
    )
