"""Campaigns: an experiment's plan, carried out from start to end.

plan = plan_trials(experiment)
with Store.open(path) as store, runner_lock(path), StopSignals() as stop:
    campaign = Campaign(store, experiment, plan)
    campaign.carry_out(stop, console, say)
"""

from assay.campaign.campaign import Campaign, plan_trials
from assay.campaign.course import NothingExtractedError
from assay.campaign.rehearsal import RehearsalError, rehearse

__all__ = ["Campaign", "NothingExtractedError", "RehearsalError", "plan_trials", "rehearse"]
