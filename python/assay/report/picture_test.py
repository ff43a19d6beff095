"""Axes of pictures, where what they show is as small, as large or as equal as numbers get."""

import pytest

from assay.report.charts.axes import LEAST, MOST
from assay.report.picture import _Axis, _DifferenceAxis


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (_Axis, [1, 1]),
        (_Axis, [1 / (1 + 1e-15), 1 + 1e-15]),
        (_Axis, [LEAST, 1, MOST]),
        (_DifferenceAxis, [-LEAST, LEAST]),
        (_DifferenceAxis, [-MOST, MOST]),
        (_DifferenceAxis, [-LEAST, LEAST, MOST]),
    ],
)
def test_what_is_drawn_and_ticks_lie_on_the_axis(
    kind: type[_Axis], values: list[float], backward: bool
) -> None:
    axis = kind(values, backward=backward)
    ticks = axis.ticks()
    assert ticks
    for place in (*map(axis.place, values), *(place for place, _ in ticks)):
        assert 0 <= place <= 100
