"""Vega-Altair, which is loaded when the first specification is made: it is an extra, and slow to load."""

from typing import TYPE_CHECKING, Any

from assay import extras

if TYPE_CHECKING:
    from altair import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """Return what Altair has under a name.

        Raises:
            AssayError: it is not installed.
        """
        extras.require("altair", "a chart")
        import altair  # noqa: PLC0415 - an extra

        return getattr(altair, name)
