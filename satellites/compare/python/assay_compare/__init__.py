"""Compares what did not run as one experiment's comparison: conditions, campaigns, or stores.

sides = [campaign_side(store, 3), campaign_side(store, 5)]
compared = compare(sides)           # every later side against the first
compared.changes                    # which verdicts of the first side the others do not share
compared.findings                   # what to know before believing a verdict
"""

from assay_compare.compare import Compared, compare
from assay_compare.rules import RULES
from assay_compare.sides import Side, campaign_side, condition_side

__all__ = ["RULES", "Compared", "Side", "campaign_side", "compare", "condition_side"]
