"""Trials that are run again: what is drawn comes out equal, and what is not repeated is refused or found."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Assay

EXPERIMENT = """
name = "replayed"
[factors]
subject = ["std_map_mutex", "bt_map"]
threads = [1, 2]
[factors.work]
plain = { mix = { insert = 20, erase = 20, find = 60 } }
zipf = { mix = { insert = 50, erase = 50 }, distribution = { kind = "zipf", exponent = 1.1 } }
ranges = { mix = { insert = 10, erase = 10, find = 75, range = 5 }, range = { length = 10 } }
late = { mix = { insert = 20, erase = 20, find = 60 }, warm_up_ms = 2, latency = "all" }
[trial]
key_range = 500
duration_ms = 3
[perturb]
mix = 0.1
placement = true
[design]
blocks = 1
[comparison]
factor = "subject"
"""
# Its threads count as many operations as it is asked for, and succeed as often as the clock has it.
UNREPEATED = """\
#!/usr/bin/env python3
import json, sys, time
request = json.load(sys.stdin)
operations = request.get("operations", [[0, 100]])
thread = {
    "seed": "0x0000000000000001", "bound_to": [], "last_ran_on": None, "measured_ns": 1, "series": [1],
    "warmed_up": operations[0][0],
    "operations": {
        "insert": {"attempted": 0, "succeeded": 0},
        "erase": {"attempted": 0, "succeeded": 0},
        "find": {"attempted": operations[0][1], "succeeded": time.time_ns() % 2**50},
    },
}
"""
EXPERIMENT_OF_A_PROGRAM = """
name = "own"
[factors]
subject = ["first", "second"]
[trial]
threads = 1
key_range = 10
mix = { find = 100 }
[design]
blocks = 1
[comparison]
factor = "subject"
[subjects.own]
program = "own"
names = ["first", "second"]
"""
COMMANDS = """
name = "commands"
[factors]
subject = ["first", "second"]
[design]
blocks = 1
[subjects]
first = { program = "true", protocol = false }
second = { program = "sleep", arguments = ["0"], protocol = false }
"""


@pytest.mark.usefixtures("steady_host", "no_pages")
def test_a_replay_repeats_what_is_drawn(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    assay("run", "x.toml", "--anyway", "--no-page")
    trials = json.loads(assay("store", "list", "trials", "--json").stdout)["trials"]
    assert len(trials) == 16
    for trial in trials:
        replayed = json.loads(assay("store", "replay", str(trial["trial"]), "--json").stdout)
        assert replayed["now"]["status"] == "valid"
        assert replayed["different"] == []
        assert replayed["nothing_because"] is None
        threads = trial["levels"]["threads"]
        assert f"threads.{threads - 1}.find.attempted" in replayed["equal"]
        assert ("validation.pair_sum" in replayed["equal"]) == (threads == 1)
    shown = assay("store", "replay", "1").stdout
    assert "counts and checksums that must be" in shown
    assert (
        len(json.loads(assay("store", "list", "trials", "--json").stdout)["trials"]) == 16
    )  # nothing is stored


def run_own(assay: Assay, folder: Path, result: str) -> None:
    """Run a program that prints a result with a thread as `UNREPEATED` has it."""
    program = folder / "own"
    program.write_text(UNREPEATED + result)
    program.chmod(0o755)
    (folder / "own.toml").write_text(EXPERIMENT_OF_A_PROGRAM)
    assay("run", "own.toml", "--anyway", "--no-page")


WHOLE = """
print(json.dumps({
    "protocol": 1, "status": "valid", "metrics": {"throughput": 1.0}, "threads": [thread],
}))
"""


@pytest.mark.usefixtures("steady_host", "no_pages")
def test_what_is_not_repeated_is_found(assay: Assay, tmp_path: Path) -> None:
    run_own(assay, tmp_path, WHOLE)
    replayed = json.loads(assay("store", "replay", "1", "--json", expect=1).stdout)
    assert [difference["what"] for difference in replayed["different"]] == ["threads.0.find.succeeded"]
    assert "threads.0.find.attempted" in replayed["equal"]
    assert "DIFFERENT: 1 of " in assay("store", "replay", "1", expect=1).stdout


@pytest.mark.usefixtures("steady_host", "no_pages")
def test_what_cannot_be_repeated_is_refused(assay: Assay, tmp_path: Path) -> None:
    run_own(assay, tmp_path, WHOLE)
    program = tmp_path / "own"
    program.write_text(program.read_text() + "# changed\n")
    assert "own has changed since" in assay("store", "replay", "1", expect=2).stderr
    program.unlink()
    assert "own cannot be started" in assay("store", "replay", "1", expect=2).stderr
    assert "has no trial 99" in assay("store", "replay", "99", expect=2).stderr


@pytest.mark.usefixtures("steady_host", "no_pages")
def test_numbers_from_new_entropy_are_not_repeated(assay: Assay, tmp_path: Path) -> None:
    engine = 'key_range = 500\nengine = { name = "wyrand", reseed_every = 1000 }'
    (tmp_path / "x.toml").write_text(EXPERIMENT.replace("key_range = 500", engine))
    assay("run", "x.toml", "--anyway", "--no-page", "--only", "work=plain", "--only", "threads=1")
    assert "trial 1 cannot be repeated: " in assay("store", "replay", "1", expect=2).stderr


@pytest.mark.usefixtures("steady_host", "no_pages")
def test_of_a_command_nothing_has_to_be_equal(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "commands.toml").write_text(COMMANDS)
    assay("run", "commands.toml", "--anyway", "--no-page")
    replayed: Any = json.loads(assay("store", "replay", "1", "--json").stdout)
    assert replayed["nothing_because"] == "a command does not say which of its numbers are repeated"
    assert replayed["now"]["status"] == "valid"
