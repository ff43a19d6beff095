"""Assay: a laboratory for honest performance experiments on concurrent software."""

# Nothing is imported here: until `assay.cli.main` runs, Ctrl-C prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

__version__ = "0.1.0"


def open(path: "str | Path") -> "Any":
    """Open a store and give its contents as pandas data frames, as a satellite does (`assay.open`).

    Args:
        path: the store's file, or the URL of one on a server.

    Raises:
        AssayError: there is no store, it cannot be read, or the satellite or pandas is not installed.
    """
    from assay import errors, extras, satellites  # noqa: PLC0415 - see above

    data = satellites.added("assay.open")
    if not data:
        raise errors.AssayError(f"assay.open: {satellites.lacking('assay-foreign')}")
    extras.require("pandas", "assay.open")
    return data["frames"].load()(path)
