"""Packages that an installation may lack, because they are large and few commands need them."""

from importlib.util import find_spec

from assay.errors import AssayError

_EXTRAS = {
    "altair": ("altair", "charts"),
    "vl_convert": ("vl-convert-python", "charts"),
    "datasette": ("datasette", "serve"),
    "pandas": ("pandas", "parquet"),
    "pyarrow": ("pyarrow", "parquet"),
    "psycopg": ("psycopg", "postgresql"),
}
"""Module -> the package that it comes with, and the extra of `pyproject.toml` that asks for it."""


def available(module: str) -> bool:
    """Tell whether an optional module is installed; it is not loaded."""
    return find_spec(module) is not None


def remedy(module: str) -> str:
    """Return the command that installs an optional module."""
    return f"pip install 'assay[{_EXTRAS[module][1]}]'"


def require(module: str, purpose: str) -> None:
    """Make sure that an optional module is installed.

    Args:
        module: one of those that an extra asks for.
        purpose: what needs it, as the subject of a sentence.

    Raises:
        AssayError: it is not installed.
    """
    if not available(module):
        raise AssayError(f"{purpose} needs {_EXTRAS[module][0]}, which is not installed: {remedy(module)}")
