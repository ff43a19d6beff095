"""Whatever is killed or cut when: no trial is lost, counted twice, or run beside another on its host.

`make cluster-test` runs it with few trials; the variables TRIALS and KILLS make it long.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.store import Store
from assay.store.testing import TestServer
from assay_cluster.testing_cluster import Cluster

TRIALS = int(os.environ.get("TRIALS", "400"))
KILLS = int(os.environ.get("KILLS", "8"))
HOSTS = 2

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
blocks = BLOCKS
busy = "count"
repeat = 0
[comparison]
metric = "speed"
better = "higher"
baseline = "a"
"""

PROGRAM = """#!/bin/sh
exec 9>FOLDER/lock-$(hostname)
flock -n 9 || echo "$(hostname) $0" >> FOLDER/overlaps
sleep 0.02
echo speed=SPEED
"""


@pytest.mark.timeout(3 * 3600)
def test_nothing_that_is_killed_loses_a_trial(
    cluster: Cluster,
    server: TestServer,
    tmp_path: Path,
    steady_programs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seed = random.randrange(2**32)
    draws = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    cluster.environment(ASSAY_PROGRAMS=str(steady_programs))
    for name, speed in (("a", "10"), ("b", "12")):
        (tmp_path / name).write_text(PROGRAM.replace("FOLDER", str(tmp_path)).replace("SPEED", speed))
        (tmp_path / name).chmod(0o755)
    blocks = TRIALS // 2 // HOSTS
    (tmp_path / "x.toml").write_text(EXPERIMENT.replace("BLOCKS", str(blocks)))
    url = server.create()
    leading = _Leader(url, cluster.ssh_toml())

    def kill_worker() -> None:
        cluster.run(draws.choice(cluster.names), "pkill", "-KILL", "-f", "assay_cluster.worker")

    def kill_host() -> None:
        host = draws.choice(cluster.names)
        cluster.kill(host)
        cluster.boot(host)

    def kill_leader() -> None:
        leading.kill()

    def kill_server() -> None:
        server.stop("immediate")
        time.sleep(draws.random())
        server.start()

    def cut() -> None:
        host = draws.choice(cluster.names)
        cluster.cut(host)
        time.sleep(draws.choice([1, 5, 45]))
        cluster.restore(host)

    ways: list[Callable[[], None]] = [kill_worker, kill_host, kill_leader, kill_server, cut]
    did: list[str] = []
    while leading.runs():
        time.sleep(draws.uniform(0.5, 8))
        if len(did) < KILLS and leading.process is not None:
            way = ways[len(did) % len(ways)]
            did.append(way.__name__)
            way()
    with capsys.disabled():
        print(f"\nseed {seed}: {len(did)} times: {', '.join(did)}")
    assert not (tmp_path / "overlaps").exists()
    with Store.open(url, create=False) as store:
        summary = store.campaign(1)
        counted = store.query(
            "SELECT coalesce(p.repeats, p.group), p.group, count(*), count(DISTINCT t.ran_on) FROM trial AS t"
            " JOIN planned_trial AS p USING (campaign_id, ordinal) GROUP BY 1, 2 ORDER BY 1, 2"
        )[1]
        late = store.query("SELECT count(*) FROM late_result")[1]
    with capsys.disabled():
        partial = sum(trials < 2 for _, _, trials, _ in counted)
        print(f"{summary.ended} trials, {partial} groups cut off, {late[0][0]} late results")
    assert [original for original, _, trials, _ in counted if trials == 2] == [*range(HOSTS * blocks)]
    assert {hosts for *_, hosts in counted} == {1}
    assert summary.finished


class _Leader:
    """`assay run`, which is resumed when it was killed.

    Attributes:
        process: the one that leads; None until it has begun the campaign.
    """

    def __init__(self, url: str, hosts: Path) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._words = ["--on", str(hosts), "--store", url, "--no-page", "--quiet"]
        self._url = url
        self._started = self._start("run", "x.toml")

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with Path("leader.log").open("ab") as log:
            command = [sys.executable, "-m", "assay", *words, *self._words]
            return subprocess.Popen(command, stdout=log, stderr=log)

    def runs(self) -> bool:
        """Return whether the campaign goes on; resume it where it must be."""
        if self.process is None and self._has_begun():
            self.process = self._started
        status = self._started.poll()
        if status is None:
            return True
        if status == 0:
            return False
        assert status < 0 or self.process is not None, Path("leader.log").read_text()
        self._started = self._start("resume", "--campaign", "1")
        return True

    def _has_begun(self) -> bool:
        with suppress(AssayError), Store.open(self._url, create=False) as store:
            return bool(store.query("SELECT count(*) FROM trial")[1][0][0])
        return False

    def kill(self) -> None:
        """Kill it."""
        self._started.kill()
        self._started.wait()
