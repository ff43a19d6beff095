"""Leads a campaign that workers on several hosts run: what the store says is what has happened.

The leader starts workers, and takes up what they have recorded: group after group, it decides what is
repeated, looked at and ended, as for a campaign on one host. A group whose worker has ended, or has not been
heard of for the time of its lease, is planned anew as a whole. A host whose worker ends again and again is
given up: the other hosts run its groups.
"""

import math
import select
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from assay.campaign.hosts import LedCampaign
from assay.campaign.progress import ProgressDisplay
from assay.campaign.scheduler import Scheduler
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.plan.types import PlannedTrial
from assay.store import Store
from assay.store.claims import end_leases, ended_groups, expire, offer, replace
from assay.store.database import ServerGoneError
from assay.store.hosts import (
    CampaignHost,
    dismiss,
    give_up,
    give_up_host,
    hosts_of,
    keep_files,
    prepare,
    silent,
)
from assay.store.names import Server
from assay.words import agreed, counted, duration
from assay_cluster.files import needed
from assay_cluster.units import LEASE_S, NEVER, Unit, Work

POLL_S = 0.5
STARTS = 3
"""How often in a row a unit may end without having recorded a trial, before it is given up."""
_SILENT = f"its worker has not been heard of for {duration(LEASE_S)}"
AGAIN_S = 60.0
"""After how long a unit that was given up is tried again."""
GONE_S = 600.0
"""How long the leader waits for a server that is gone."""
ENDING_S = 20.0
"""How long workers get to end by themselves when the campaign is over."""


@dataclass
class Leader:
    """The hosts of a campaign, and their leader; satisfies `assay.campaign.hosts.Hosts`.

    Attributes:
        units: what is started.
        isolated: the hosts leave everything else their last processor while they run trials.
        store: the URL by which the hosts reach the store; None: that of the leader.
    """

    units: Sequence[Unit]
    isolated: bool = False
    store: str | None = None

    @property
    def count(self) -> int:
        """For how many hosts a new campaign is planned."""
        return sum(unit.hosts for unit in self.units)

    def check(self, experiment: Experiment, store: Store) -> None:
        """Check that hosts can run an experiment into a store.

        Raises:
            AssayError: they cannot.
        """
        if not isinstance(store.name, Server):
            raise AssayError(
                f"--on: hosts cannot write {store.name}: name a server, --store postgresql://USER@HOST/DATABASE"
            )
        for name, program in experiment.programs.items():
            if program.prepare:
                raise AssayError(
                    f"--on: subjects.{name}.prepare runs in the experiment's folder, which hosts do not have;"
                    " prepare what is measured in the program itself"
                )

    def run(self, led: LedCampaign, scheduler: Scheduler, progress: ProgressDisplay) -> None:
        """Run what is pending on the hosts; see `Hosts.run`."""
        work = Work(self.store or str(led.store.name), led.number, led.tuned, self.isolated)
        as_stored = led.store.planned(led.number, [trial.ordinal for trial in scheduler.pending])
        keep_files(led.store, led.number, needed(as_stored, scheduler.pending))
        with ThreadPoolExecutor(len(self.units)) as threads:
            crews = [_Crew(unit, work, threads) for unit in self.units]
            run = Led(led, scheduler, progress, crews)
            try:
                run.run()
                run.let_end()
            finally:
                run.end()


@dataclass
class _Crew:
    """A unit, and what has become of it.

    Attributes:
        starting: its start, until that has succeeded or failed.
        fruitless: how often in a row it has ended without recording a trial.
        over: why it is not started again; None while it may be.
        not_before: the moment of the monotonic clock from which it may be started again.
        recorded: number of trials that its hosts had recorded when it last ended.
        begun: it has been started once.
    """

    unit: Unit
    work: Work
    threads: ThreadPoolExecutor
    starting: Future[None] | None = None
    fruitless: int = 0
    over: str | None = None
    not_before: float = 0.0
    recorded: int = 0
    begun: bool = False

    def start(self) -> None:
        """Start the unit, in a thread."""
        self.starting = self.threads.submit(self.unit.start, self.work)

    def ended(self) -> str | None:
        """Return None while it starts or runs; else why it has ended."""
        if self.starting is None or not self.starting.done():
            return None
        error = self.starting.exception()
        if error is not None:
            if not isinstance(error, AssayError):
                raise error
            return str(error)
        return self.unit.ended()


@dataclass
class Led:
    """One run of a campaign on hosts.

    Attributes:
        planned: ordinal -> trial, of all trials that have not been taken up.
        left: block -> its groups that are not done.
        taken_up: groups whose trials the scheduler knows.
        on_host: name of a host -> number of trials that it has recorded in this run.
        offered: how many blocks workers may have begun.
    """

    led: LedCampaign
    scheduler: Scheduler
    progress: ProgressDisplay
    crews: list[_Crew]
    planned: dict[int, PlannedTrial] = field(default_factory=dict)
    left: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    taken_up: set[int] = field(default_factory=set)
    on_host: Counter[str | None] = field(default_factory=Counter)
    offered: int = 0

    def run(self) -> None:
        """Run the campaign to its end."""
        gone_since: float | None = None
        known = False
        while True:
            try:
                self.led.store.keep_leading(self.led.number)
                if known:
                    goes_on = self._take_up()
                else:
                    goes_on = self._read()
                    known = True
                    self._start()
                if not goes_on or not any(self.left.values()) or not self.scheduler.has_time(min(self.left)):
                    return
                self._plan_lost_groups()
                self._watch()
                gone_since = None
            except ServerGoneError as error:
                # Nobody knows whether the last write was kept: the state is what the store says.
                known = False
                if gone_since is None:
                    gone_since = time.monotonic()
                    said = f"{error}; waiting for it, for {duration(GONE_S)} at most"
                    self.led.reporter.show(said)
                if time.monotonic() - gone_since > GONE_S:
                    raise
            self.led.stop.check()
            select.select([self.led.stop.wakes], [], [], POLL_S)

    def _start(self) -> None:
        """Start all units that have not been started."""
        for crew in self.crews:
            if not crew.begun:
                crew.begun = True
                if crew.unit.note:
                    self.led.reporter.show(crew.unit.note)
                crew.start()

    def _read(self) -> bool:
        """Take the campaign's state from the store; return whether the campaign goes on.

        What follows from the trials that have ended is decided anew: an earlier run, or a lost connection,
        may have come between.
        """
        store, number = self.led.store, self.led.number
        prepare(store, number, {crew.unit.name: crew.unit.hosts for crew in self.crews})
        self.scheduler.read()
        self.planned.clear()
        self.left.clear()
        earlier = {trial.group: trial.block for trial in store.trials(number)}
        self._add(self.scheduler.pending)
        begun = set().union(*self.left.values())
        first = min(self.left, default=1 + max(earlier.values(), default=-1))
        self.taken_up = earlier.keys() - begun
        for group in sorted(self.taken_up):
            if earlier[group] >= first - 1:
                self._add(self.scheduler.repetition(group))
        self._offer()
        ended = bool(first) and not self.left.get(first - 1)
        return not ended or self.scheduler.block_ended(first - 1, self.progress)

    def _add(self, trials: Sequence[PlannedTrial]) -> None:
        for trial in trials:
            self.planned[trial.ordinal] = trial
            self.left[trial.block].add(trial.group)

    def _take_up(self) -> bool:
        """Take up the groups that are done; return whether the campaign goes on."""
        done = [
            group for group in ended_groups(self.led.store, self.led.number) if group not in self.taken_up
        ]
        for group in done:
            block = self._take_up_trials(group)
            repetition = self.scheduler.repetition(group)
            if repetition:
                self._add(repetition)
                self.progress.added(repetition)
                self._offer()
            self.left[block].discard(group)
            while self.left and not self.left[first := min(self.left)]:
                del self.left[first]
                if not self.scheduler.block_ended(first, self.progress):
                    return False
                if self.left and self.scheduler.may_begin(min(self.left)) > self.offered:
                    self._offer()
        return True

    def _offer(self) -> None:
        """Let workers take what they may run."""
        self.offered = self.scheduler.may_begin(min(self.left, default=0))
        offer(self.led.store, self.led.number, self.offered)

    def _take_up_trials(self, group: int) -> int:
        """Tell the scheduler of the ended trials of a group, and return its block."""
        hosts = max(1, sum(crew.over is None for crew in self.crews))
        trials = sorted(self.led.store.trials_of(self.led.number, [group]), key=lambda trial: trial.ordinal)
        for trial in trials:
            if (planned := self.planned.pop(trial.ordinal, None)) is not None:
                self.scheduler.took(planned, trial)
                self.progress.ended(planned, trial.status, trial.wall_s / hosts)
                self.on_host[trial.ran_on] += 1
        self.taken_up.add(group)
        return trials[0].block

    def _plan_lost_groups(self) -> None:
        store, number = self.led.store, self.led.number
        for group in expire(store, number):
            block = self._take_up_trials(group)
            ordinals = [trial.ordinal for trial in store.trials_of(number, [group])]
            lost = [trial for trial in self.planned.values() if trial.group == group]
            for trial in lost:
                del self.planned[trial.ordinal]
            whole = [*store.planned(number, ordinals), *lost]
            again = self.scheduler.again(
                whole, "its host was lost while it ran", partial(replace, store, number, group)
            )
            self._add(again)
            self.progress.added(again)
            self.left[block].discard(group)

    def _watch(self) -> None:
        """Start again what has ended, or give it up."""
        store, number = self.led.store, self.led.number
        ended = [
            (crew, why) for crew in self.crews if crew.over is None and (why := crew.ended()) is not None
        ]
        hosts = hosts_of(store, number)
        self._watch_allocations(hosts)
        working = {host.unit for host in hosts if host.state == "working"}
        for crew in self.crews:
            if crew.over is not None and crew.unit.name in working:
                self.led.reporter.show(f"{crew.unit.name} is back")
                crew.over, crew.fruitless = None, 0
        for crew, why in ended:
            started = crew.starting is not None and crew.starting.exception() is None
            crew.starting = None
            crew.not_before = time.monotonic() + 2.0**crew.fruitless
            mine = [host for host in hosts if host.unit == crew.unit.name]
            for host in mine:
                end_leases(store, number, host.worker)
            # What its hosts said is of former workers, where none was started.
            said = next((host.message for host in mine if host.message), "") if started else ""
            self._judge(crew, mine, why, said or why or "its worker ended")
        for crew in self.crews:
            if crew.starting is None and time.monotonic() >= crew.not_before:
                crew.start()  # one that was given up, too: its network may be back
        if all(crew.over is not None for crew in self.crews):
            reasons = [f"{crew.unit.name}: {crew.over}" for crew in self.crews]
            others = [counted(reasons[2:], "other")] if reasons[2:] else []
            every = "; ".join([*reasons[:2], *others])
            raise AssayError(
                f"no host is left ({every}); what has ended is kept: once that is corrected,"
                f" `assay resume --campaign {number} --on ...` goes on"
            )

    def _watch_allocations(self, hosts: Sequence[CampaignHost]) -> None:
        """Give up the hosts of an allocation that cannot go on; the allocation goes on without them."""
        store, number = self.led.store, self.led.number
        several = {crew.unit.name for crew in self.crews if crew.unit.hosts > 1}
        over = {host.number: host.message for host in hosts if host.state == "refused"}
        over |= {host.number: _SILENT for host in silent(store, number, LEASE_S)}
        for host in hosts:
            if host.unit in several and host.number in over:
                end_leases(store, number, host.worker)
                give_up_host(store, number, host.number, over[host.number])
                self.led.reporter.show(f"{host.name} is given up: {over[host.number]}; the others go on")

    def _judge(self, crew: _Crew, hosts: Sequence[CampaignHost], why: str, reason: str) -> None:
        """Decide whether a unit that has ended is started again."""
        name = crew.unit.name
        refusals = [host.message for host in hosts if host.state == "refused"]
        recorded = sum(self.on_host[host.name] for host in hosts)
        crew.fruitless = 0 if recorded > crew.recorded else crew.fruitless + 1
        crew.recorded = recorded
        if refusals or NEVER in why or crew.fruitless >= STARTS:
            over = refusals[0] if refusals else reason
            give_up(self.led.store, self.led.number, name, over)
            said_before = crew.over is not None
            crew.over = over
            crew.not_before = math.inf if refusals else time.monotonic() + AGAIN_S
            left = [other for other in self.crews if other.over is None]
            others = f"; {counted(left, 'other')} {agreed(left, 'goes', 'go')} on" if left else ""
            if not said_before:
                self.led.reporter.show(f"{name} is given up: {over}{others}")
        else:
            self.led.reporter.show(f"{name}: {reason}; starting it again")

    def let_end(self) -> None:
        """Let the workers end by themselves: they may still run a group, if the campaign ends early."""
        with suppress(ServerGoneError):  # then `end` ends them
            dismiss(self.led.store, self.led.number)
        until = time.monotonic() + ENDING_S
        while time.monotonic() < until and any(
            crew.starting is not None and crew.ended() is None for crew in self.crews
        ):
            self.led.stop.check()
            select.select([self.led.stop.wakes], [], [], POLL_S / 5)

    def end(self) -> None:
        """End what still runs."""
        futures.wait([crew.starting for crew in self.crews if crew.starting is not None])
        with suppress(AssayError):
            self.led.store.keep_leading(self.led.number)  # another leader's workers go on
            dismiss(self.led.store, self.led.number)
        for crew in self.crews:
            try:
                crew.unit.close()
            except Exception as error:  # of Dask or asyncssh; the others are closed all the same
                self.led.reporter.show(f"{crew.unit.name}: its worker may still run: {error}")
