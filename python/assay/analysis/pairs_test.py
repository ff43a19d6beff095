"""Pairs of trials, and which of them count."""

from assay.analysis.modes import host_modes
from assay.analysis.modes_test import experiment, flipping
from assay.analysis.pairs import Pair, Pairs


def test_groups_that_met_both_modes_are_left_out_unless_their_metric_was_simulated() -> None:
    modes = host_modes(flipping([4, 25]), experiment())
    measured = Pairs(tuple(Pair(group, group, 1.1, 1.0) for group in range(30)))
    assert {pair.group for pair in measured.without_mixed(modes).counting} == {*range(30)} - {4, 25}
    assert sum(measured.without_mixed(modes).dropped.values()) == 2
    simulated = Pairs(measured.pairs, host_independent=True)
    assert len(simulated.without_mixed(modes).counting) == 30
    assert simulated.without_mixed(modes).dropped == {}
