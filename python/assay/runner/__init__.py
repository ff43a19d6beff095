"""Runs trials, each in its own process, and returns an `Outcome` for each."""
