"""Measures the store and the site: how long commands and pages take on a campaign of 20,000 trials.

The pages are drawn by Debian's Chromium, driven by Playwright: each from opening it until all of it is there.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from assay.experiment import parse
from assay.plan.types import Plan, PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from harness import by_turns, figure

TRIALS = 20_000
RUNS = 9
REPORTS = 6  # fewest for an interval
SUBJECTS = [f"map_{number}" for number in range(5)]
THREADS = [1, 2]
MIXES = {
    "searches": {"insert": 5, "erase": 5, "find": 90},
    "updates": {"insert": 50, "erase": 50, "find": 0},
}
SOURCE = f"""
name = "store-benchmark"
question = "How long do commands take on a large store?"

[factors]
subject = {SUBJECTS}
threads = {THREADS}

[factors.mix]
searches = {{ insert = 5, erase = 5, find = 90 }}
updates = {{ insert = 50, erase = 50, find = 0 }}

[trial]
key_range = 20_000
duration_ms = 250

[design]
blocks = {TRIALS // 20}

[comparison]
metric = "throughput"
factor = "subject"
baseline = "map_0"
smallest_effect_percent = 3
"""

PAGES = {
    "the index": ("index.html", "h1"),
    "the campaign, what is in view": ("campaign-1/index.html", ".chart svg.marks, .chart canvas"),
    "the campaign, every chart": ("campaign-1/index.html", "body[data-drawn=all]"),
    "a trial": ("campaign-1/trial.html#12345", "body[data-shown] .series svg.marks"),
}
"""What -> its address, and what is on it once it is drawn."""

QUERY = "select subject, threads, median(throughput) from trials group by 1, 2"


def main() -> None:
    """Fill a store and print how long commands take on it, each as a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "assay.sqlite"
        seconds = _fill(path)
        size = path.stat().st_size / 2**20
        print(f"\na store of {TRIALS} trials, {size:.0f} MiB, recorded in {seconds:.1f} s; seconds:")
        commands = {"assay store query": ["store", "query", QUERY], "assay store list": ["store", "list"]}
        turns = {name: partial(_time, arguments, path) for name, arguments in commands.items()}
        for name, runs in by_turns(turns, RUNS).items():
            _print(name, [ended for _, ended in runs], 1)
        reports = [_time(["report", "--campaign", "1"], path) for _ in range(REPORTS)]
        _print("assay report, until the verdicts are printed", [printed for printed, _ in reports], 10)
        _print("assay report, until the site is written", [ended for _, ended in reports], 30)
        _print_size(path.parent / "assay-report")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", chromium_sandbox=False)
            print("\npages in Chromium, seconds until they are drawn:")
            site = (path.parent / "assay-report").as_uri()
            pages = {
                what: partial(_time_page, browser, f"{site}/{address}", drawn)
                for what, (address, drawn) in PAGES.items()
            }
            for what, seconds_of_page in by_turns(pages, RUNS).items():
                _print(what, seconds_of_page, 2)
            browser.close()


def _print_size(site: Path) -> None:
    sizes = {file: file.stat().st_size / 1e6 for file in site.rglob("*") if file.is_file()}
    series = sum(size for file, size in sizes.items() if file.name.startswith("series-"))
    others = sum(sizes.values()) - series
    print(f"  the site without series: {others:.1f} MB, goal: at most 30; series: {series:.1f} MB")


def _time_page(browser: Browser, url: str, drawn: str) -> float:
    """Return how long a page takes until it is drawn, in a browser that has not seen it, seconds."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    begin = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector(drawn)
    seconds = time.perf_counter() - begin
    page.context.close()
    return seconds


def _print(what: str, seconds: Sequence[float], goal: float) -> None:
    figure(what, seconds, f"runs, goal: less than {goal:g}")


def _time(arguments: Sequence[str], store: Path) -> tuple[float, float]:
    """Return how long a command takes until its last line but one can be read, and until it ends, seconds."""
    begin = time.perf_counter()
    read: list[float] = [0, 0]
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "assay", *arguments, "--store", store],
        stdout=subprocess.PIPE,
        cwd=store.parent,
    ) as process:
        assert process.stdout is not None
        for _ in process.stdout:
            read.append(time.perf_counter() - begin)
    if process.returncode:
        sys.exit(f"error: assay {arguments[0]} ended with {process.returncode}")
    return read[-2], time.perf_counter() - begin


def _fill(path: Path) -> float:
    """Record a campaign as a runner would, and return how long that took, seconds."""
    engine = random.Random(1)  # noqa: S311
    plan = Plan(1, tuple(_plan(engine)))
    start = datetime.now(UTC)
    outcomes = [_outcome(engine, planned, start) for planned in plan.trials]
    with Store.open(path) as store:
        begin = time.perf_counter()
        campaign = store.begin_campaign(
            experiment=parse(SOURCE, path.parent / "store-benchmark.toml"),
            plan=plan,
            host={"name": "here", "processors": 2, "kernel": "6.1"},
        )
        for planned, outcome in zip(plan.trials, outcomes, strict=True):
            store.record(campaign, planned.ordinal, outcome)
        return time.perf_counter() - begin


def _plan(engine: random.Random) -> list[PlannedTrial]:
    contexts = [(threads, mix) for threads in THREADS for mix in MIXES]
    trials: list[PlannedTrial] = []
    for block in range(TRIALS // (len(contexts) * len(SUBJECTS))):
        for place, (threads, mix) in enumerate(engine.sample(contexts, len(contexts))):
            for subject in engine.sample(SUBJECTS, len(SUBJECTS)):
                request = {
                    "protocol": 1,
                    "subject": subject,
                    "seed": engine.randrange(2**53),
                    "threads": threads,
                    "pinning": "compact",
                    "key_range": engine.randrange(19_000, 21_000),
                    "keys": "dense",
                    "mix": MIXES[mix],
                    "duration_ms": 250,
                    "interval_ms": 10,
                }
                trials.append(
                    PlannedTrial(
                        ordinal=len(trials),
                        block=block,
                        group=block * len(contexts) + place,
                        levels={"subject": subject, "threads": threads, "mix": mix},
                        request=request,
                        program="/usr/local/bin/assay-trial",
                        perturbation={"environment_bytes": engine.randrange(4096), "key_range": 2.5},
                        timeout_s=30.0,
                        memory_limit_mb=1024,
                    )
                )
    return trials


def _outcome(engine: random.Random, planned: PlannedTrial, start: datetime) -> Outcome:
    """Make up an outcome of the size that assay-trial's have; one in a thousand is invalid."""
    threads = planned.request["threads"]
    valid = engine.random() > 1e-3
    speed = (
        4e6 * threads * (1 + SUBJECTS.index(planned.request["subject"]) / 10) * engine.lognormvariate(0, 0.05)
    )
    counts = {
        name: {"attempted": int(speed / 12), "succeeded": int(speed / 24)}
        for name in ("insert", "erase", "find")
    }
    result = {
        "protocol": 1,
        "status": "valid" if valid else "invalid",
        **({} if valid else {"reason": "the walk found 9999 keys, the threads counted 10000"}),
        "metrics": {
            "throughput": speed,
            "generation_share": 0.05,
            "throughput_variation": abs(engine.gauss(0, 0.05)),
            "throughput_drift": engine.gauss(0, 0.02),
            **{f"metric_{number}": engine.lognormvariate(10, 3) for number in range(21)},
        },
        "threads": [
            {
                "seed": f"0x{engine.getrandbits(64):016x}",
                "bound_to": [thread],
                "last_ran_on": thread,
                "measured_ns": 250_000_000 + engine.randrange(100_000),
                "operations": counts,
                "series": [int(speed / 100 * engine.lognormvariate(0, 0.05)) for _ in range(25)],
            }
            for thread in range(threads)
        ],
        "prefill": {"method": "updates", "converged": True, "operations": 30_000, "size": 10_000},
        "validation": {"performed": True, "wrong_values": 0, "foreign_keys": 0},
        "counters": {"available": {}, "unavailable": {"cycles": "no such event on this processor"}},
        "environment": {"processor": "a processor", "flags": ["-O3"] * 20, "topology": list(range(200))},
    }
    return Outcome(
        status="valid" if valid else "invalid",
        reason=str(result.get("reason", "")),
        exit_code=0,
        result=result,
        stdout="",
        stderr="",
        calibration_before=_calibration(engine, threads),
        calibration_after=_calibration(engine, threads),
        calibration_error="",
        started_at=start + timedelta(seconds=planned.ordinal / 2),
        wall_s=0.35,
    )


def _calibration(engine: random.Random, threads: int) -> dict[str, Any]:
    return {
        "protocol": 1,
        "cpus": list(range(threads)),
        "metrics": {
            "core_to_core_ns": engine.lognormvariate(4, 0.05),
            "memory_ns": engine.lognormvariate(4.5, 0.02),
            "arithmetic_ns": engine.lognormvariate(0, 0.01),
        },
        "unavailable": {},
        "elapsed_ms": 24.0,
    }


if __name__ == "__main__":
    main()
