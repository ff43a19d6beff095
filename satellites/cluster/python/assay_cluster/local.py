"""A worker on this machine."""

import asyncio
import os
import platform
import signal
import tempfile
from contextlib import suppress

from distributed.deploy.subprocess import SubprocessWorker

from assay.errors import AssayError
from assay_cluster.loop import GRACE_S, ends, run
from assay_cluster.start import encoded, end_of, last_words, words
from assay_cluster.units import Work


class LocalUnit:
    """A worker on this machine."""

    hosts = 1
    note = ""

    def __init__(self) -> None:
        self.name = platform.node()
        self._worker: SubprocessWorker | None = None

    def start(self, work: Work) -> None:
        """Start it.

        Raises:
            AssayError: no process can be started.
        """
        self.close()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it lasts as long as the worker
        options = {
            "command": encoded(words(work, self.name, self.name)),
            "log": f"/proc/{os.getpid()}/fd/{self._log.fileno()}",
        }
        try:
            run(self._start(options), within_s=30)
        except OSError as error:
            raise AssayError(f"no worker can be started: {error}; correct that, and resume") from error

    async def _start(self, options: dict[str, str]) -> None:
        worker = SubprocessWorker("-", "assay_cluster.start.QuietWorker", self.name, options)
        await worker
        assert worker.process
        self._worker = worker
        self._end = asyncio.create_task(worker.process.wait())

    def ended(self) -> str | None:
        """Return None while it runs; else its last words."""
        if self._worker is None or not self._end.done():
            return None
        return last_words(self._end.result(), end_of(self._log))

    def close(self) -> None:
        """End it."""
        if self._worker is not None:
            with suppress(TimeoutError):
                run(self._close(self._worker), within_s=10 + GRACE_S)
            self._worker = None

    async def _close(self, worker: SubprocessWorker) -> None:
        if worker.process and not self._end.done():
            with suppress(ProcessLookupError):
                worker.process.send_signal(signal.SIGTERM)
            await ends(self._end, GRACE_S)
        await worker.close()
