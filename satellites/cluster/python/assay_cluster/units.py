"""What is started at once: the worker of a host, or those of an allocation of several hosts."""

from dataclasses import dataclass
from typing import Protocol

LEASE_S = 90.0
"""How long a group stays with a worker that is not heard of."""

NEVER = "it cannot run trials on "
"""How the last words of a worker begin that would fail again if it were started again."""


@dataclass(frozen=True)
class Work:
    """What workers are to do.

    Attributes:
        store: its URL, without a password.
        campaign: its number.
        tuned: the host is tuned while trials run.
        isolated: the host leaves everything else the last processor meanwhile.
    """

    store: str
    campaign: int
    tuned: bool = False
    isolated: bool = False


class Unit(Protocol):
    """What is started at once.

    Attributes:
        name: for messages; of a host, the name in the hosts' file.
        hosts: number of hosts.
        note: what a user should know of it, "" if nothing.
    """

    name: str
    hosts: int
    note: str

    def start(self, work: Work) -> None:
        """Start its workers: `python -m assay_cluster.worker` on each of its hosts.

        Raises:
            AssayError: it cannot be started; the message says why, and what to do.
        """

    def ended(self) -> str | None:
        """Return None while it runs; else its last words, "" if there are none."""

    def close(self) -> None:
        """End what still runs of it."""
