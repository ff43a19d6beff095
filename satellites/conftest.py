"""What tests of satellites share with those of the core."""

from conftest import assay, no_pages, prefix

__all__ = ["assay", "no_pages", "prefix"]
