"""Hosts for tests: workers on this machine, each in a namespace in which the machine has another name.

The variable ASSAY_TEST_NETWORK tells hosts of tests apart that run side by side.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import IO

from assay.errors import AssayError
from assay_cluster.units import Work

_NAMED = 'hostname "$0" && exec "$@"'


def machine_name(host: str) -> str:
    """Return what the machine of a host is called."""
    return host + os.environ.get("ASSAY_TEST_NETWORK", "")


@dataclass
class ProcessUnit:
    """A host whose worker is a process of this machine.

    Attributes:
        unreachable: it cannot be started.
        started: how often it was started.
    """

    name: str
    unreachable: bool = False
    started: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    hosts: int = 1
    note: str = ""
    process: subprocess.Popen[bytes] | None = None
    _said: IO[bytes] | None = None

    def start(self, work: Work) -> None:
        """Start its worker."""
        self.started += 1
        if self.unreachable:
            raise AssayError(f"{self.name} cannot be reached: No route to host")
        own_user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
        worker = [sys.executable, "-m", "assay_cluster.worker", "--store", work.store]
        worker += ["--campaign", str(work.campaign), "--unit", self.name, "--name", self.name]
        worker += ["--tuned"] * work.tuned
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it is read when the process has ended
        self.process = subprocess.Popen(  # noqa: S603
            ["unshare", "--uts", *own_user, "sh", "-c", _NAMED, machine_name(self.name), *worker],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            env=os.environ | self.environment,
        )

    def ended(self) -> str | None:
        """Return None while it runs; else its last words."""
        if self.process is None or self.process.poll() is None:
            return None
        return self.said()

    def said(self) -> str:
        """Return what it said on standard error."""
        assert self._said is not None
        self._said.seek(0)
        return self._said.read().decode().strip()

    def close(self) -> None:
        """End it."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
