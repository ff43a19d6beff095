"""Workers on hosts that ssh reaches, by Dask's own class for them."""

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import Any

import asyncssh
from distributed.deploy.ssh import Worker

from assay.errors import AssayError
from assay.words import one_line, printable
from assay_cluster.loop import GRACE_S, ends, run
from assay_cluster.start import different, encoded, last_words, shell_word, words
from assay_cluster.units import Work

_CONNECT_S = 10
_START_S = 60  # Python with Dask, on a disk that is cold
_BATCH = {
    "connect_timeout": _CONNECT_S,
    "login_timeout": _CONNECT_S,
    "preferred_auth": "publickey,gssapi-with-mic",  # nothing that asks somebody
    "keepalive_interval": 10,
    "keepalive_count_max": 3,
}


class SshUnit:
    """The worker of a host that ssh reaches."""

    hosts = 1
    note = ""

    def __init__(self, name: str, python: str, place: dict[str, Any]) -> None:
        """Take its name, the path of its Python and options of asyncssh."""
        self.name = name
        self._python = shell_word(python)
        self._address = place["host"]
        self._options = _BATCH | {name: value for name, value in place.items() if name != "host"}
        self._worker: Worker | None = None
        self._end: asyncio.Task[str] | None = None
        self._printed: deque[str] = deque(maxlen=20)

    def start(self, work: Work) -> None:
        """Start it.

        Raises:
            AssayError: it cannot be started.
        """
        self.close()
        self._printed.clear()
        try:
            run(self._start(work), within_s=2 * _CONNECT_S + _START_S)
        except AssayError:
            raise
        except Exception as error:
            self.close()
            raise AssayError(self._why(error)) from error

    async def _start(self, work: Work) -> None:
        async with asyncssh.connect(self._address, **self._options) as connection:
            await self._check(connection)
        command = {"command": encoded(words(work, self.name, self.name))}
        self._worker = Worker(
            "-",
            self._address,
            self._options,
            command,
            worker_class="assay_cluster.start.QuietWorker",
            remote_python=self._python,
        )
        await self._worker
        process: Any = self._worker.proc
        self._pid = int(await process.stderr.readline())
        self._end = asyncio.create_task(self._listen(self._worker))

    async def _check(self, connection: asyncssh.SSHClientConnection) -> None:
        """Check that the host has what a worker needs.

        Raises:
            AssayError: it has not.
        """
        completed = await connection.run(f"{self._python} -m assay_cluster.start", stdin=asyncssh.DEVNULL)
        printed, complaint = str(completed.stdout), str(completed.stderr)
        if completed.exit_status in {126, 127}:
            why = f"there is no Python at {self._python}; write the path of one with Assay as python in [ssh]"
        elif "assay_cluster" in complaint:
            install = f"{self._python} -m pip install assay-cluster"
            why = f"{self._python} there has no assay_cluster; run there: {install}"
        elif completed.exit_status:
            why = f"{self._python} cannot start there: {last_words(None, complaint)}"
        else:
            why = different(json.loads(printed.splitlines()[-1]))
        if why:
            raise AssayError(why)

    def _why(self, error: Exception) -> str:
        """Say why it cannot be started, and what to do."""
        login = f"ssh {self.name}"
        match error:
            case asyncssh.HostKeyNotVerifiable():
                return (
                    f"its host key is not known; run `{login}` once and compare the key, or name known_hosts"
                )
            case asyncssh.PermissionDenied():
                return "it refuses our key; add the public key to ~/.ssh/authorized_keys there, or name key"
            case asyncssh.KeyImportError() | asyncssh.KeyEncryptionError():
                return f"the key cannot be used: {error}; add it to an agent with ssh-add"
            case TimeoutError() | asyncssh.Error() | OSError():
                told = one_line(printable(str(error))) or f"no answer in {_CONNECT_S} s"
                return f"it cannot be reached: {told}; try `{login} true`"
            case _:
                return f"its worker did not start: {one_line(printable(str(error)))}; try `{login} true`"

    async def _listen(self, worker: Worker) -> str:
        """Read what the worker prints until it ends; return its last words."""
        process: Any = worker.proc
        with suppress(asyncssh.Error, OSError):
            async for line in process.stderr:
                self._printed.append(line)
        with suppress(asyncssh.Error, OSError):
            await process.wait_closed()
        status = process.returncode
        if status is None:
            return "the connection to it was lost"
        return last_words(status, "".join(self._printed))

    async def _kill(self, connection: asyncssh.SSHClientConnection, signal: str) -> bool:
        """Send the worker a signal; return whether its host answers."""
        try:
            command = f"kill -s {signal} {self._pid}"
            await asyncio.wait_for(connection.run(command, stdin=asyncssh.DEVNULL), GRACE_S)
        except Exception:  # asyncssh has others, too, where a connection ends meanwhile
            return False
        return True

    def ended(self) -> str | None:
        """Return None while it runs; else its last words."""
        return self._end.result() if self._end is not None and self._end.done() else None

    def close(self) -> None:
        """End it. A host that cannot be reached is given up; its worker ends by itself."""
        if self._worker is not None:
            with suppress(TimeoutError):
                run(self._close(self._worker), within_s=4 * GRACE_S)
            self._worker = self._end = None

    async def _close(self, worker: Worker) -> None:
        if worker.connection is not None and self._end is not None:
            worker.proc = None
            for signal in ("TERM", "KILL"):
                # Not the signals of the protocol, which OpenSSH's server refuses where root logs in.
                if self._end.done() or not await self._kill(worker.connection, signal):
                    break
                await ends(self._end, GRACE_S)
        with suppress(OSError):
            await worker.close()
        if worker.connection is not None:
            with suppress(TimeoutError, asyncssh.Error, OSError):
                await asyncio.wait_for(worker.connection.wait_closed(), GRACE_S)
            worker.connection.abort()
