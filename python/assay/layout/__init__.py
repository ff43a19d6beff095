"""Links programs again for each block: the addresses of code and data are drawn at random."""

from assay.layout.layouts import Layouts

__all__ = ["Layouts"]
