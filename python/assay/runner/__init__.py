"""Runs trials: each in a process of its own, with what became of it as an `Outcome`."""
