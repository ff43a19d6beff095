"""How probable an outcome is that is far worse than is typical of its condition.

No median or mean shows it: Blackwell (1998, section 3.1) finds configurations with a fair share on average of
which 7% starve one side.
"""

from collections.abc import Sequence

from assay.analysis.aa import binomial_interval
from assay.analysis.intervals import median
from assay.analysis.types import Pathological
from assay.experiment.metrics import Better


def pathological(values: Sequence[float], share: float, better: Better) -> Pathological | None:
    """Count the values that are worse than a share of their median, with the exact interval of that rate.

    The interval holds for independent trials. Where less is better, worse than a share is more than the
    median over it.

    Args:
        values: of one condition, finite.
        share: above 0 and below 1.

    Returns:
        None without values, or where their median is not above 0: it has no share then.
    """
    center = median(values) if values else 0.0
    if center <= 0:
        return None
    bound = center * share if better == "higher" else center / share
    worse = sum(value < bound if better == "higher" else value > bound for value in values)
    interval = binomial_interval(worse, len(values))
    return Pathological(bound, worse, len(values), worse / len(values), interval)
