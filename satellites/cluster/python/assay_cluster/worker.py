"""Runs trials on one host of a campaign: takes its groups from the store, and records each outcome.

    python -m assay_cluster.worker --store URL --campaign N --unit NAME --name HOST

It is quiet: while a trial runs, it waits for the trial's process, and every 20 s tells the store that it
still runs (about 3 ms). It looks at the store between groups only. Nobody has to reach it: it ends when the
leader says so in the store, when no leader has been there for a minute, or when another worker has joined for
its host.

A worker that cannot run trials here writes why into the store. One that cannot reach the store says so on
standard error, and exits with 1; if the store refuses it, with 2.
"""

import argparse
import errno
import math
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from assay import programs
from assay.campaign.campaign import PATIENCE_S
from assay.campaign.scheduler import with_derived
from assay.errors import AssayError
from assay.experiment import check
from assay.experiment.types import Experiment
from assay.host.journal import journal_folder
from assay.host.priority import awake
from assay.host.system import System
from assay.host.tune import chosen, tuned
from assay.runner.local import LocalExecutor
from assay.runner.machine import present_machine
from assay.runner.process import Interrupted, StopSignals
from assay.runner.simulate import simulation_plan
from assay.runner.types import Outcome
from assay.store import Store, runner_lock, store_name
from assay.store.claims import Claim, end_leases, record, renew, take
from assay.store.database import ServerGoneError
from assay.store.hosts import HostState, files_of, join, leave, tell, works
from assay.words import counted, duration
from assay_cluster.files import facts, fetch, placed
from assay_cluster.units import LEASE_S, NEVER

RENEW_S = 20.0
LEADERLESS_S = 60.0
"""A worker ends when nobody has led its campaign for this long: a killed leader may be back before."""
GONE_S = 600.0
"""How long a worker keeps an outcome that it cannot record, because the server is gone."""
LONELY_S = 120.0
"""How long a worker waits for one of another campaign to end that runs trials on its host."""
FIRST = 6
"""If this many trials have run on a host and none was valid, the host is refused: it may lack a file."""
IDLE_S = 0.5
ALLOCATION_SPARE_S = 30.0
CLOCK_S = 60.0
"""The most by which a host's clock may differ from the store's: trials are ordered by their time."""

Answer = TypeVar("Answer")


@dataclass
class Worker:
    """A worker of a host.

    Attributes:
        number: that of its host in the campaign.
        name: that of its host.
        ends_at: when its allocation ends, seconds since 1970; None if it does not.
    """

    store: Store
    campaign: int
    name: str
    stop: StopSignals
    worker: str
    number: int = 0
    ends_at: float | None = None
    _active: StopSignals | None = None
    _statuses: Counter[str] = field(default_factory=Counter)
    _lost: threading.Event = field(default_factory=threading.Event)
    _longest_s: float = 0.0

    def work(self, executor: LocalExecutor, places: dict[str, str]) -> tuple[HostState, str]:
        """Run groups until there is a reason to end; return the state of the host, and the reason."""
        told_at = time.monotonic()
        led_at = -math.inf  # one that starts when its leader has gone does nothing
        while True:
            self.stop.check()
            if time.monotonic() - told_at > RENEW_S:
                self._insist(lambda: tell(self.store, self.campaign, self.number, self.worker))
                told_at = time.monotonic()
            if not self._insist(lambda: works(self.store, self.campaign, self.number, self.worker)):
                return "ended", ""
            if self._insist(lambda: self.store.is_led(self.campaign)):
                led_at = time.monotonic()
            elif time.monotonic() - led_at > LEADERLESS_S:
                return "ended", "nobody leads the campaign any more"
            if self.ends_at is not None and time.time() > self.ends_at - self._needed_s():
                return "ended", "its allocation is nearly over"
            claim = self._insist(lambda: take(self.store, self.campaign, self.worker, LEASE_S, self.number))
            if claim is None:
                threading.Event().wait(IDLE_S)
                continue
            began = time.monotonic()
            self._run(claim, executor, places)
            self._longest_s = max(self._longest_s, time.monotonic() - began)

    def _needed_s(self) -> float:
        return ALLOCATION_SPARE_S + 1.5 * self._longest_s

    def _run(self, claim: Claim, executor: LocalExecutor, places: dict[str, str]) -> None:
        """Run the trials of a group; end at once if the group is lost meanwhile."""
        group = [placed(trial, places) for trial in claim.trials]
        # A signal that ends a trial whose group is lost does not end the worker.
        with StopSignals() as executor.stop, self._renewing(claim):
            self._active = executor.stop
            try:
                for planned, trial, outcome in zip(claim.trials, group, executor.execute(group), strict=True):
                    self._record(claim, planned.ordinal, with_derived(outcome, trial))
                executor.stop.check()
            except Interrupted:
                if not self._lost.is_set():
                    raise
            finally:
                self._active = None

    def _record(self, claim: Claim, ordinal: int, outcome: Outcome) -> None:
        self._insist(lambda: record(self.store, claim, ordinal, outcome))
        self._statuses[outcome.status] += 1
        if self._statuses.total() == FIRST and not self._statuses["valid"]:
            raise AssayError(
                f"none of the first {FIRST} trials here was valid; the last was"
                f" {outcome.status.replace('_', ' ')} ({outcome.reason}). Hosts have the programs of an"
                " experiment, their inputs and files of keys, and nothing else of its folder"
            )

    @contextmanager
    def _renewing(self, claim: Claim) -> Iterator[None]:
        """Renew the lease of a group now and then; if the group is lost, stop its trial."""
        done = threading.Event()
        self._lost.clear()

        def keep() -> None:
            while not done.wait(RENEW_S):
                with suppress(ServerGoneError):
                    tell(self.store, self.campaign, self.number, self.worker)
                    if not renew(self.store, claim, LEASE_S) and not done.is_set():
                        self._lost.set()
                        os.kill(os.getpid(), signal.SIGTERM)
                        return

        thread = threading.Thread(target=keep, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _insist(self, call: Callable[[], Answer]) -> Answer:
        """Call again while the server is gone, until it has been for too long."""
        until = time.monotonic() + GONE_S
        while True:
            try:
                return call()
            except ServerGoneError:
                if time.monotonic() > until:
                    raise
            (self._active or self.stop).check()
            threading.Event().wait(2)


def main(arguments: list[str] | None = None) -> int:
    """Run a worker; return its exit code."""
    options = _options(arguments)
    try:
        with StopSignals() as stop, Store.open(store_name(options.store), create=False) as store:
            return _join(store, options, stop)
    except Interrupted as interrupted:
        return 128 + interrupted.signum
    except ServerGoneError as error:
        _say(str(error))
        return 1
    except AssayError as error:
        _say(f"{NEVER}{platform.node()} (where ~ is {Path.home()}): {error}")
        return 2


def _join(store: Store, options: argparse.Namespace, stop: StopSignals) -> int:
    name = os.environ.get("SLURMD_NODENAME") or options.name or platform.node()
    me = f"process {os.getpid()} on {platform.node()}, since {time.time():.0f}"
    worker = Worker(store, options.campaign, name, stop, me, ends_at=allocation_ends())
    worker.number, former = join(store, options.campaign, name, options.unit, me)
    state: HostState = "ended"
    message = ""
    try:
        with ExitStack() as stack:
            stack.enter_context(alone_on_this_host(stop, options))
            stack.enter_context(_locked(store, stop))
            end_leases(store, options.campaign, former)  # it has ended, whatever became of it
            experiment = store.experiment(options.campaign)
            check_host(store, options.campaign, experiment)
            folder = _cache() / "files"
            places = fetch(store, options.campaign, files_of(store, options.campaign), folder)
            if options.tuned or options.isolated:
                stack.enter_context(_tuned(isolated=options.isolated))
            executor = LocalExecutor(
                programs.find("assay-calibrate"),
                stop,
                lambda levels: _folder(experiment.folder_of(levels)),
                say=_say,
                surroundings_of=experiment.surroundings,
                patience_s=PATIENCE_S if experiment.design.busy == "wait" else 0,
                tuned=options.tuned or options.isolated,
                simulated=simulation_plan(experiment),
                name=name,
                facts=facts(places.values()),
            )
            state, message = worker.work(executor, places)
    except Interrupted as interrupted:
        state, message = "ended", f"it was stopped by {signal.Signals(interrupted.signum).name}"
        raise
    except AssayError as error:
        state = "ended" if isinstance(error, ServerGoneError) else "refused"
        message = str(error)
        raise
    except Exception as error:  # a mistake of ours; the leader tries again
        state, message = "ended", f"{type(error).__name__}: {error}"
        raise
    finally:
        with suppress(AssayError):
            end_leases(store, options.campaign, me)
            leave(store, options.campaign, me, state, message)
    return 0


def check_host(store: Store, campaign: int, experiment: Experiment) -> None:
    """Check that this host can run the trials of a campaign.

    Raises:
        AssayError: it cannot, or its clock is wrong.
    """
    ahead_s = time.time() - store.now().timestamp()
    if abs(ahead_s) > CLOCK_S:
        way = "ahead of" if ahead_s > 0 else "behind"
        raise AssayError(
            f"the clock is {duration(abs(ahead_s))} {way} the store's: set it, as by `chronyc makestep`"
        )
    machine = present_machine()
    most = max((trial.request.get("threads", 1) for trial in store.pending(campaign)), default=1)
    leader_has = store.campaign(campaign).host.get("processors", 0)
    if len(machine.processors) < most <= leader_has:
        raise AssayError(
            f"{counted(machine.processors, 'processor')} are too few for {most} threads, which the machine"
            " that leads the campaign could run side by side"
        )
    check(experiment, machine)


@contextmanager
def alone_on_this_host(stop: StopSignals, options: argparse.Namespace) -> Iterator[None]:
    """Keep other workers from running trials on this host, whatever user they have and store they write.

    The name of a socket, which belongs to one process of this network, is the lock: the kernel frees it with
    its owner, also where the network is cut. The former worker of this host ends after its group, however
    long that takes; another campaign's is waited for a while.

    Raises:
        AssayError: another campaign goes on, or this host takes part under another name.
    """
    name = f"\0assay worker {platform.node()}"
    until = time.monotonic() + LONELY_S
    with socket.socket(socket.AF_UNIX) as lock:
        while True:
            try:
                lock.bind(name)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                break
            process, words = _owner(name)
            ours = {options.store, str(options.campaign)} <= {*words}
            if ours and options.unit not in words:
                other = words[words.index("--unit") + 1]
                raise AssayError(f"this is the same machine as {other}, which takes part already; keep one")
            if not ours and time.monotonic() > until:
                raise AssayError(
                    f"another worker{process} runs trials on {platform.node()}: wait until it ends, or end it"
                )
            stop.check()
            threading.Event().wait(IDLE_S)
        lock.listen()
        yield


def _owner(name: str) -> tuple[str, list[str]]:
    """Return which process listens at a socket, in words, and its command line; empty if it has ended."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as asking:
        asking.connect(name)
        process, _, _ = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")
            return f" (process {process})", words
        return f" (process {process})", []
    return "", []


@contextmanager
def _locked(store: Store, stop: StopSignals) -> Iterator[None]:
    """Keep `assay run` on this host out of the store, which has the lock of the former worker for a while.

    Raises:
        AssayError: it runs trials here for too long.
    """
    until = time.monotonic() + LONELY_S
    while True:
        try:
            lock = runner_lock(store.name)
        except AssayError:
            if time.monotonic() > until:
                raise
        else:
            break
        stop.check()
        threading.Event().wait(IDLE_S)
    with lock:
        yield


@contextmanager
def _tuned(*, isolated: bool) -> Iterator[None]:
    """Tune this host within."""
    settings = [*chosen(()), *(chosen(["isolation"]) if isolated else [])]
    with tuned(System(), journal_folder(), _say, settings), awake() as asleep:
        if asleep:
            _say(f"idle-latency: not changed: /dev/cpu_dma_latency: {asleep}")
        yield


def _say(line: str) -> None:
    with suppress(OSError):  # nobody reads it where the leader was killed
        print(line, file=sys.stderr, flush=True)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"


def _folder(wanted: Path) -> Path:
    """Return the folder in which a command runs: that of the experiment, or one of ours on other hosts."""
    with suppress(OSError):  # the leader's home, say
        if wanted.is_dir():
            return wanted
    folder = _cache() / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def allocation_ends() -> float | None:
    """Return when the Slurm allocation of this process ends, seconds since 1970; None outside of one."""
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return None
    if end := os.environ.get("SLURM_JOB_END_TIME"):
        return float(end)
    asked = ["squeue", "--noheader", "--jobs", job, "--format", "%L"]
    try:
        left = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30).stdout.strip()  # noqa: S603
        days, _, clock = left.rpartition("-")
        seconds = 0
        for part in clock.split(":"):
            seconds = 60 * seconds + int(part)
        return time.time() + 86400 * int(days or 0) + seconds
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None  # UNLIMITED


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="assay-worker")
    parser.add_argument("--store", required=True)
    parser.add_argument("--campaign", type=int, required=True)
    parser.add_argument("--unit", required=True)
    parser.add_argument("--name")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--isolated", action="store_true")
    known, _ = parser.parse_known_args(arguments)  # Dask adds others
    return known


if __name__ == "__main__":
    sys.exit(main())
