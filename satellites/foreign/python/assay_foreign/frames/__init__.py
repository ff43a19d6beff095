"""A store as pandas data frames, for notebooks and for other tools.

with assay.open("results/assay.sqlite") as data:
    trials = data.trials()                      # the campaign begun last
    trials.groupby(["subject", "threads"])["throughput"].median()
    data.verdicts()
"""

from assay_foreign.frames.data import Data
from assay_foreign.frames.write import FORMATS, write_tables

__all__ = ["FORMATS", "Data", "write_tables"]
