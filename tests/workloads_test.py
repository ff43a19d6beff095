"""Workloads on the whole path: from a TOML file through real trials to the store."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay import programs, protocol
from assay.campaign import plan_trials
from assay.errors import AssayError
from assay.experiment import load, overridden
from conftest import ROOT, Assay

HEAD = """
name = "workloads"
question = "Does all of it arrive?"
[design]
blocks = 1
seed = 3
[comparison]
metric = "throughput"
factor = "subject"
baseline = "std_map_mutex"
smallest_effect_percent = 3
[factors]
subject = ["std_map_mutex", "absl_btree_shared_mutex"]
"""
TRIAL = """
[trial]
key_range = 500
duration_ms = 200 # each thread has its turn, however many others wait for the processors
mix = { insert = 25, erase = 25, find = 50 }
"""


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda path: path.stem)
def test_the_requests_of_every_experiment_follow_the_schema(path: Path) -> None:
    validator = protocol.validator("trial-request")
    # Those of a condition differ in their seed and a few percent of their key range.
    trials = plan_trials(overridden(load(path), blocks=1)).trials
    for trial in {json.dumps(dict(trial.levels)): trial for trial in trials}.values():
        if trial.extract == "protocol":  # nothing is said to a command
            validator.validate(trial.request)


def test_roles_skew_strings_and_latency_arrive_in_the_store(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("# the upper half\n0\n1\n")
    (tmp_path / "x.toml").write_text(f"""{HEAD}{TRIAL}
threads = 3
engine = {{ name = "pcg64", reseed_every = 1000 }}
distribution = {{ kind = "zipf", exponent = 0.99 }}
key_type = {{ bytes = {{ from = 8, to = 40, distribution = {{ kind = "empirical", file = "weights" }} }} }}
value_type = {{ uint64 = {{ from = 1, to = 9, distribution = {{ kind = "zipf", exponent = 2 }} }} }}
latency = 2
batch = 16
[[trial.roles]]
name = "updaters"
mix = {{ insert = 50, erase = 50, find = 0 }}
[[trial.roles]]
name = "readers"
threads = 2
distribution = {{ kind = "empirical", file = "weights" }}
mix = {{ insert = 0, erase = 0, find = 90, range = 10 }}
range = {{ length = {{ from = 1, to = 20 }}, fold = "sum" }}
arrivals = {{ rate = 10_000 }}
""")
    assay("run", "x.toml", "--anyway", "--no-page")
    trial = json.loads(assay("store", "show", "1", "--json").stdout)
    assert [role["threads"] for role in trial["request"]["roles"]] == [1, 2]
    protocol.validator("trial-request").validate(trial["request"])
    result = trial["result"]
    assert [thread["role"] for thread in result["threads"]] == ["updaters", "readers", "readers"]
    assert result["replayable"] is False
    updaters, readers = result["roles"]
    assert updaters["operations"]["insert"]["attempted"] > 0
    assert updaters["operations"].get("range", {"attempted": 0})["attempted"] == 0
    assert readers["operations"]["range"]["attempted"] > 0
    assert readers["arrived"] > 0
    timed = {
        (histogram["role"], histogram["operation"])
        for histogram in result["latency"]["histograms"]
        if histogram["count"]
    }
    assert timed >= {("updaters", "insert"), ("updaters", "erase"), ("readers", "find")}
    columns = "role_readers_throughput, role_readers_latency_p50_ns, role_updaters_latency_p50_ns, backlog"
    rows = json.loads(assay("store", "query", f"select {columns} from trials", "--json").stdout)["rows"]
    assert len(rows) == 2
    assert all(value is not None for row in rows for value in row)


BAGS = """
name = "bags"
question = "Are multimaps and queues measured beside each other?"
[factors]
subject = ["std_multimap_mutex", "elb_multimap", "std_priority_queue_mutex", "elb_priority_queue"]
[factors.workload]
multimap = { mix = { insert = 20, erase = 20, find = 60 } }
queue = { mix = { insert = 50, erase = 50, find = 0 } }
[trial]
key_range = 1000
key_type = "uint32"
value_type = "uint32"
threads = 2
duration_ms = 200
[design]
blocks = 1
repeat = 0
exclude = [
  { workload = "queue", subject = ["std_multimap_mutex", "elb_multimap"] },
  { workload = "multimap", subject = ["std_priority_queue_mutex", "elb_priority_queue"] },
]
[comparison]
metric = "throughput"
factor = "subject"
baseline = ["std_multimap_mutex", "std_priority_queue_mutex"]
smallest_effect_percent = 3
"""


def test_multimaps_and_queues_are_measured_each_against_its_own_baseline(
    assay: Assay, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(BAGS)
    analysis = json.loads(assay("run", "x.toml", "--anyway", "--json", "--no-page").stdout)["analysis"]
    assert [(comparison["level"], comparison["baseline"]) for comparison in analysis["comparisons"]] == [
        ("elb_multimap", "std_multimap_mutex"),
        ("elb_priority_queue", "std_priority_queue_mutex"),
    ]
    assert [condition["counts"] for condition in analysis["conditions"]] == 4 * [{"valid": 1}]
    columns = "subject, insert_throughput > 0, erase_throughput > 0, find_throughput > 0"
    rows = json.loads(assay("store", "query", f"select {columns} from trials order by 1", "--json").stdout)[
        "rows"
    ]
    assert rows == [
        ["elb_multimap", 1, 1, 1],
        ["elb_priority_queue", 1, 1, 0],
        ["std_multimap_mutex", 1, 1, 1],
        ["std_priority_queue_mutex", 1, 1, 0],
    ]
    result = json.loads(assay("store", "show", "1", "--json").stdout)["result"]
    assert result["prefill"]["method"] == "entries"


def test_a_map_and_a_multimap_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(HEAD.replace("absl_btree_shared_mutex", "std_multimap_mutex") + TRIAL)
    with pytest.raises(AssayError, match=r"std_multimap_mutex is a multimap.* std_map_mutex,? .* a map"):
        plan_trials(load(tmp_path / "x.toml"))


def test_reclamation_tells_by_probes_what_it_holds_back(assay: Assay, tmp_path: Path) -> None:
    head = HEAD.replace("std_map_mutex", "ticket_bst")
    head = head.replace("absl_btree_shared_mutex", "ticket_bst_leaking")
    # One thread: when epochs of several end is up to the scheduler.
    (tmp_path / "x.toml").write_text(f"{head}{TRIAL}\nthreads = 1\nprobes = true\n")
    assay("run", "x.toml", "--anyway", "--no-page")
    columns = "subject, probe_reclaim_retired, probe_reclaim_freed, probe_reclaim_waiting"
    rows = json.loads(assay("store", "query", f"select {columns} from trials", "--json").stdout)["rows"]
    counts_of = {subject: counts for subject, *counts in rows}
    retired, freed, waiting = counts_of["ticket_bst"]
    assert freed > 0
    assert 0 < waiting < retired
    retired, freed, _ = counts_of["ticket_bst_leaking"]
    assert retired > 0
    assert not freed


def test_a_prefill_that_never_converges_makes_the_trial_invalid_and_says_so(
    assay: Assay, tmp_path: Path
) -> None:
    # Kharal and Brown, section 6.2: FNV-1a as a generator alternates between odd and even numbers, so that
    # with two draws and a remainder one thread meets one half of an even number of keys alone.
    text = HEAD.replace(
        '["std_map_mutex", "absl_btree_shared_mutex"]', '["std_map_mutex", "std_map_shared_mutex"]'
    )
    odd = 'engine = "fnv1a"\ndraws = "two"\nbounding = "modulo"\n[perturb]\nkey_range = false\n'
    (tmp_path / "x.toml").write_text(text + TRIAL + odd)
    completed = assay("run", "x.toml", "--anyway", "--no-page", expect=1)
    assert "did not converge" in completed.stderr
    (tmp_path / "x.toml").write_text(text + TRIAL + odd.replace("fnv1a", "xoshiro256pp"))
    assay("run", "x.toml", "--anyway", "--no-page")
    rows = json.loads(
        assay("store", "query", "select campaign, status, reason from workloads", "--json").stdout
    )["rows"]
    assert [row[:2] for row in rows] == [[1, "invalid"]] * 2 + [[2, "valid"]] * 2
    assert all("did not converge" in row[2] for row in rows[:2])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('engine = "xoshiro256"', r'19: trial\.engine: .*"xoshiro256".*did you mean xoshiro256'),
        ("key_type = { bytes = 16 }", r"19: trial\.key_type: arithmetic_1000 .*uint64.*bytes"),
        ('distribution = { kind = "empirical", file = "none" }', r"19: trial\.distribution\.file: .*none"),
        ("[[trial.roles]]\nname = 'a'", r"19: trial\.roles: .*role a .*threads"),
        ("arrivals = { rate = 0 }", r"19: trial\.arrivals\.rate: 0 "),
        (
            'engine = { name = "rdrand", reseed_every = 5 }',
            r"19: trial\.engine(\.reseed_every: rdrand |: .* no rdrand)",
        ),
        (
            "threads = 4096\nengine = { name = 'pcg64', array = 60_000_000 }",
            r"20: trial\.engine\.array: .*4096 threads .*1,875,000 MiB",
        ),
    ],
)
def test_a_mistake_is_one_message_and_nothing_runs(tmp_path: Path, more: str, message: str) -> None:
    text = HEAD.replace("absl_btree_shared_mutex", "arithmetic_1000")
    (tmp_path / "x.toml").write_text(text + TRIAL + more)
    with pytest.raises(AssayError, match=rf"/x\.toml:{message}"):
        plan_trials(load(tmp_path / "x.toml"))


def request(**settings: Any) -> str:
    return json.dumps(
        {
            **{"protocol": 1, "subject": "std_map_mutex", "seed": 1, "threads": 1, "pinning": "none"},
            **{"key_range": 100, "keys": "dense", "mix": {"insert": 50, "erase": 50, "find": 0}},
            **{"duration_ms": 1, "interval_ms": 1},
            **settings,
        }
    )


def test_keys_of_32_bits_are_no_more_than_every_structure_can_hold() -> None:
    short = {"subject": "elb_multimap", "key_type": "uint32", "value_type": "uint32"}
    completed = subprocess.run(
        [programs.find("assay-trial")],
        input=request(**short, key_range=2**31),
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 2
    assert re.fullmatch("error: key_type: .*2147483647.*2147483648\n", completed.stderr)


def test_every_engine_that_is_listed_draws_a_trial() -> None:
    trial = programs.find("assay-trial")
    engines = programs.engines(trial)
    assert len(engines) > 10
    for engine in engines:
        completed = subprocess.run(
            [trial],
            input=request(engine={"name": engine["name"]}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (completed.returncode == 0) == engine["available"], completed.stderr
        if engine["available"]:
            assert json.loads(completed.stdout)["status"] == "valid", engine["name"]
