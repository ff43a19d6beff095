"""Assay: a laboratory for honest performance experiments on concurrent software."""

__version__ = "0.1.0"
