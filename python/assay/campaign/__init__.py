"""Campaigns: `run_campaign` runs an experiment's plan from start to end, or resumes it.

with StopSignals() as stop:
    result = run_campaign(path, experiment, stop, Reporter())
"""

from assay.campaign.campaign import BrokenCampaignError, CampaignResult, run_campaign
from assay.campaign.prepare import plan_trials
from assay.campaign.rehearsal import RehearsalError, rehearse
from assay.campaign.reporter import Reporter
from assay.campaign.scheduler import NothingExtractedError

__all__ = [
    "BrokenCampaignError",
    "CampaignResult",
    "NothingExtractedError",
    "RehearsalError",
    "Reporter",
    "plan_trials",
    "rehearse",
    "run_campaign",
]
