"""Whether the laboratory, with real trials, is silent about identical code and not about what is planted.

A loaded machine must not fail these tests. How often identical code is called different is a matter of
chance alone, of the random order within groups: the test fails for more alarms than an honest laboratory
raises in all but one run of a thousand. The same bound must refuse what is planted: twice the work, compared
by the processor time of an operation. Other programs that take the processor away add nothing to that, and
those that share its caches far less than the work itself.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom  # type: ignore[import-untyped]

from assay import programs
from assay.experiment import load
from conftest import Assay

IDENTICAL = """
name = "identical"
question = "Does identical code differ?"
[factors]
threads = [1, 2]
subject = ["std_map_mutex", "tbb_hash_map", "cds_rcu_skip_list"]
[trial]
key_range = 1_000
mix = { insert = 25, erase = 25, find = 50 }
duration_ms = 5
interval_ms = 1
[design]
blocks = 6
repeat = 0
[comparison]
metric = "throughput"
factor = "subject"
baseline = "std_map_mutex"
smallest_effect_percent = 3
"""
# Six pairs have a p-value this small where all six go the same way, and only there; any number of pairs has
# one with at most this chance.
LEVEL = 2 / 2**6
ERROR_RATE = 1e-3
"""The most with which an honest laboratory may fail: three alarms of six come together in 1 run of 1,800."""

PLANTED = f"""
name = "planted"
question = "Is twice the work found, and a map that loses keys not believed?"
[factors]
threads = [1, 2]
subject = ["std_map_mutex", "std_map_mutex_twice", "loses_inserts"]
[trial]
key_range = 10_000
mix = {{ insert = 50, erase = 50, find = 0 }}
duration_ms = 20
[design]
blocks = 10
repeat = 0
exclude = [{{ subject = "loses_inserts", threads = 2 }}]
[comparison]
metric = "processor_ns_per_operation"
factor = "subject"
baseline = "std_map_mutex"
smallest_effect_percent = 3
[subjects.loses_inserts]
program = "{programs.find("assay-flawed")}"
"""


def comparisons(report: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(report)["analysis"]["comparisons"]
    return found


def too_many_alarms(found: list[dict[str, Any]]) -> bool:
    """Tell whether independent comparisons of identical code would rarely raise as many alarms as these."""
    alarms = sum((comparison["all_groups"]["p"] or 1) <= LEVEL for comparison in found)
    return bool(binom.sf(alarms - 1, len(found), LEVEL) < ERROR_RATE)


@pytest.mark.parametrize(("alarms", "refused"), [(0, False), (2, False), (3, True), (6, True)])
def test_the_bound_refuses_three_alarms_of_six(alarms: int, refused: bool) -> None:
    p = [LEVEL] * alarms + [2 * LEVEL] * (6 - alarms)
    assert too_many_alarms([{"all_groups": {"p": value}} for value in p]) == refused


def test_identical_code_is_not_called_different(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "identical.toml").write_text(IDENTICAL)
    identical = load(tmp_path / "identical.toml", identical=True)
    (tmp_path / "identical.json").write_text(identical.model_dump_json())
    found = comparisons(assay("run", "identical.json", "--json").stdout)
    assert len(found) == 6
    assert not too_many_alarms(found), found


def test_what_is_planted_is_found_and_what_is_broken_gets_no_verdict(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "planted.toml").write_text(PLANTED)
    ran = assay("run", "planted.toml", "--json", expect=1)
    assert "10 of 50 trials are not valid" in ran.stderr
    found = comparisons(ran.stdout)
    twice = [each for each in found if each["level"] == "std_map_mutex_twice"]
    assert [each["context"] for each in twice] == [{"threads": 1}, {"threads": 2}]
    assert too_many_alarms(twice), "the bound on alarms misses code that is not identical"
    for each in twice:
        assert each["all_groups"]["verdict"] == "slower", each
        # Groups in which the host changed its mode count only above, and may be many on a loaded machine.
        left_out = each["dropped"].get("host changed")
        assert each["verdict"] in ({"slower", "undecided"} if left_out else {"slower"}), each

    (broken,) = (each for each in found if each["level"] == "loses_inserts")
    assert broken["verdict"] == "undecided"
    assert broken["ratio"] is None
    assert broken["dropped"] == {"not valid": 10}
    shown = assay("list", "trials", "--campaign", "1").stdout
    assert shown.count("invalid") == 10
    page = next((tmp_path / "results").rglob("campaign-1/index.html")).read_text()
    assert "loses_inserts" in page
