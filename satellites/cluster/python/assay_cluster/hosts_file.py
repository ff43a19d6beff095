"""Reads hosts.toml: which hosts run a campaign, and how their workers are started."""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator, Field

from assay.campaign.hosts import Hosts
from assay.experiment.load import read_tables, read_text
from assay.experiment.mistakes import MistakeError, located, validated
from assay.experiment.tables import Listed, NonEmptyWord, Table, Word, explained
from assay.words import listed, show
from assay_cluster.units import Unit

_ADDRESS = re.compile(r"(?:(?P<user>[^@:\s]+)@)?(?P<host>\[[^\]\s]+\]|[^@:\s\[\]]+)(?::(?P<port>\d{1,5}))?")
"""[USER@]HOST[:PORT], as ssh's URLs have it; the address of IPv6 is in brackets."""


def _directive(text: str) -> str:
    if not re.fullmatch(r"--[^\n]+", text):
        raise ValueError(f'{show(text)} is not an option of sbatch; write it as "--constraint=NAME"')
    return text


def _address(text: str) -> str:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 1 <= int(found["port"] or 22) <= 65535:
        raise ValueError(f'{show(text)} is not an address; write "HOST", "USER@HOST" or "USER@HOST:PORT"')
    return text


def _named_once(hosts: tuple[str, ...]) -> tuple[str, ...]:
    name, times = Counter(hosts).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{show(name)} is there {times} times; a host runs one trial at a time")
    return hosts


def _without_password(url: str) -> str:
    try:
        given = conninfo_to_dict(url)
    except ProgrammingError:
        given = {}
    if "://" not in url or not given:
        # The text may have a password.
        raise ValueError("is not the URL of a store on a server; write postgresql://USER@HOST/DATABASE")
    if "password" in given or "sslpassword" in given:
        raise ValueError("has a password, which others could read on the hosts; put it into ~/.pgpass there")
    return url


Addresses = Annotated[
    tuple[Annotated[NonEmptyWord, AfterValidator(_address)], ...],
    Listed,
    Field(min_length=1),
    AfterValidator(_named_once),
]
Count = Annotated[int, Field(ge=1, le=10_000)]


class Local(Table):
    """One worker on this machine, to try things out."""


class Ssh(Table):
    """Hosts that ssh reaches."""

    hosts: Addresses
    """[USER@]HOST[:PORT] of each; ~/.ssh/config is read."""
    python: NonEmptyWord = sys.executable
    """The Python of each host that has Assay; ~ is the home there."""
    key: NonEmptyWord | None = None
    """The file of the private key."""
    known_hosts: NonEmptyWord | None = None
    """The file of the hosts' public keys."""


class Slurm(Table):
    """One allocation of nodes by Slurm."""

    hosts: Count
    """Number of nodes."""
    python: NonEmptyWord = sys.executable
    """The Python of each node that has Assay; ~ is the home there."""
    partition: NonEmptyWord | None = None
    account: NonEmptyWord | None = None
    time: NonEmptyWord | None = None
    """The allocation's limit, as sbatch takes it."""
    directives: Annotated[tuple[Annotated[Word, AfterValidator(_directive)], ...], Listed] = ()
    """Further options of sbatch."""
    prologue: Annotated[tuple[Word, ...], Listed] = ()
    """Lines of shell before the workers start, such as "module load python"."""


class Dask(Table):
    """Workers of a Dask cluster that runs already."""

    scheduler: Annotated[
        NonEmptyWord,
        Field(pattern=r"^(tcp|tls|ucx)://\S+$"),
        explained('{value} is not the address of a Dask scheduler; write "tcp://HOST:8786"'),
    ]
    hosts: Count
    """Number of hosts of its workers."""


class HostsFile(Table):
    """Exactly one table says what starts workers."""

    store: Annotated[NonEmptyWord, AfterValidator(_without_password)] | None = None
    """The store's URL as the hosts see it, if it differs from that of `--store`."""
    local: Local | None = None
    ssh: Ssh | None = None
    slurm: Slurm | None = None
    dask: Dask | None = None


_EXECUTORS = ("local", "ssh", "slurm", "dask")


def read(file: Path) -> HostsFile:
    """Read a file of hosts.

    Raises:
        AssayError: it cannot be read, or holds a mistake.
    """
    text = read_text(file, "a file of hosts")
    with located(file, text):
        table = validated(HostsFile, read_tables(text, file))
        given = [name for name in _EXECUTORS if getattr(table, name) is not None]
        if len(given) != 1:
            tables = listed([f"[{name}]" for name in given or _EXECUTORS], "and" if given else "or")
            why = f"holds {tables}; keep one of them" if given else f"starts nothing; add one of {tables}"
            raise MistakeError((given[1],) if given else (), why)
        for name, path in _files(table, file.parent).items():
            if not path.is_file():
                raise MistakeError(("ssh", name), f"there is no file {path}; name one")
    return table


def _files(table: HostsFile, folder: Path) -> dict[str, Path]:
    """Return the files that a file of hosts names; relative paths are relative to its folder."""
    given = {"key": table.ssh.key, "known_hosts": table.ssh.known_hosts} if table.ssh else {}
    return {name: (folder / Path(path).expanduser()).absolute() for name, path in given.items() if path}


def units(table: HostsFile, folder: Path) -> Sequence[Unit]:
    """Return what a file of hosts in a folder starts."""
    # What starts workers takes half a second to load.
    from assay_cluster import dask, local, slurm, ssh  # noqa: PLC0415

    if table.local is not None:
        return [local.LocalUnit()]
    if table.ssh:
        options = {"key": "client_keys", "known_hosts": "known_hosts"}
        files = {options[name]: str(path) for name, path in _files(table, folder).items()}
        return [ssh.SshUnit(name, table.ssh.python, _place(name) | files) for name in table.ssh.hosts]
    if table.slurm:
        return [slurm.SlurmUnit(table.slurm)]
    assert table.dask
    return [dask.DaskUnit(table.dask.scheduler, table.dask.hosts)]


def _place(address: str) -> dict[str, str | int]:
    """Return the options of asyncssh for [USER@]HOST[:PORT]; what is missing follows from ~/.ssh/config."""
    found = _ADDRESS.fullmatch(address)
    assert found
    place: dict[str, str | int] = {"host": found["host"].strip("[]")}
    if found["user"]:
        place["username"] = found["user"]
    if found["port"]:
        place["port"] = int(found["port"])
    return place


def hosts(file: Path, *, isolated: bool) -> Hosts:
    """Return the hosts of a file, for a campaign.

    Args:
        file: TOML.
        isolated: each host leaves everything else the last processor meanwhile.

    Raises:
        AssayError: the file cannot be read, or holds a mistake.
    """
    from assay_cluster.leader import Leader  # noqa: PLC0415

    table = read(file)
    return Leader(units(table, file.parent), isolated=isolated, store=table.store)
