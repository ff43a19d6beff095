"""Lets `python -m assay` stand for the `assay` command."""

from assay.cli import main

main()
