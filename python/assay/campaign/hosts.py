"""What a campaign needs of the hosts that run it in place of this machine."""

from dataclasses import dataclass
from typing import Protocol

from assay.campaign.progress import ProgressDisplay
from assay.campaign.reporter import Reporter
from assay.campaign.scheduler import Scheduler
from assay.experiment import Experiment
from assay.runner.process import StopSignals
from assay.store import Store


@dataclass(frozen=True)
class LedCampaign:
    """A campaign that this process leads, and that runs on hosts.

    Attributes:
        number: in the store.
        tuned: each host is tuned while it runs trials.
    """

    store: Store
    number: int
    experiment: Experiment
    stop: StopSignals
    reporter: Reporter
    tuned: bool


class Hosts(Protocol):
    """The hosts of a campaign, which a satellite starts."""

    @property
    def count(self) -> int:
        """For how many hosts a new campaign is planned."""

    def check(self, experiment: Experiment, store: Store) -> None:
        """Check that hosts can run an experiment into a store.

        Raises:
            AssayError: they cannot.
        """

    def run(self, led: LedCampaign, scheduler: Scheduler, progress: ProgressDisplay) -> None:
        """Run what is pending on the hosts.

        Raises:
            AssayError: no host can go on; or as `Scheduler.took`.
            Interrupted: `led.stop` was signalled.
        """
