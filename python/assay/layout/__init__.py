"""Links programs anew for each block: where code and data lie is drawn like all else that is arbitrary."""

from assay.layout.layouts import Layouts

__all__ = ["Layouts"]
