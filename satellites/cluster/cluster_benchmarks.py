"""Measures campaigns on several hosts: what a worker disturbs, and how fast trials are run and recorded.

Hosts are processes of this machine, and the store is a PostgreSQL server of its own.
"""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from assay.campaign import Reporter, run_campaign
from assay.experiment import parse
from assay.experiment.types import Experiment
from assay.plan.types import Plan, PlannedTrial
from assay.runner.process import StopSignals
from assay.runner.types import Outcome
from assay.store import Store, store_name
from assay.store.claims import offer, record, take
from assay.store.testing import running_server
from assay_cluster.leader import Leader
from assay_cluster.testing import ProcessUnit
from harness import figure, run_parts

WINDOWS, WINDOW_S = 6, 20.5
"""A window holds one renewal of the lease, which comes every 20 s."""
RUNS, BLOCKS = 6, 12
WRITERS, SLICES, SLICE_S = 64, 6, 4.0


def experiment(folder: Path, command: str, blocks: int) -> Experiment:
    """Return an experiment that compares a command with itself."""
    text = f"""
[subjects.a]
program = "/bin/sh"
arguments = ["-c", "{command}; echo speed=1"]
extract = {{ speed = "speed=([0-9]+)" }}
[subjects.b]
program = "/bin/sh"
arguments = ["-c", "{command}; echo speed=1"]
extract = {{ speed = "speed=([0-9]+)" }}
[factors]
subject = ["a", "b"]
[trial]
threads = 1
[comparison]
metric = "speed"
better = "higher"
baseline = "a"
[design]
blocks = {blocks}
repeat = 0
"""
    return parse(text, folder / "bench.toml")


def quiet() -> None:
    """What our part on a host costs while a trial runs: the worker, and what waits for the trial."""
    print("a worker while a trial runs, a second (goals: at most 1 ms and 2 switches)")
    with running_server() as server, tempfile.TemporaryDirectory() as folder:
        unit, url = ProcessUnit("lab1"), server.create()
        pid = os.fork()
        if pid == 0:
            with StopSignals() as stop:
                long = experiment(Path(folder), f"touch {folder}/begun; sleep {WINDOWS * WINDOW_S + 20}", 1)
                hosts = Leader([unit])
                run_campaign(store_name(url), long, stop, Reporter(quiet=True), on=hosts)
            os._exit(0)
        try:
            while not Path(folder, "begun").exists():
                time.sleep(0.1)
            time.sleep(1)
            before = _used(url)
            took_ms, switches = [], []
            for _ in range(WINDOWS):
                time.sleep(WINDOW_S)
                now = _used(url)
                took_ms.append((now[0] - before[0]) / 1e6 / WINDOW_S)
                switches.append((now[1] - before[1]) / WINDOW_S)
                before = now
            figure("ms of processor time", took_ms, "windows")
            figure("context switches", switches, "windows")
        finally:
            os.kill(pid, 15)
            os.waitpid(pid, 0)


def _used(url: str) -> tuple[int, int]:
    """Return the ns that the worker of a store and its meter have run, and how often they were switched."""
    workers, meters = [], []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            words = (process / "cmdline").read_text().split("\0")
            if "assay_cluster.worker" in words and url in words:
                workers.append(process)
            elif words[0].endswith("assay-meter"):
                meters.append(process)
    parents = {worker.name for worker in workers}
    ours = [
        *workers,
        *(meter for meter in meters if (meter / "stat").read_text().rpartition(")")[2].split()[1] in parents),
    ]
    ns = switches = 0
    for thread in (thread for process in ours for thread in process.glob("task/*")):
        ns += int((thread / "schedstat").read_text().split()[0])
        lines = (thread / "status").read_text().splitlines()
        switches += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    return ns, switches


def overhead() -> None:
    """What a trial costs on a host beyond what it costs here, in the same store."""
    print("ms of a trial that does nothing (goal of the difference: at most 20)")
    here: list[float] = []
    there: list[float] = []
    with running_server() as server, tempfile.TemporaryDirectory() as folder:
        for _ in range(RUNS):
            for took, hosts in ((here, None), (there, Leader([ProcessUnit("lab1")]))):
                url = server.create()
                with StopSignals() as stop:
                    nothing = experiment(Path(folder), ":", BLOCKS)
                    run_campaign(store_name(url), nothing, stop, Reporter(quiet=True), on=hosts)
                with Store.open(url) as store:
                    began = sorted(trial.started_at for trial in store.trials(1))
                took.append(1000 * (began[-1] - began[0]).total_seconds() / (len(began) - 1))
    figure("here", here, "campaigns", 1)
    figure("on a host", there, "campaigns", 1)
    figure("difference", [far - near for far, near in zip(there, here, strict=True)], "campaigns", 1)


def writers() -> None:
    """How many trials a second many workers record together in one server."""
    print(f"trials a second that {WRITERS} workers record together (goal: at least 200)")
    with running_server() as server, tempfile.TemporaryDirectory() as folder:
        url = server.create()
        trials = 2 * WRITERS * 400
        with Store.open(url) as store:
            resolved = experiment(Path(folder), ":", 1)
            plan = tuple(
                PlannedTrial(
                    number,
                    number // 2,
                    number // 2,
                    {"subject": "ab"[number % 2]},
                    {"seed": number},
                    "/x",
                    {},
                    1,
                    1,
                )
                for number in range(trials)
            )
            campaign = store.begin_campaign(experiment=resolved, plan=Plan(1, plan), host={})
            offer(store, campaign, trials)
            with _running(
                [multiprocessing.Process(target=_write, args=(url, campaign)) for _ in range(WRITERS)]
            ):
                while not store.query("select count(*) from trial")[1][0][0]:
                    time.sleep(0.1)
                time.sleep(2)
                rates = []
                last, at = _recorded(store)
                for _ in range(SLICES):
                    time.sleep(SLICE_S)
                    now, then = _recorded(store)
                    rates.append((now - last) / (then - at))
                    last, at = now, then
            assert store.query("select count(*) from late_result")[1] == [(0,)]
    figure("trials a second", rates, "slices", 0)


def _recorded(store: Store) -> tuple[int, float]:
    return store.query("select count(*) from trial")[1][0][0], time.monotonic()


def _write(url: str, campaign: int) -> None:
    result = {
        "protocol": 1,
        "status": "valid",
        "metrics": {"speed": 1.0, **{f"m{n}": n / 3 for n in range(40)}},
    }
    with Store.open(url, create=False) as store:
        while claim := take(store, campaign, f"process {os.getpid()}", 60):
            for trial in claim.trials:
                done = Outcome(
                    "valid", "", 0, result, "", "", None, None, "", datetime.now(UTC), 0.1, ran_on="x"
                )
                record(store, claim, trial.ordinal, done)


@contextmanager
def _running(processes: list[multiprocessing.Process]) -> Iterator[None]:
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


if __name__ == "__main__":
    run_parts((quiet, overhead, writers))
