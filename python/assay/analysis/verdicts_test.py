import math

import numpy as np
import pytest

from assay.analysis.types import Look, Verdict
from assay.analysis.verdicts import Question, decide, estimates

QUESTION = Question(5.0, "none", Look(number=1, of=1, blocks=12, confidence=0.95))


@pytest.mark.parametrize(
    ("of_the_smallest_effect", "word"),
    [(0.98, "equivalent"), (-0.98, "equivalent"), (1.02, "faster"), (-1.02, "slower")],
)
def test_equivalent_is_what_lies_within_the_smallest_effect(
    of_the_smallest_effect: float, word: Verdict
) -> None:
    ratios = of_the_smallest_effect * math.log1p(0.05) + np.linspace(-1e-5, 1e-5, 12)
    (decided,) = decide(estimates([ratios], ["higher"], QUESTION), QUESTION)
    assert decided.verdict == word
