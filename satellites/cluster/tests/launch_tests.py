"""Workers are started on hosts by ssh and Slurm, tell how they ended, and end. Run by `make cluster-test`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay_cluster.hosts_file import read, units
from assay_cluster.ssh import SshUnit
from assay_cluster.testing_cluster import LEADER, Cluster, SilentServer, await_end, is_over
from assay_cluster.units import Unit, Work

pytestmark = pytest.mark.parametrize("silent", [LEADER], indirect=True)


def units_of(file: Path) -> list[Unit]:
    return [*units(read(file), file.parent)]


def test_a_worker_runs_on_each_host_and_tells_how_it_ended(cluster: Cluster, silent: SilentServer) -> None:
    for unit in units_of(cluster.ssh_toml()):
        unit.start(Work(silent.url, 1))
        connection = silent.connection()
        address, _ = connection.getpeername()
        assert address == cluster.addresses[unit.name]
        assert unit.ended() is None
        command = cluster.run(unit.name, "pgrep", "-af", "python").stdout.splitlines()
        assert [line for line in command if "assay_cluster.worker" in line], command
        assert not [line for line in command if "dask_spec" in line]
        connection.close()
        assert LEADER in await_end(unit)
        unit.close()


def test_closing_ends_the_worker(cluster: Cluster, silent: SilentServer) -> None:
    (unit,) = units_of(cluster.ssh_toml("node1"))
    unit.start(Work(silent.url, 1))
    connection = silent.connection()
    unit.close()
    assert is_over(connection)


def test_a_host_that_loses_its_power_or_network_is_lost(cluster: Cluster, silent: SilentServer) -> None:
    (unit,) = units_of(cluster.ssh_toml("node1"))
    unit.start(Work(silent.url, 1))
    silent.connection()
    cluster.kill("node1")
    cluster.cut("node1")
    try:
        assert await_end(unit) == "the connection to it was lost"
        unit.close()
        with pytest.raises(AssayError, match=r"cannot be reached: .*; try `ssh node1 true`"):
            unit.start(Work(silent.url, 1))
    finally:
        cluster.restore("node1")
        cluster.boot("node1")
    unit.start(Work(silent.url, 1))
    assert unit.ended() is None
    unit.close()


def test_what_a_host_lacks_is_told(cluster: Cluster, silent: SilentServer, tmp_path: Path) -> None:
    def refusal(python: str, **place: str) -> str:
        options = {"client_keys": f"{cluster.folder}/key", "known_hosts": f"{cluster.folder}/known_hosts"}
        unit = SshUnit("node1", python, {"host": "node1", **options, **place})
        with pytest.raises(AssayError) as error:
            unit.start(Work(silent.url, 1))
        return str(error.value)

    (tmp_path / "empty").touch()
    assert "there is no Python at /opt/none" in refusal("/opt/none")
    assert "has no assay_cluster; run there: /usr/bin/python3 -m pip install" in refusal("/usr/bin/python3")
    assert "host key is not known" in refusal(sys.executable, known_hosts=f"{tmp_path}/empty")
    assert "refuses our key" in refusal(sys.executable, client_keys=f"{cluster.folder}/host_key")
    assert "cannot be reached" in refusal(sys.executable, host="lab9")
    locked = tmp_path / "locked"
    shutil.copy(cluster.folder / "key", locked)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked], check=True)
    assert "the key cannot be used: " in refusal(sys.executable, client_keys=str(locked))
    other = tmp_path / "python"
    other.write_text('#!/bin/sh\necho \'{"Python": "3.99", "Assay": "1"}\'\n')
    other.chmod(0o755)
    assert refusal(str(other)).startswith("it has Python 3.99 (here 3.")


def test_an_allocation_of_slurm_starts_a_worker_on_each_node(slurm: Cluster, silent: SilentServer) -> None:
    (unit,) = units_of(slurm.slurm_toml(2))
    unit.start(Work(silent.url, 1))
    connections = [silent.connection(), silent.connection()]
    assert {connection.getpeername()[0] for connection in connections} == {*slurm.addresses.values()}
    assert unit.ended() is None
    for connection in connections:
        connection.close()
    said = await_end(unit)
    assert LEADER in said
    assert "FAILED (NonZeroExitCode)" in said
    unit.close()


def test_closing_ends_the_allocation(slurm: Cluster, silent: SilentServer) -> None:
    (unit,) = units_of(slurm.slurm_toml(2))
    unit.start(Work(silent.url, 1))
    connections = [silent.connection(), silent.connection()]
    unit.close()
    assert all(is_over(connection) for connection in connections)
    slurm.await_nodes()


def test_what_slurm_refuses_is_told(
    slurm: Cluster, silent: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (unit,) = units_of(slurm.slurm_toml(2, 'partition = "none"'))
    with pytest.raises(AssayError, match="sbatch refuses: invalid partition specified: none; correct"):
        unit.start(Work(silent.url, 1))
    monkeypatch.setenv("PATH", str(Path(shutil.which("sh") or "").parent / "none"))
    with pytest.raises(AssayError, match="there is no sbatch here"):
        unit.start(Work(silent.url, 1))
