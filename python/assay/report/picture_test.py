"""Axes of pictures, where what they show is as small, as large or as equal as numbers get."""

import pytest

from assay.report.charts.axes import LEAST, MOST
from assay.report.picture import _Axis


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("linear", "values"),
    [
        (False, [1, 1]),
        (False, [1 / (1 + 1e-15), 1 + 1e-15]),
        (False, [LEAST, 1, MOST]),
        (True, [-LEAST, LEAST]),
        (True, [-MOST, MOST]),
        (True, [-LEAST, LEAST, MOST]),
    ],
)
def test_what_is_drawn_and_ticks_lie_on_the_axis(values: list[float], linear: bool, backward: bool) -> None:
    axis = _Axis(values, linear=linear, backward=backward)
    ticks = axis.ticks()
    assert ticks
    for place in (*map(axis.place, values), *(place for place, _ in ticks)):
        assert 0 <= place <= 100
