"""From a TOML file to a verdict, through the real commands, programs and files."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay import programs, protocol
from assay.experiment import load
from conftest import ROOT, Assay, has_command, verdicts_of_all_groups

# A loop over nothing against a loop over a tree of 10,000 keys: a difference that no host can hide. Time in
# which other programs have the processors does not count, and in 100 ms each thread has its turn.
EXPERIMENT = """
name = "planted"
question = "Is doing nothing faster than std::map?"
[factors]
subject = ["std_map_mutex", "noop"]
threads = [1, 2]
[trial]
key_range = 20_000
mix = { insert = 5, erase = 5, find = 90 }
duration_ms = 100
[design]
blocks = 8
repeat = 0
seed = 7
[comparison]
metric = "processor_ns_per_operation"
factor = "subject"
baseline = "std_map_mutex"
smallest_effect_percent = 3
"""


def request(subject: str, **settings: Any) -> str:
    basic = {
        "protocol": 1,
        "subject": subject,
        "seed": 11,
        "threads": 1,
        "pinning": "cores_first",
        "key_range": 1000,
        "keys": "sparse",
        "mix": {"insert": 25, "erase": 25, "find": 50},
        "duration_ms": 20,
        "interval_ms": 5,
    }
    return json.dumps(basic | settings)


def query(assay: Assay, sql: str, *options: str) -> list[list[Any]]:
    rows: list[list[Any]] = json.loads(assay("store", "query", sql, "--json", *options).stdout)["rows"]
    return rows


def test_one_file_and_one_command_lead_to_verdicts_and_a_page(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "planted.toml").write_text(EXPERIMENT)
    assert "Verdicts: " in assay("run", "planted.toml").stdout
    assert verdicts_of_all_groups(assay("report", "--json").stdout) == ["faster"] * 2
    page = next((tmp_path / "results").rglob("index.html"))
    assert "Is doing nothing faster than std::map?" in page.read_text()

    (campaign,) = json.loads(assay("store", "list", "--json").stdout)["campaigns"]
    assert campaign["experiment"] == "planted"
    time = "median(processor_ns_per_operation)"
    rows = query(assay, f"select subject, threads, count(*), {time} from trials group by 1, 2 order by 1, 2")
    assert [row[:3] for row in rows] == [
        ["noop", 1, 8],
        ["noop", 2, 8],
        ["std_map_mutex", 1, 8],
        ["std_map_mutex", 2, 8],
    ]
    assert 2 * rows[0][3] < rows[2][3]


@pytest.mark.usefixtures("steady_host")
def test_a_rerun_deletes_nothing_and_repeats_the_plan(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "planted.toml").write_text(EXPERIMENT.replace("blocks = 8", "blocks = 2").replace("100", "5"))
    assay("run", "planted.toml", "--anyway", "--no-page")
    assay("run", "planted.toml", "--anyway", "--no-page")
    order = "select subject, threads, block, group_number from trials order by trial"
    plans = [query(assay, order, "--campaign", campaign) for campaign in ("1", "2")]
    assert len(plans[0]) == 8
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    "offered", programs.listing(programs.find("assay-trial")), ids=lambda offered: str(offered["name"])
)
def test_every_subject_speaks_the_protocol(offered: dict[str, Any]) -> None:
    key, value = offered["types"][0]
    settings: dict[str, Any] = {"key_type": key, "value_type": value}
    if offered["structure"] == "queue":
        settings |= {"keys": "dense", "mix": {"insert": 50, "erase": 50, "find": 0}}
    answer = subprocess.run(
        [programs.find("assay-trial")],
        input=request(offered["name"], **settings),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    result = protocol.parse("trial-result", answer.stdout)
    assert result["status"] == "valid", result.get("reason")
    thread = result["threads"][0]
    operations = sum(count["attempted"] for count in thread["operations"].values())
    assert sum(thread["series"]) == operations
    assert result["metrics"]["throughput"] == pytest.approx(operations / thread["measured_ns"] * 1e9)
    lacking = set(result["counters"]["unavailable"]) | set(result["counters"]["available"])
    assert {"cycles", "instructions", "cache_misses", "branch_misses"} <= lacking
    environment = result["environment"]
    parts = {"processor", "topology", "kernel", "virtualised", "program", "library", "allocator"}
    assert parts <= set(environment)
    assert {"model", "governor", "boost"} <= set(environment["processor"])
    assert environment["program"]["optimised"] is True
    assert environment["program"]["compiler"].startswith(environment["library"]["compiler"])
    assert {"compiler", "flags", "commit"} <= set(environment["library"])


def answer_to(program: str, message: str) -> str:
    """Return what the program prints, given the message."""
    return subprocess.run(
        [programs.find(program)], input=message, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_a_replay_in_a_perturbed_process_attempts_the_same() -> None:
    settings: dict[str, Any] = {"threads": 2, "warm_up_ms": 5}
    first = protocol.parse("trial-result", answer_to("assay-trial", request("std_map_mutex", **settings)))
    assert first["replayable"]

    def attempted(result: dict[str, Any]) -> list[dict[str, int]]:
        return [
            {kind: count["attempted"] for kind, count in thread["operations"].items()}
            for thread in result["threads"]
        ]

    settings |= {
        "operations": [
            [thread["warmed_up"], sum(counts.values())]
            for thread, counts in zip(first["threads"], attempted(first), strict=True)
        ],
        "perturbation": {"stack_bytes": 4096, "heap_bytes": 333, "thread_order": 1, "placement": 2},
    }
    message = request("std_map_mutex", **settings)
    protocol.validator("trial-request").validate(json.loads(message))
    again = protocol.parse("trial-result", answer_to("assay-trial", message))
    assert again["status"] == "valid", again.get("reason")
    assert attempted(again) == attempted(first)
    assert [thread["warmed_up"] for thread in again["threads"]] == [
        thread["warmed_up"] for thread in first["threads"]
    ]


@pytest.mark.parametrize("placement", [{}, {"placement": 2**53 - 1}])
def test_the_calibration_speaks_the_protocol(placement: dict[str, int]) -> None:
    message = {"protocol": 1, "threads": 2, "pinning": "cores_first"} | placement
    protocol.validator("calibration-request").validate(message)
    result = protocol.parse("calibration-result", answer_to("assay-calibrate", json.dumps(message)))
    assert {"memory_ns", "arithmetic_ns"} <= set(result["metrics"])
    assert ("core_to_core_ns" in result["metrics"]) != ("core_to_core_ns" in result["unavailable"])
    assert len(result["cpus"]) == min(2, len(os.sched_getaffinity(0)))
    assert set(result["cpus"]) <= os.sched_getaffinity(0)
    assert result["elapsed_ms"] > 0


REQUESTS = {
    "assay-trial": json.loads(request("noop")),
    "assay-calibrate": {"protocol": 1, "threads": 1, "pinning": "none"},
}


def mistaken(good: dict[str, Any]) -> dict[str, str]:
    text = json.dumps(good)
    deep = "[" * 100_000 + "]" * 100_000
    return {
        "nothing": "",
        "garbage": "threads = 2",
        "no text": "\ufffe\0",
        "cut short": text[:-1],
        "more after it": text + "}",
        "a list": f"[{text}]",
        "a key twice": text[:-1] + ', "threads": 1}',
        "a key that is unknown": json.dumps(good | {"thre\nads": 1}),
        "a key that is missing": json.dumps({key: good[key] for key in good if key != "threads"}),
        "another protocol": json.dumps(good | {"protocol": 2}),
        "a protocol that is not a whole number": json.dumps(good | {"protocol": 1.0}),
        "no number": json.dumps(good | {"threads": float("nan")}),
        "no threads": json.dumps(good | {"threads": 0}),
        "threads below 0": json.dumps(good | {"threads": -1}),
        "threads as text": json.dumps(good | {"threads": "1"}),
        "threads as a list": json.dumps(good | {"threads": [1]}),
        "threads nested deep": text.replace('"threads": 1', f'"threads": {deep}'),
        "pinning nested deep": json.dumps(good | {"pinning": 0}).replace(
            '"pinning": 0', f'"pinning": {deep}'
        ),
        "a policy that is unknown": json.dumps(good | {"pinning": "some\nwhere"}),
        "a processor that does not exist": json.dumps(good | {"pinning": [2**31 - 1]}),
        "a processor that is not a number": json.dumps(good | {"pinning": [2**64]}),
    }


@pytest.mark.parametrize(
    ("program", "mistake"), [(name, mistake) for name, good in REQUESTS.items() for mistake in mistaken(good)]
)
def test_a_program_refuses_a_mistaken_request_in_one_line(program: str, mistake: str) -> None:
    refuse(program, input=mistaken(REQUESTS[program])[mistake])


@pytest.mark.parametrize("program", REQUESTS)
def test_a_program_refuses_an_option_that_it_does_not_have(program: str) -> None:
    refuse(program, "--frobnicate", input="")


def refuse(program: str, *options: str, input: str) -> None:
    answer = subprocess.run(
        [programs.find(program), *options],
        input=input,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.endswith("\n")


def test_a_program_in_another_language_is_a_subject(assay: Assay, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "python_subject", tmp_path / "example")
    printed = json.loads(assay("run", "example/experiment.toml", "--json", "--no-page").stdout)
    assert printed["counts"] == {"valid": printed["planned"]}
    assert [comparison["level"] for comparison in printed["analysis"]["comparisons"]] == ["python_dict"]


@pytest.mark.usefixtures("steady_host")
def test_a_new_subject_builds_against_the_installed_package_is_checked_and_runs(
    assay: Assay, tmp_path: Path, prefix: Path
) -> None:
    # A keyword of C++, and a target of its own to CMake: a subject may have any name.
    next_commands = assay("new", "subject", "export").stdout
    assert "exists" in assay("new", "subject", "export", expect=2).stderr
    project = tmp_path / "export"
    build = str(project / "build")
    for command in (
        ["cmake", "-S", str(project), "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["cmake", "--build", build],
    ):
        subprocess.run(command, check=True, capture_output=True)
    if has_command("check"):
        # So little time is too little for some checks, which ones depends on the machine.
        checked = json.loads(
            assay("check", "export", "--within", "60ms", "--seed", "7", "--json", expect=1).stdout
        )
        assert checked["program"] == f"{build}/subject-rig"
        assert {check["check"] for check in checked["checks"]} >= {
            "model",
            "linearizability",
            "progress",
            "stress",
        }
        assert {check["result"] for check in checked["checks"]} <= {
            "passed",
            "incomplete",
            "nothing_to_check",
        }
        assert "did you mean export?" in assay("check", "exprt", expect=2).stderr

    experiment = project / "experiment.toml"
    experiment.write_text(
        experiment.read_text()
        .replace("duration_ms = 200", "duration_ms = 20")
        .replace("blocks = 10", "blocks = 2")
    )
    *_, run_line = [line for line in next_commands.splitlines() if line.startswith("  ")]
    python, module, program, *run = shlex.split(run_line)
    assert [python, module, program] == [sys.executable, "-m", "assay"]
    assert "export" in assay(*run, "--anyway", "--no-page").stdout
    valid = "select count(*) from trials where subject = 'export' and status = 'valid'"
    assert query(assay, valid)[0][0] == 8


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Hopscotch!", "for a subject"),
        ("a" * 65, "at most 64"),
        ("std_map_mutex", "std_map_mutex already"),
    ],
)
def test_a_name_that_no_subject_can_have_is_refused(
    assay: Assay, tmp_path: Path, name: str, why: str
) -> None:
    assert why in assay("new", "subject", name, expect=2).stderr
    assert not list(tmp_path.iterdir())


def test_run_prints_for_programs_what_report_does_and_where_the_page_is(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "planted.toml").write_text(EXPERIMENT.replace("blocks = 8", "blocks = 1"))
    ran = json.loads(assay("run", "planted.toml", "--anyway", "--json").stdout)
    assert (tmp_path / ran.pop("page")).is_file()
    assert (tmp_path / ran["store"]).is_file()
    reported = json.loads(assay("report", "--json").stdout)
    assert reported.pop("page") is None
    assert ran == reported


def test_the_quickstart_compares_at_least_four_maps_on_two_mixes() -> None:
    factors = load(ROOT / "experiments" / "quickstart.toml").factors
    assert len(factors["subject"]) >= 4
    assert set(factors["threads"]) == {1, 2}
    assert len(factors["mix"]) == 2
