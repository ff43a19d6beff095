"""A campaign over two hosts, by ssh and by Slurm, as users type it. Run by `make cluster-test`."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from assay.errors import AssayError
from assay.host.testing import CPU, made_machine
from assay.store import Store
from assay.store.testing import TestServer
from assay_cluster.testing_cluster import Cluster
from conftest import Assay

EXPERIMENT = """
[subjects.a]
program = "./a"
extract = { speed = "speed=([0-9.]+)" }
[subjects.b]
program = "./b"
extract = { speed = "speed=([0-9.]+)" }
[factors]
subject = ["a", "b"]
[trial]
threads = 1
[design]
blocks = 8
repeat = 0
busy = "count"
[comparison]
metric = "speed"
better = "higher"
baseline = "a"
"""


def make_programs(folder: Path, seconds: float) -> None:
    for name, speed in (("a", 10), ("b", 12)):
        (folder / name).write_text(f"#!/bin/sh\nsleep {seconds}\necho speed={speed}\n")
        (folder / name).chmod(0o755)


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    make_programs(tmp_path, seconds=0.1)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    return "x.toml"


def trials_of_hosts(url: str) -> dict[str, int]:
    with Store.open(url, create=False) as store:
        return dict(store.query("SELECT ran_on, count(*) FROM trial GROUP BY 1 ORDER BY 1")[1])


def recorded(url: str, host: str) -> int:
    with suppress(AssayError):  # there is no store yet
        return trials_of_hosts(url).get(host, 0)
    return 0


def check_each_group_counted_once(url: str, groups: int) -> None:
    with Store.open(url, create=False) as store:
        counted = store.query(
            "SELECT coalesce(p.repeats, p.group), count(*) FROM trial AS t"
            " JOIN planned_trial AS p USING (campaign_id, ordinal) GROUP BY 1, p.group ORDER BY 1"
        )[1]
    assert [group for group, trials in counted if trials == 2] == [*range(groups)]


def until(reached: Callable[[], bool]) -> None:
    """Wait until other processes have stored something: the store is asked, as nothing announces it."""
    while not reached():
        time.sleep(0.05)


@pytest.mark.parametrize("way", ["ssh", "slurm", "dask"])
def test_a_campaign_runs_on_two_hosts(
    way: str, experiment: str, server: TestServer, assay: Assay, request: pytest.FixtureRequest
) -> None:
    cluster = request.getfixturevalue("slurm" if way == "slurm" else "cluster")
    files = {"ssh": cluster.ssh_toml, "slurm": lambda: cluster.slurm_toml(2), "dask": cluster.dask_toml}
    url = server.create()
    said = assay("run", experiment, "--on", files[way](), "--store", url, "--no-page").stdout
    assert "Verdicts: 1 faster" in said
    assert trials_of_hosts(url) == {"node1": 16, "node2": 16}


def test_an_allocation_that_ends_is_followed_by_another(
    experiment: str, slurm: Cluster, server: TestServer, assay: Assay, tmp_path: Path
) -> None:
    make_programs(tmp_path, seconds=1)  # 38 s on each host, of which the first allocation has time for 30 s
    url, file = server.create(), slurm.slurm_toml(2, 'time = "1"')
    said = assay("run", experiment, "--blocks", "16", "--on", file, "--store", url, "--no-page").stderr
    assert "slurm: its allocation is nearly over; starting it again" in said
    assert trials_of_hosts(url) == {"node1": 32, "node2": 32}


def test_a_scheduler_of_dask_that_is_killed_costs_no_trial(
    experiment: str, cluster: Cluster, server: TestServer, assay: Assay, tmp_path: Path
) -> None:
    make_programs(tmp_path, seconds=1)  # what is left must last until the leader has given up
    url, file = server.create(), cluster.dask_toml()

    def kill() -> None:
        until(lambda: recorded(url, "node1") > 1 and recorded(url, "node2") > 1)
        cluster.kill_dask_scheduler()

    with ThreadPoolExecutor() as threads:
        killing = threads.submit(kill)
        words = ("run", experiment, "--blocks", "40", "--on", file, "--store", url, "--no-page")
        said = assay(*words, expect=2).stderr
        killing.result()
    message = "no Dask scheduler answers there; correct its address); what has ended is kept"
    assert message in said.splitlines()[-1]
    assay("resume", "--campaign", "1", "--on", cluster.dask_toml(), "--store", url, "--no-page")
    check_each_group_counted_once(url, 80)


@pytest.fixture
def settings(
    cluster: Cluster,
    tmp_path: Path,
    steady_programs: Path,
    experiment: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator["MadeSettings"]:
    """Give each host settings of its own, so that hosts do not share those of this machine."""
    monkeypatch.chdir(tmp_path)
    state = Path(os.environ["ASSAY_ALONE"]) / "state"
    state.mkdir(exist_ok=True)
    cluster.environment(ASSAY_PROGRAMS=str(steady_programs), ASSAY_HOST_STATE=str(state))
    settings = MadeSettings(cluster, tmp_path, state)
    for host in cluster.names:
        settings.mount(host)
    yield settings
    cluster.environment(ASSAY_PROGRAMS=str(steady_programs))


class MadeSettings:
    """Made settings of hosts; a host that is booted again needs them mounted again."""

    BEFORE: ClassVar = {
        f"{CPU}/intel_pstate/no_turbo": "0",
        "/proc/sys/kernel/timer_migration": "1",
        "/proc/sys/kernel/nmi_watchdog": "1",
    }
    ALIKE: ClassVar = {f"{CPU}/online": "0-1", "/proc/sys/kernel/sched_rt_runtime_us": "-1"}

    def __init__(self, cluster: Cluster, folder: Path, state: Path) -> None:
        self._cluster, self._folder, self._state = cluster, folder, state
        for host in cluster.names:
            made_machine(folder / host, self.BEFORE | self.ALIKE)
            for name in ("state", "proc/irq"):
                (folder / host / name).mkdir()

    def mount(self, host: str) -> None:
        """Have a host see its settings."""
        made = [place for place in self.BEFORE | self.ALIKE if not place.startswith(CPU)]
        for place in [CPU, "/proc/irq", *made]:
            self._bind(host, place.lstrip("/"), place)
        self._bind(host, "state", str(self._state))

    def _bind(self, host: str, source: str, place: str) -> None:
        done = self._cluster.run(host, "mount", "--bind", f"{self._folder}/{host}/{source}", place)
        assert not done.returncode, done.stderr

    def are_tuned(self, host: str) -> bool:
        """Return whether a run has changed the settings of a host."""
        return all(now != before for now, before in zip(self._now(host), self.BEFORE.values(), strict=True))

    def are_back(self, host: str) -> bool:
        """Return whether the settings of a host are as before, and nothing is left to be done."""
        left = (self._folder / host / "state/host.journal").exists()
        return not left and self._now(host) == [*self.BEFORE.values()]

    def _now(self, host: str) -> list[str]:
        return [(self._folder / host / place.lstrip("/")).read_text().strip() for place in self.BEFORE]


def start_tuned(hosts: Path, url: str) -> "subprocess.Popen[str]":
    words = ["run", "x.toml", "--on", str(hosts), "--store", url, "--no-page", "--tuned"]
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


def kill_worker(cluster: Cluster, host: str) -> None:
    assert not cluster.run(host, "pkill", "-KILL", "-f", "assay_cluster.worker").returncode


def test_a_tuned_host_whose_worker_or_all_is_killed_goes_on_and_is_put_back(
    settings: MadeSettings, cluster: Cluster, server: TestServer
) -> None:
    url = server.create()
    leader = start_tuned(cluster.ssh_toml(), url)
    until(lambda: all(map(settings.are_tuned, cluster.names)))
    kill_worker(cluster, "node1")
    cluster.kill("node2")
    cluster.boot("node2")
    settings.mount("node2")
    assert settings.are_tuned("node2")
    _, said = leader.communicate()
    assert leader.returncode == 0, said
    assert all(map(settings.are_back, cluster.names))
    assert trials_of_hosts(url).keys() == {"node1", "node2"}


def test_tuned_hosts_are_put_back_when_the_leader_is_killed(
    settings: MadeSettings, cluster: Cluster, server: TestServer
) -> None:
    leader = start_tuned(cluster.ssh_toml(), server.create())
    until(lambda: all(map(settings.are_tuned, cluster.names)))
    leader.kill()
    leader.communicate()
    kill_worker(cluster, "node1")
    until(lambda: all(map(settings.are_back, cluster.names)))


def test_a_network_that_is_cut_and_comes_back_costs_no_trial(
    experiment: str, cluster: Cluster, server: TestServer, assay: Assay
) -> None:
    url = server.create()

    def cut() -> None:
        until(lambda: recorded(url, "node2") > 1)
        cluster.cut("node2")
        until(lambda: recorded(url, "node1") == 16)
        cluster.restore("node2")

    with ThreadPoolExecutor() as threads:
        cutting = threads.submit(cut)
        assay("run", experiment, "--on", cluster.ssh_toml(), "--store", url, "--no-page")
        cutting.result()
    check_each_group_counted_once(url, 16)
