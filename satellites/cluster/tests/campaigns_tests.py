"""A campaign over two hosts, by ssh and by Slurm, as users type it. Run by `make cluster-test`."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from assay.errors import AssayError
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


def test_a_network_that_is_cut_and_comes_back_costs_no_trial(
    experiment: str, cluster: Cluster, server: TestServer, assay: Assay
) -> None:
    url = server.create()

    def recorded(host: str) -> int:
        with suppress(AssayError):  # there is no store yet
            return trials_of_hosts(url).get(host, 0)
        return 0

    def cut() -> None:
        while recorded("node2") < 2:
            time.sleep(0.05)
        cluster.cut("node2")
        while recorded("node1") < 16:
            time.sleep(0.05)
        cluster.restore("node2")

    with ThreadPoolExecutor() as threads:
        cutting = threads.submit(cut)
        assay("run", experiment, "--on", cluster.ssh_toml(), "--store", url, "--no-page")
        cutting.result()
    with Store.open(url, create=False) as store:
        counted = store.query(
            "SELECT coalesce(p.repeats, p.group), count(*) FROM trial AS t"
            " JOIN planned_trial AS p USING (campaign_id, ordinal) GROUP BY 1, p.group ORDER BY 1"
        )[1]
    assert [group for group, trials in counted if trials == 2] == [*range(16)]
