"""What distributions over layouts say."""

import numpy as np
import pytest

from assay_layout.statistics import errors, fitted_line, geometric_spread, ratio

DRAW = np.random.default_rng(7)


def test_errors_of_normal_layouts_are_those_of_the_normal_distribution() -> None:
    found = errors(DRAW.normal(100, 1, 20_000))
    assert found.measurement == pytest.approx(2 * 1.645 / 100, rel=0.05)
    assert found.comparison == pytest.approx(2 * 1.645 * 2**0.5 / 100, rel=0.05)
    assert found.measurement_within == pytest.approx(1.645 / 100, rel=0.05)
    assert found.comparison_within == pytest.approx(1.645 * 2**0.5 / 100, rel=0.05)


def test_equal_layouts_have_no_error() -> None:
    found = errors(np.full(10, 3.0))
    assert (found.measurement, found.comparison, found.comparison_within) == (0, 0, 0)


def test_a_line_is_found_and_its_residuals_are_what_is_left() -> None:
    x = np.linspace(0.5, 1.5, 51)
    line = fitted_line(x, 2 * x + 1)
    assert line.at_one == pytest.approx(3)
    assert np.abs(line.residuals).max() == pytest.approx(0, abs=1e-12)


def test_the_spread_is_geometric() -> None:
    below, above = geometric_spread(np.geomspace(1, 100, 101))
    assert below == pytest.approx(above)
    assert above == pytest.approx(100**0.4)


def test_a_ratio_covers_what_it_should_in_95_of_100_cases() -> None:
    covered = 0
    for _ in range(400):
        interval = ratio(DRAW.lognormal(0.3, 0.5, 30), DRAW.lognormal(0, 0.5, 40))
        assert interval is not None
        covered += interval.low <= np.exp(0.3) <= interval.high
    assert 0.91 * 400 <= covered <= 0.985 * 400


def test_one_layout_against_a_few_has_no_interval() -> None:
    assert ratio(np.array([2.0]), np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5])) is None
