"""A campaign with all that it needs in one file, and its replay on another machine."""

FORMAT = 1
"""The version of what a bundle holds and how, in its `bundle.json`."""
