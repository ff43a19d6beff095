"""Every rule. `guide/ID.md` explains each: what it sees, why it matters, what to do."""

from assay.audit import trials, workload
from assay.audit.design import FamilyTooLarge, Oversubscribed, ShortTrials, TooFewBlocks, Unpinned
from assay.audit.host import (
    CampaignDrift,
    DifferentBuilds,
    EnvironmentChanged,
    FixedLayout,
    FrequencyScaling,
    HostChanged,
    MissingCalibration,
    UnoptimisedBuild,
)
from assay.audit.results import MemoryUse, SeveralModes, SubjectAgainst, VerdictsDifferByMode
from assay.audit.types import Evidence, Rule
from assay.audit.validations import Validate

DESIGN_RULES: tuple[Rule[Evidence], ...] = (
    TooFewBlocks(),
    FamilyTooLarge(),
    ShortTrials(),
    Oversubscribed(),
    Unpinned(),
    workload.RejectedEngine(),
    workload.NotReplayable(),
)
"""Those that can tell from the experiment alone, before it runs."""

RULES: tuple[Rule[Evidence], ...] = (
    trials.InvalidTrials(),
    Validate(),
    trials.MissingMetric(),
    UnoptimisedBuild(),
    *DESIGN_RULES,
    VerdictsDifferByMode(),
    SubjectAgainst(),
    HostChanged(),
    EnvironmentChanged(),
    DifferentBuilds(),
    MissingCalibration(),
    SeveralModes(),
    trials.NoSteadyState(),
    trials.WarmUp(),
    trials.DRIFT,
    trials.VARIATION,
    CampaignDrift(),
    trials.PREEMPTED,
    trials.MIGRATED,
    trials.PAGED,
    FrequencyScaling(),
    FixedLayout(),
    MemoryUse(),
    workload.OVERLOADED,
    workload.STARVED,
    trials.UNFAIR,
    trials.GENERATION,
)
"""Among findings of the same severity, the order in which they are shown."""
