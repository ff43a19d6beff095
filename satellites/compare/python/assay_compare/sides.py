"""One side of a comparison: a campaign, or one of its conditions."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.errors import AssayError
from assay.experiment import Experiment
from assay.plan.types import Level
from assay.store import Store, StoreName
from assay.store.types import CampaignSummary, StoredTrial
from assay.words import nearest

Reading = list[tuple[str, Level]]
"""The parts of a condition's name as factor and level."""


@dataclass(frozen=True)
class Side:
    """What is compared with another side.

    Attributes:
        name: as the user called it.
        store: the file that holds it, resolved.
        trials: all ended trials of the campaign.
        condition: the one condition that is meant; None for every one.
        environments: digest -> content, as `Store.environments` gives it.
    """

    name: str
    store: StoreName
    campaign: CampaignSummary
    experiment: Experiment
    trials: tuple[StoredTrial, ...]
    condition: Mapping[str, Level] | None = None
    environments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def held_in(self) -> tuple[StoreName, int]:
        """Its campaign, whatever it is called: the store's file and the number in it."""
        return self.store, self.campaign.id


def campaign_side(store: Store, campaign: int | None, name: str) -> Side:
    """Return a campaign as a side; the one begun last where no number is given.

    Raises:
        AssayError: there is no such campaign.
    """
    summary = store.campaign(campaign)
    experiment = store.experiment(summary.id)
    if experiment.varied:
        raise AssayError(
            f"campaign {summary.id} measures sensitivity, in configurations that no other campaign has; "
            f"see what it says: assay report --campaign {summary.id}"
        )
    return Side(
        name,
        store.name.resolve(),
        summary,
        experiment,
        tuple(store.trials(summary.id)),
        environments=store.environments(summary.id),
    )


def condition_side(campaign: Side, text: str) -> Side:
    """Return one condition of a campaign, written as `factor=level,factor=level`, as a side.

    Factors with a single level need not be named. A level may hold commas.

    Raises:
        AssayError: it names no condition, or more than one.
    """
    factors = campaign.experiment.factors
    readings = list(_readings(text, factors))
    once = [dict(reading) for reading in readings if len(dict(reading)) == len(reading)]
    if not once:
        raise AssayError(f"{text}: {_why_no_condition(text, factors, readings)}")
    conditions = campaign.experiment.conditions()
    matching = [
        condition for condition in conditions if any(levels.items() <= condition.items() for levels in once)
    ]
    if not matching:
        raise AssayError(f"{text}: the experiment leaves this condition out")
    if len(matching) > 1:
        missing = ", ".join(factor for factor in factors if any(factor not in levels for levels in once))
        raise AssayError(
            f"{text}: means {len(matching)} conditions; name the level of {missing or 'each'} too"
        )
    return replace(campaign, name=text, condition=matching[0])


def _readings(text: str, factors: Mapping[str, tuple[Level, ...]]) -> Iterator[Reading]:
    """Yield every way to read a text as `factor=level` parts with commas in between."""
    for factor, levels in factors.items():
        for level in levels:
            part = f"{factor}={level}"
            if text == part:
                yield [(factor, level)]
            elif text.startswith(f"{part},"):
                for rest in _readings(text[len(part) + 1 :], factors):
                    yield [(factor, level), *rest]


def _why_no_condition(
    text: str, factors: Mapping[str, tuple[Level, ...]], readings: Sequence[Reading]
) -> str:
    if readings:  # each of them names a factor twice
        [(twice, _)] = Counter(factor for factor, _ in readings[0]).most_common(1)
        return f"{twice} is named twice; name one level of each factor"
    parts = [part.partition("=") for part in text.split(",")]
    factor, written = next(
        (factor, written) for factor, _, written in parts if written not in map(str, factors.get(factor, ()))
    )
    if factor not in factors:
        return f"{factor} is not a factor; {nearest(factor, list(factors))}"
    return f"{written} is not a level of {factor}; {nearest(written, factors[factor])}"
