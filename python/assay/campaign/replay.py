"""Runs a trial again with exactly its random draws, and compares what must be equal."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.campaign.prepare import executor_of
from assay.errors import AssayError
from assay.experiment.types import REVISION
from assay.layout import Layouts
from assay.plan.types import PlannedTrial
from assay.runner.local import digest_of
from assay.runner.process import StopSignals, check_startable
from assay.runner.types import Binary, Outcome
from assay.store import Store


@dataclass(frozen=True)
class Mismatch:
    """A value that must be equal and is not."""

    what: str
    before: Any
    now: Any


@dataclass(frozen=True)
class Replay:
    """The result of running a trial again.

    Attributes:
        record: the trial's record in the store.
        outcome: the outcome of the second run, which is not stored.
        equal: the places in the result that had to be equal and are.
        different: the values that had to be equal and are not.
        nothing_because: why nothing has to be equal; else empty.
    """

    record: Mapping[str, Any]
    outcome: Outcome
    equal: tuple[str, ...]
    different: tuple[Mismatch, ...]
    nothing_because: str


def replay(
    store: Store,
    trial_id: int,
    stop: StopSignals,
    say: Callable[[str], None],
    started_from: Callable[[Binary], Binary] = lambda binary: binary,
    *,
    timeout_s: float = math.inf,
) -> Replay:
    """Run a trial again with its draws: seeds, perturbations and, if it was valid, numbers of operations.

    Args:
        store: the trial's store, which stays unchanged.
        trial_id: its number.
        stop: ends it.
        say: gets the output of a preparation that failed.
        started_from: returns the command that starts the program.
        timeout_s: seconds after which it is ended, if its own time-out is not shorter.

    Raises:
        AssayError: there is no such trial, it cannot be repeated, or its program is gone or has changed.
        CannotStartError: its program does not start.
        Interrupted: `stop` was signalled.
    """
    record = store.record_of(trial_id)
    (trial,) = store.planned(record["campaign"], [record["ordinal"]])
    experiment = store.experiment(record["campaign"])
    if experiment.revisions is not None:
        commit = experiment.revisions.levels[str(trial.levels[REVISION])].short
        raise AssayError(
            f"trial {trial_id} cannot be repeated: its worktree, of {commit}, was removed when the comparison"
            " ended; compare the revisions again: assay ab"
        )
    trial = replace(trial, timeout_s=min(trial.timeout_s, timeout_s))
    result = record["result"]
    because = _nothing_because(record, trial)
    if not because:
        operations = [[thread["warmed_up"], measured(thread)] for thread in result["threads"]]
        trial = replace(trial, request={**trial.request, "operations": operations})
    with Layouts(experiment, say, stop) as layouts:
        _check_repeatable(record, trial, layouts)
        binary_of = lambda each: started_from(layouts.binary(each))  # noqa: E731
        (outcome,) = executor_of(experiment, layouts, stop, say, binary_of=binary_of).execute([trial])
    if because:
        return Replay(record, outcome, (), (), because)
    if outcome.status == "timed_out":
        return Replay(record, outcome, (), (), "it did not end within its time-out this time")
    before = dict(must_be_equal(result))
    now = dict(must_be_equal(outcome.result)) if outcome.result else {}
    different = [
        Mismatch(what, value, now.get(what)) for what, value in before.items() if now.get(what) != value
    ]
    if outcome.status != record["status"]:
        different.insert(0, Mismatch("status", record["status"], outcome.status))
    unequal = {difference.what for difference in different}
    return Replay(
        record, outcome, tuple(what for what in before if what not in unequal), tuple(different), ""
    )


def measured(thread: Mapping[str, Any]) -> int:
    """Return how many operations a thread performed in its measured interval."""
    return sum(counts["attempted"] for counts in thread["operations"].values())


def must_be_equal(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each place of a trial's result that a replay must reproduce, with its value.

    The operations that each thread attempts are drawn beforehand. What they find depends on the interleaving
    of threads; with one thread, it must be equal, too, and so must the map's content.
    """
    threads = result["threads"]
    alone = len(threads) == 1
    for number, thread in enumerate(threads):
        yield f"threads.{number}.seed", thread["seed"]
        for kind, counts in thread["operations"].items():
            yield f"threads.{number}.{kind}.attempted", counts["attempted"]
            if alone:
                yield f"threads.{number}.{kind}.succeeded", counts["succeeded"]
    if not alone:
        return
    for name in ("operations", "size"):
        if name in result.get("prefill", {}):
            yield f"prefill.{name}", result["prefill"][name]
    for role in result.get("roles", ()):
        yield f"roles.{role['name']}.visited", role["visited"]
    for name, value in result.get("validation", {}).get("found", {}).items():
        yield f"validation.{name}", value


def _nothing_because(record: Mapping[str, Any], trial: PlannedTrial) -> str:
    """Return why nothing of a trial has to be equal; else ""."""
    if trial.extract != "protocol":
        return "a command does not say which of its numbers are repeated"
    if record["status"] != "valid":
        return f"it was {record['status'].replace('_', ' ')}, and may have stopped anywhere"
    threads = record["result"].get("threads")
    if not threads or not all("warmed_up" in thread for thread in threads):
        return "its program does not report how many operations its threads performed"
    return ""


def _check_repeatable(record: Mapping[str, Any], trial: PlannedTrial, layouts: Layouts) -> None:
    number = record["trial"]
    result = record["result"] or {}
    if result.get("replayable") is False:
        raise AssayError(f"trial {number} cannot be repeated: {result['not_replayable_because']}")
    check_startable(trial.program)
    digest = digest_of(layouts.binary(trial).measured)
    if digest != record["program_sha256"]:
        raise AssayError(
            f"trial {number} cannot be repeated: {trial.program} has changed since (SHA-256 {digest[:12]},"
            f" then {record['program_sha256'][:12]}); build it as it was then, or run the experiment again"
        )
