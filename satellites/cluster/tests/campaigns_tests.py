"""A campaign over two hosts, by ssh and by Slurm, as users type it. Run by `make cluster-test`."""

from pathlib import Path

import pytest

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
busy = "count"
[comparison]
metric = "speed"
better = "higher"
baseline = "a"
"""


@pytest.mark.parametrize("way", ["ssh", "slurm"])
def test_a_campaign_runs_on_two_hosts(
    way: str,
    cluster: Cluster,
    server: TestServer,
    assay: Assay,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if way == "slurm":
        request.getfixturevalue("slurm")
    file = cluster.slurm_toml(2) if way == "slurm" else cluster.ssh_toml()
    for name, speed in (("a", 10), ("b", 12)):
        (tmp_path / name).write_text(f"#!/bin/sh\necho speed={speed}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    url = server.create()
    said = assay("run", "x.toml", "--on", file, "--store", url, "--no-page")
    print(said.stdout, said.stderr)
    with Store.open(url, create=False) as store:
        ran = store.query("SELECT ran_on, count(*) FROM trials GROUP BY 1 ORDER BY 1")[1]
    assert ran == [("lab1", 16), ("lab2", 16)]
