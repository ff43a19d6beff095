"""queue_ranks: how far from the lowest is what threads pop."""

import harness


def test_one_thread_alone_pops_the_lowest_unless_it_asks_for_one_near_it() -> None:
    ranks = harness.measure("queue_ranks", "1000")
    assert list(ranks) == ["try_pop", "try_pop_near"]
    for figures in ranks.values():
        assert list(figures) == [
            f"threads: {threads}, {of}" for threads in (1, 2, 4) for of in ("mean", "99%", "greatest")
        ]
    assert [ranks["try_pop"][f"threads: 1, {of}"] for of in ("mean", "99%", "greatest")] == [[0]] * 3
    assert 0 < ranks["try_pop_near"]["threads: 1, greatest"][0] <= 31  # of the 32 entries of a leaf
