"""Whether the laboratory, with real trials, is silent about identical code and not about what is planted.

A loaded machine must not fail these tests. How often identical code is called different is a matter of chance
alone, of the random order within groups, so that its probability is computed. What is planted is at least
twice the work, and is compared by the processor time of an operation: other programs that take the processor
away add nothing to that, and those that share its caches far less than the work itself.
"""

import json
from pathlib import Path
from typing import Any

from scipy.stats import binom  # type: ignore[import-untyped]

from assay import programs
from conftest import Assay

IDENTICAL = """
identical = true
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
CONDITIONS = 6
# Six pairs have a p-value of at most 5% where all six go the same way, and only there.
LEVEL = 2 / 2**6
TOO_MANY = 5

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


def test_identical_code_is_not_called_different(assay: Assay, tmp_path: Path) -> None:
    assert binom.sf(TOO_MANY - 1, CONDITIONS, LEVEL) < 1e-6
    (tmp_path / "identical.toml").write_text(IDENTICAL)
    found = comparisons(assay("run", "identical.toml", "--json").stdout)
    assert len(found) == CONDITIONS
    alarms = [each for each in found if (each["all_groups"]["p"] or 1) <= 0.05]
    assert len(alarms) < TOO_MANY, alarms
    # Corrected for six comparisons, six pairs can never tell a difference.
    assert not {each["verdict"] for each in found} & {"faster", "slower"}


def test_what_is_planted_is_found_and_what_is_broken_gets_no_verdict(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "planted.toml").write_text(PLANTED)
    ran = assay("run", "planted.toml", "--json", expect=1)
    assert "10 of 50 trials are not valid" in ran.stderr
    found = comparisons(ran.stdout)
    twice = [each for each in found if each["level"] == "std_map_mutex_twice"]
    assert [each["context"] for each in twice] == [{"threads": 1}, {"threads": 2}]
    for each in twice:
        assert each["all_groups"]["verdict"] == "slower", each
        # Groups in which the host changed its mode count only above, and may be many on a loaded machine.
        assert each["verdict"] == "slower" or each["dropped"].get("host changed"), each

    (broken,) = (each for each in found if each["level"] == "loses_inserts")
    assert broken["verdict"] == "undecided"
    assert broken["ratio"] is None
    assert broken["dropped"] == {"not valid": 10}
    shown = assay("list", "trials", "--campaign", "1").stdout
    assert shown.count("invalid") == 10
    page = next((tmp_path / "results").rglob("campaign-1/index.html")).read_text()
    assert "loses_inserts" in page
