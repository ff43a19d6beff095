"""The plain types that the plan hands to the runner and the store."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assay.experiment.types import Extract, Level

__all__ = ["LAYOUT", "Level", "Plan", "PlannedTrial", "Status"]

LAYOUT = "layout"
"""The perturbation that is drawn for a block, or for a configuration."""


Status = Literal["valid", "invalid", "crashed", "timed_out"]
"""The status of an ended trial."""


@dataclass(frozen=True)
class PlannedTrial:
    """One planned trial.

    Attributes:
        ordinal: position in the campaign, from 0.
        block: number of the block, from 0.
        group: number of the group in the campaign, from 0; trials of one group are compared with each other.
        levels: factor -> level, the trial's condition.
        request: the message for the trial's process, schema `trial-request`.
        program: the executable that runs it, an absolute path.
        perturbation: what was drawn at random in addition to its seed, empty if unperturbed: setting -> its
            change in percent (from 0, the number), or the chosen value; `environment_bytes`, `stack_bytes`
            and `heap_bytes`; `address_space`, "random" or "fixed"; the seeds `thread_order`, `placement` and
            `layout`. By `layout` the program is linked; trials of a block or a configuration share it.
        timeout_s: seconds after which the trial is killed and recorded as timed out.
        memory_limit_mb: data segment that the trial's process may use, in MiB.
        arguments: the command line's arguments.
        extract: how its metrics are found in its output: `Program.extraction`.
        repeats: the group of which this trial's group is a repetition; None in the first plan.
        host_number: which host of the campaign it is planned for, from 0.
    """

    ordinal: int
    block: int
    group: int
    levels: Mapping[str, Level]
    request: Mapping[str, Any]
    program: str
    perturbation: Mapping[str, int | float | str]
    timeout_s: float
    memory_limit_mb: int
    arguments: tuple[str, ...] = ()
    extract: Extract = "protocol"
    repeats: int | None = None
    host_number: int = 0


@dataclass(frozen=True)
class Plan:
    """A campaign's trials in the order in which they run, and their seed."""

    seed: int
    trials: tuple[PlannedTrial, ...]
