"""A real PostgreSQL for tests: Debian's, in a folder of its own, reached by a Unix socket alone."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
_USER = "assay"
_QUICK = ("fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=200", "jit=off")
"""What is written may be lost when the machine fails, which is nothing that tests are about."""
_fresh = count()


class TestServer:
    """A server that runs. `create` makes an empty database and returns its URL."""

    __test__ = False  # pytest takes it for tests otherwise

    def __init__(self, folder: Path, address: str = "", admitted: str = "") -> None:
        """Take its folder and, to be reached over a network, its address there and the network of clients."""
        self._data, self._sockets = folder / "data", folder
        self._address, self._admitted = address, admitted

    def url(self, database: str, user: str = _USER) -> str:
        """Return the URL of a database."""
        if self._address:
            return f"postgresql://{user}@{self._address}/{database}"
        return f"postgresql://{user}@/{database}?host={self._sockets}"

    def create(self, options: str = "") -> str:
        """Make an empty database, and return its URL."""
        name = f"store_{next(_fresh)}"
        self.run(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def run(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement as the owner of all, and return its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start it."""
        options = " ".join(f"-c {setting}" for setting in (*_QUICK, f"listen_addresses={self._address}"))
        self._control("start", "-w", "-l", str(self._sockets / "log"), "-o", f"{options} -k {self._sockets}")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `immediate` is as if it were killed."""
        self._control("stop", "-w", "-m", mode)

    def make(self) -> None:
        """Make the files of the server."""
        how = ("--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", f"--username={_USER}")
        _as_other_user("initdb", "-D", str(self._data), *how)
        if self._admitted:
            with (self._data / "pg_hba.conf").open("a") as file:
                file.write(f"host all all {self._admitted} trust\n")

    def _control(self, *words: str) -> None:
        _as_other_user("pg_ctl", "-D", str(self._data), *words)


def _as_other_user(program: str, *words: str) -> None:
    """Run a program of PostgreSQL, which refuses root, as the user that its Debian package made."""
    other = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups") if os.geteuid() == 0 else ()
    # Its output is no pipe of ours, which the server would keep open.
    subprocess.run(  # noqa: S603
        [*other, str(_PROGRAMS / program), *words],
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def running_server(  # the path of its socket has 107 bytes at most, so that it is not in TMPDIR
    where: str = "/tmp",  # noqa: S108
    address: str = "",
    admitted: str = "",
) -> Iterator[TestServer]:
    """Give a new server in a folder, which ends with its files; see `TestServer`."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=where))
    server = TestServer(folder, address, admitted)
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        folder.chmod(0o755)
        server.make()
        server.start()
        try:
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):  # a test may have ended it
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
