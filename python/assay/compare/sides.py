"""One side of a comparison: a campaign, or one of its conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.experiment import Experiment, parse
from assay.experiment.schema import nearest
from assay.plan.types import Level
from assay.store import Store
from assay.store.types import CampaignSummary, StoredTrial


@dataclass(frozen=True)
class Side:
    """What is compared with another side.

    Attributes:
        name: as the user called it.
        store: the file that holds it.
        trials: all ended trials of the campaign.
        condition: the one condition that is meant; None for every one.
    """

    name: str
    store: Path
    campaign: CampaignSummary
    experiment: Experiment
    trials: tuple[StoredTrial, ...]
    condition: Mapping[str, Level] | None = None


def campaign_side(store: Store, campaign: int | None, name: str) -> Side:
    """Return a campaign as a side; the one begun last where no number is given.

    Raises:
        AssayError: there is no such campaign.
    """
    summary = store.campaign(campaign)
    experiment = parse(summary.source, Path(summary.directory) / f"{summary.experiment}.toml")
    return Side(name, store.path, summary, experiment, tuple(store.trials(summary.id)))


def condition_side(campaign: Side, text: str) -> Side:
    """Return one condition of a campaign, written as `factor=level,factor=level`, as a side.

    Factors with a single level need not be named.

    Raises:
        AssayError: it names no condition, or more than one.
    """
    factors = campaign.experiment.factors
    wanted: dict[str, Level] = {}
    for part in text.split(","):
        factor, _, written = part.partition("=")
        if factor not in factors:
            raise AssayError(f"{text}: {factor} is no factor; {nearest(factor, list(factors))}")
        levels = {str(level): level for level in factors[factor]}
        if written not in levels:
            raise AssayError(f"{text}: {written} is no level of {factor}; {nearest(written, list(levels))}")
        wanted[factor] = levels[written]
    found = [each for each in campaign.experiment.conditions() if wanted.items() <= each.items()]
    if not found:
        raise AssayError(f"{text}: the experiment leaves this condition out")
    if len(found) > 1:
        missing = ", ".join(factor for factor in factors if factor not in wanted)
        raise AssayError(f"{text}: means {len(found)} conditions; name the level of {missing} too")
    return Side(text, campaign.store, campaign.campaign, campaign.experiment, campaign.trials, found[0])
