"""queue_ranks: how far from the lowest is what threads pop."""

import json
import subprocess

from assay import programs


def test_one_thread_alone_pops_the_lowest_unless_it_asks_for_one_near_it() -> None:
    ended = subprocess.run([programs.find("queue_ranks"), "1000"], capture_output=True, text=True, check=True)
    told = json.loads(ended.stdout)
    assert list(told) == [
        f"{name}, threads: {threads}, {of}"
        for name in ("try_pop", "try_pop_near")
        for threads in (1, 2, 4)
        for of in ("mean", "99%", "greatest")
    ]
    assert [told[f"try_pop, threads: 1, {of}"] for of in ("mean", "99%", "greatest")] == [0, 0, 0]
    assert 0 < told["try_pop_near, threads: 1, greatest"] <= 31  # of the 32 entries of a leaf
