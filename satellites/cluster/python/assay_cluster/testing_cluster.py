"""A cluster on one machine for tests: hosts with processes, network and name of their own, sshd and Slurm.

It needs root, and namespaces that end with the tests (`tests/alone`, which `make cluster-test` calls): so
nothing is left of it, however they end. Hosts share the file system. A bridge connects them with each other,
and with this process at `LEADER`.
"""

import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from distributed import Client

from assay.store.testing import TestServer, running_server
from assay_cluster.units import Unit

LEADER = "10.77.0.1"
_NETWORK = "10.77.0.0/24"
_SSHD = """
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
PidFile none
MaxStartups 1000
"""
_SLURM = """
ClusterName=assay
SlurmctldHost=leader({leader})
SlurmUser=root
StateSaveLocation={folder}/slurmctld
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SlurmdTimeout=20
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
PartitionName=lab Nodes={nodes} Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
"""


class Cluster:
    """Hosts that run.

    Attributes:
        folder: where everything about them is; `key` and `known_hosts` are for ssh.
        names: of the hosts.
    """

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder = folder
        self.names = list(names)
        self.addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, 11)}
        self._booted: dict[str, subprocess.Popen[bytes]] = {}
        self._dask: list[subprocess.Popen[bytes]] = []
        self.has_slurm = False

    def ssh_toml(self, *names: str, more: str = "") -> Path:
        """Write hosts.toml for hosts that ssh reaches, all if none is named; return its path."""
        lines = [f"hosts = {list(names) or self.names}".replace("'", '"')]
        lines += [f'{name} = "{self.folder}/{name}"' for name in ("key", "known_hosts")]
        return self._toml("ssh", *lines, more)

    def slurm_toml(self, hosts: int, more: str = "") -> Path:
        """Write hosts.toml for an allocation of Slurm, and return its path."""
        return self._toml("slurm", f"hosts = {hosts}", more)

    def dask_toml(self) -> Path:
        """Write hosts.toml for a Dask cluster with a worker on each host, which is started if none runs."""
        address = f"tcp://{LEADER}:8786"
        if not self._dask:
            dask = [sys.executable, "-m", "dask"]
            scheduler = [*dask, "scheduler", "--host", LEADER, "--no-dashboard"]
            workers = [
                [*self._enter(host), *dask, "worker", address, "--no-dashboard"] for host in self.names
            ]
            with (self.folder / "dask.log").open("ab") as log:
                for command in (scheduler, *workers):
                    self._dask.append(subprocess.Popen(command, stdout=log, stderr=log))  # noqa: S603
            with Client(address, timeout=60, set_as_default=False) as client:
                client.wait_for_workers(len(self.names))
        return self._toml("dask", f'scheduler = "{address}"', f"hosts = {len(self.names)}")

    def kill_dask_scheduler(self) -> None:
        """Kill Dask's scheduler, and wait until its workers have ended by themselves."""
        self._dask[0].kill()
        for process in self._dask:
            process.wait()
        self._dask.clear()

    def _toml(self, table: str, *lines: str) -> Path:
        file = self.folder / f"{table}.toml"
        file.write_text("\n".join([f"[{table}]", *lines, ""]))
        return file

    def cut(self, host: str) -> None:
        """Cut a host's network."""
        _run("ip", "link", "set", f"to-{host}", "down")

    def restore(self, host: str) -> None:
        """Bring a host's network back."""
        _run("ip", "link", "set", f"to-{host}", "up")

    def environment(self, **variables: str) -> None:
        """Set variables of all that ssh starts from now on."""
        file = self.folder / "sshd_config"
        words = " ".join(f"{name}={value}" for name, value in variables.items())
        file.write_text(f"{_SSHD.format(folder=self.folder)}SetEnv {words}\n")
        for host in self.names:
            self.kill(host)
            self.boot(host)

    def kill(self, host: str) -> None:
        """Kill everything on a host at once, as a cut of its power does."""
        first = os.pidfd_open(self._first_process(host))
        booted = self._booted.pop(host)
        booted.kill()
        booted.wait()
        select.select([first], [], [])  # the last to end: until then, the former sshd may answer
        os.close(first)

    def boot(self, host: str) -> None:
        """Start a host: sshd and, where Slurm runs, its slurmd."""
        self._booted[host] = self._start_on(
            host, f"{shutil.which('sshd')} -D -e -f {self.folder}/sshd_config"
        )
        if self.has_slurm:
            self._start_slurmd(host)

    def run(self, host: str, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run a command on a host."""
        return subprocess.run(  # noqa: S603
            [*self._enter(host), *words], check=False, capture_output=True, text=True, **options
        )

    def _enter(self, host: str) -> list[str]:
        """Return the start of the command that enters a host that runs."""
        target = f"--target={self._first_process(host)}"
        return ["nsenter", target, "--net", "--uts", "--mount", "--pid"]

    def _first_process(self, host: str) -> int:
        """Return the number of the process of a host that has the number 1 there."""
        parent = self._booted[host].pid
        (child,) = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return int(child)

    def _start_on(self, host: str, command: str) -> "subprocess.Popen[bytes]":
        """Start the first process of a host, and wait until its sshd answers."""
        # Not `ip netns exec`, which hides control groups.
        own = f"nsenter --net=/run/netns/{host} unshare --uts --mount --pid --fork --kill-child --mount-proc"
        script = f"hostname {host}; {command} & wait"  # a shell also takes what others leave behind
        with (self.folder / f"{host}.sshd.log").open("ab") as log:
            started = subprocess.Popen([*own.split(), "sh", "-c", script], stderr=log)  # noqa: S603
        while True:
            with suppress(ConnectionRefusedError), socket.create_connection((self.addresses[host], 22), 30):
                return started
            time.sleep(0.02)

    def start_network(self) -> None:
        """Connect hosts, and have all of them know the names of all."""
        _run("ip", "link", "add", "name", "bridge", "type", "bridge")
        _run("ip", "addr", "add", f"{LEADER}/24", "dev", "bridge")
        _run("ip", "link", "set", "bridge", "up")
        for host, address in self.addresses.items():
            _run("ip", "netns", "add", host)
            _run(*f"ip link add to-{host} type veth peer name eth0 netns {host}".split())
            _run(*f"ip link set to-{host} master bridge up".split())
            _run(*f"ip -n {host} addr add {address}/24 dev eth0".split())
            for device in ("eth0", "lo"):
                _run(*f"ip -n {host} link set {device} up".split())
        known = {"localhost": "127.0.0.1", "leader": LEADER, **self.addresses}
        names = self.folder / "hosts"
        names.write_text("".join(f"{address} {name}\n" for name, address in known.items()))
        _run("mount", "--bind", str(names), "/etc/hosts")

    def start_sshd(self) -> None:
        """Make keys of the test's own, and boot all hosts."""
        Path("/run/sshd").mkdir()
        for key in ("host_key", "key"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(self.folder / key))
        public = (self.folder / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"{','.join(self.names)} {public}")
        (self.folder / "sshd_config").write_text(_SSHD.format(folder=self.folder))
        for host in self.names:
            self.boot(host)

    def start_slurm(self) -> None:
        """Start Slurm, whose nodes are the hosts, and wait until they can run jobs."""
        conf = self.folder / "slurm.conf"
        text = _SLURM.format(folder=self.folder, leader=LEADER, nodes=",".join(self.names))
        text += "".join(
            f"NodeName={name} NodeAddr={address} CPUs={os.cpu_count()} RealMemory=1000\n"
            for name, address in self.addresses.items()
        )
        conf.write_text(text)
        os.environ["SLURM_CONF"] = str(conf)
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o600)
        Path("/run/munge").mkdir(mode=0o755)
        files = [f"--{name}={self.folder}/munge.{name[:-5]}" for name in ("key-file", "log-file", "pid-file")]
        _run("munged", "--force", f"--seed-file={self.folder}/munge.seed", *files)
        _run("unshare", "--uts", "sh", "-c", f"hostname leader; exec slurmctld -c -f {conf}")
        self.has_slurm = True
        for host in self.names:
            self._start_slurmd(host)
        self.await_nodes()

    def _start_slurmd(self, host: str) -> None:
        (self.folder / host).mkdir(exist_ok=True)
        _run(*self._enter(host), "slurmd", "-N", host, "-f", os.environ["SLURM_CONF"])

    def await_nodes(self) -> None:
        """Wait until all nodes can run jobs."""
        while set(_run("sinfo", "--noheader", "--Node", "--format=%T").split()) != {"idle"}:
            time.sleep(0.1)

    def end(self) -> None:
        """End all hosts; the rest ends with the namespaces."""
        for host in [*self._booted]:
            self.kill(host)


def _run(*words: str) -> str:
    completed = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603
    if completed.returncode:
        raise RuntimeError(f"{' '.join(words)}: {completed.stderr}")
    return completed.stdout


@contextmanager
def running_cluster(names: Sequence[str] = ("node1", "node2")) -> Iterator[Cluster]:
    """Give hosts that ssh reaches; `Cluster.start_slurm` adds Slurm."""
    folder = Path(os.environ["ASSAY_ALONE"]) / "cluster"
    folder.mkdir()
    cluster = Cluster(folder, names)
    cluster.start_network()
    cluster.start_sshd()
    try:
        yield cluster
    finally:
        cluster.end()


@contextmanager
def server_for_hosts() -> Iterator[TestServer]:
    """Give a PostgreSQL server that all hosts reach."""
    with running_server(os.environ["ASSAY_ALONE"], address=LEADER, admitted=_NETWORK) as server:
        yield server


class SilentServer:
    """A server that takes a worker's connection and says nothing, so that the worker waits."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._listening = socket.create_server((address, 0))
        self._listening.settimeout(100)
        self.url = f"postgresql://nobody@{address}:{self._listening.getsockname()[1]}/none"

    def connection(self) -> socket.socket:
        """Wait for a worker, and return the connection to it."""
        connected, _ = self._listening.accept()
        connected.settimeout(100)
        return connected

    def close(self) -> None:
        """End it."""
        self._listening.close()


def is_over(connection: socket.socket) -> bool:
    """Wait until the other side of a connection has ended."""
    with suppress(ConnectionResetError):
        while connection.recv(4096):
            pass
    return True


def await_end(unit: Unit) -> str:
    """Wait until a unit has ended, and return its last words."""
    while (said := unit.ended()) is None:
        time.sleep(0.01)
    return said
