"""Assay: a laboratory for honest performance experiments on concurrent software."""

# Nothing is imported here: until `assay.cli.main` runs, Ctrl-C prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from assay.frames import Data

__version__ = "0.1.0"


def open(path: "str | Path") -> "Data":
    """Open a store and give its contents as pandas data frames; see `assay.frames`.

    Args:
        path: the store's file.

    Raises:
        AssayError: there is no store, it cannot be read, or pandas is not installed.
    """
    from assay import extras  # noqa: PLC0415 - see above

    extras.require("pandas", "assay.open")
    from assay.frames import Data  # noqa: PLC0415 - pandas is slow to load, and no command needs it

    return Data(path)
