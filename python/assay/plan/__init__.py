"""Plans trials: an experiment and a seed give the trials of a campaign in their order."""
