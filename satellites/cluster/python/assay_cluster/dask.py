"""Workers beside those of a Dask cluster that runs already: one long task on each of its hosts."""

import asyncio
import signal
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from distributed import Client, Future

from assay.errors import AssayError
from assay.words import counted, listed, one_line, printable
from assay_cluster.loop import GRACE_S, run
from assay_cluster.start import different, installed, run_worker, signal_worker, words
from assay_cluster.units import Work

_CONNECT_S = 10
_ASK_EVERY_S = 3


class DaskUnit:
    """Some hosts of a Dask cluster.

    Attributes:
        note: what users should know.
    """

    note = (
        "an idle worker of Dask takes about 34 ms of processor time a second and disturbs trials beside it;"
        " ssh and Slurm leave none"
    )

    def __init__(self, scheduler: str, hosts: int) -> None:
        self.name = scheduler
        self.hosts = hosts
        self._client: Client | None = None
        self._tasks: dict[str, Future[str]] = {}

    def start(self, work: Work) -> None:
        """Start a worker on each host.

        Raises:
            AssayError: it has too few hosts, or they lack something.
        """
        self.close()
        self._key, self._tasks = uuid.uuid4().hex, {}
        try:
            run(self._start(work), within_s=4 * _CONNECT_S)
        except AssayError:
            self.close()
            raise
        except (TimeoutError, OSError) as error:
            self.close()
            raise AssayError("no Dask scheduler answers there; correct its address") from error
        except ImportError as error:
            self.close()
            why = f"its workers cannot import {error.name}; run on each host: pip install assay-cluster"
            raise AssayError(why) from error
        except Exception as error:
            self.close()
            raise AssayError(printable(one_line(str(error)))) from error

    async def _start(self, work: Work) -> None:
        self._client = await Client(self.name, asynchronous=True, timeout=_CONNECT_S, set_as_default=False)
        workers = await _workers(self._client)
        first = {about["host"]: address for address, about in reversed(workers.items())}
        if len(first) < self.hosts:
            found = f"its workers are on {counted(first, 'host')}" if first else "it has no workers"
            raise AssayError(f"{found}, and hosts = {self.hosts}; start more, or write fewer")
        chosen = dict(sorted(first.items())[: self.hosts])
        there: dict[str, dict[str, str]] = await self._client.run(installed, workers=[*chosen.values()])
        for host, address in chosen.items():
            if why := different(there[address]):
                raise AssayError(f"{host}: {why}")
        check_names({host: there[address]["name"] for host, address in chosen.items()})
        for address in chosen.values():
            command = words(work, self.name, there[address]["name"])
            task = self._client.submit(run_worker, self._key, command, workers=[address], pure=False)
            self._tasks[address] = task
        self._end = asyncio.create_task(self._watch(self._client))

    async def _watch(self, client: Client) -> str:
        """Wait until all tasks have ended or lost their worker; return their last words."""
        said = {address: asyncio.create_task(_result(task)) for address, task in self._tasks.items()}
        while True:
            await asyncio.wait(said.values(), timeout=_ASK_EVERY_S)
            known = await _workers(client)
            if all(task.done() or address not in known for address, task in said.items()):
                break
        # A task that is lost waits for its worker: the store gives its groups to others.
        every = {task.result() if task.done() else "Dask has lost its worker" for task in said.values()}
        return "; ".join(sorted(filter(None, every)))

    def ended(self) -> str | None:
        """Return None while one of them runs; else their last words."""
        return self._end.result() if self._tasks and self._end.done() else None

    def close(self) -> None:
        """End them; Dask's own workers go on."""
        if self._client is not None:
            with suppress(TimeoutError):
                run(self._close(self._client), within_s=_CONNECT_S + 2 * GRACE_S)
            self._client = None

    async def _close(self, client: Client) -> None:
        with suppress(Exception):  # whatever Dask says when its scheduler is gone
            await client.cancel([*self._tasks.values()])
            await client.run(signal_worker, self._key, signal.SIGTERM)
            patient_until = time.monotonic() + GRACE_S
            while any((await client.run(signal_worker, self._key, 0)).values()):
                if time.monotonic() > patient_until:
                    await client.run(signal_worker, self._key, signal.SIGKILL)
                await asyncio.sleep(0.1)
        await client.close()


def check_names(names: Mapping[str, str]) -> None:
    """Check that no two hosts have one name, given that of each address.

    Raises:
        AssayError: two have.
    """
    name, times = Counter(names.values()).most_common(1)[0]
    if times > 1:
        alike = listed([host for host, its_name in names.items() if its_name == name])
        raise AssayError(
            f"{alike} are all called {name}: if they are one machine, write fewer hosts; if not, give each a"
            " name of its own with `hostnamectl hostname NAME`, and start its Dask worker again"
        )


async def _workers(client: Client) -> dict[str, dict[str, str]]:
    """Return address -> what the scheduler says of each worker; none where the scheduler is gone."""
    scheduler: Any = client.scheduler
    with suppress(OSError):  # a lost connection is one
        workers: dict[str, dict[str, str]] = (await scheduler.identity(n_workers=-1))["workers"]
        return workers
    return {}


async def _result(task: "Future[str]") -> str:
    """Return the last words of a task that has ended."""
    try:
        said: str = await task
    except asyncio.CancelledError:
        return "Dask has cancelled it"
    except Exception as error:
        return printable(one_line(str(error)))
    return said
