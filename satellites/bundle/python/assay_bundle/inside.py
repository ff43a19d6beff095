"""Replays a bundle from within: its root is the root of the file system, and its Python runs this.

The campaign of `/store.sqlite` is planned again in `/replayed/store.sqlite`, with every draw, and run there.
"""

import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.campaign import Reporter, run_campaign
from assay.cli.options import print_json
from assay.errors import AssayError
from assay.experiment import check
from assay.plan.types import Plan
from assay.report import Report, gather
from assay.runner.machine import host, present_machine
from assay.runner.process import StopSignals
from assay.store import Store
from assay.words import counted, printable
from assay_bundle.alone import plan_of
from assay_bundle.verdicts import Replayed, differences, replayed

THEN, NOW = Path("/store.sqlite"), Path("/replayed/store.sqlite")
CONFIRMED, CONTRADICTED, MISTAKE, UNDECIDED, DEFECT = 0, 1, 2, 3, 70
"""Exit codes."""
_SHOWN = 12  # facts of the host that differ


@dataclass(frozen=True)
class Result:
    """What a replay says.

    Attributes:
        experiment: its name.
        differences: name -> what is different about the host then and now.
        verdicts: each verdict of then.
        trials: status -> number of trials of the replay.
    """

    experiment: str
    differences: Sequence[tuple[str, str, str]]
    verdicts: Sequence[Replayed]
    trials: Mapping[str, int]

    @property
    def exit_code(self) -> int:
        """Whether all verdicts were confirmed, one was contradicted, or one is undecided."""
        holds = {verdict.holds for verdict in self.verdicts}
        if "contradicted" in holds:
            return CONTRADICTED
        return CONFIRMED if holds == {"confirmed"} else UNDECIDED


def replay_here(then: Path, now: Path, stop: StopSignals, reporter: Reporter) -> Result | int:
    """Run the campaign of a store again; return what that says, or the signal that stopped it.

    Args:
        then: the store of the bundle.
        now: a store that is not there yet.
        stop: stops it.
        reporter: shows how far it is.

    Raises:
        AssayError: this machine cannot run it.
    """
    with Store.open(then, create=False) as store:
        summary = store.campaign()
        experiment = store.experiment(summary.id)
        check(experiment, present_machine())
        known = {name: summary.host[name] for name in ("subjects", "reclaims", "one_layout", "commit")}
        first_plan = [trial for trial in plan_of(store, summary) if trial.repeats is None]
        before = gather(store, summary.id)
        facts_before = _facts(store, before)
    with Store.open(now) as store:
        number = store.begin_campaign(
            experiment=experiment,
            plan=Plan(summary.seed, tuple(first_plan)),
            host={**known, **host()},
        )
    result = run_campaign(now, number, stop, reporter, built=True)
    if result.report is None:
        return result.signal or 0
    after = result.report
    with Store.open(now, create=False) as store:
        facts = _facts(store, after)
    return Result(
        experiment=experiment.name,
        differences=differences(facts_before, facts),
        verdicts=replayed(before, after),
        trials={str(status): count for status, count in after.campaign.counts.items()},
    )


def _facts(store: Store, report: Report) -> dict[str, Any]:
    """Return what is known of the host of a campaign: of its first trial where trials differ."""
    campaign = report.campaign
    known = store.environments(campaign.id)
    first = next(iter(report.trials))
    environment = dict(known.get(first.environment or "", {}))
    for about_program in ("library", "program"):
        environment.pop(about_program, None)
    summary = {name: campaign.host.get(name) for name in ("name", "processors", "kernel")}
    return {"host": summary, **environment, "setting": known.get(first.host or "", {})}


def _as_object(result: Result) -> dict[str, Any]:
    named = [{"name": name, "then": then, "now": now} for name, then, now in result.differences]
    return {**asdict(result), "exit_code": result.exit_code, "differences": named}


def lines(result: Result) -> list[str]:
    """Return what a replay says, for a person."""
    counts = dict.fromkeys(("confirmed", "contradicted", "undecided"), 0)
    for verdict in result.verdicts:
        counts[verdict.holds] += 1
    of = counted(result.verdicts, "verdict")
    printed = [
        f"{of} of {result.experiment}: " + ", ".join(f"{n} {holds}" for holds, n in counts.items() if n)
    ]
    for verdict in result.verdicts:
        printed.append(f"  {verdict.holds:12} {printable(verdict.name)}")
        then, here = f"{verdict.then} {verdict.size_then}", f"{verdict.now} {verdict.size_now}"
        printed.append(f"    then {then.strip()}; here {here.strip()}")
        if verdict.why:
            printed.append(f"    {printable(verdict.why)}")
    failed = {status: count for status, count in result.trials.items() if status != "valid"}
    if failed:
        printed.append("trials here: " + ", ".join(f"{n} {status}" for status, n in failed.items()))
    if result.differences:
        printed.append("different here:")
        shown = result.differences[:_SHOWN]
        printed += [f"  {name}: {printable(now)}, then {printable(then)}" for name, then, now in shown]
        if more := len(result.differences) - len(shown):
            printed.append(f"  and {more} more, which --json shows")
    else:
        printed.append("nothing known of the host is different here")
    return printed


def main(arguments: Sequence[str]) -> int:
    """Replay the bundle at the root, and return the exit code."""
    if unknown := [word for word in arguments if word not in {"--json", "--quiet"}]:
        print(f"error: {unknown[0]} is no option of a replay; there are --json and --quiet", file=sys.stderr)
        return MISTAKE
    NOW.unlink(missing_ok=True)
    try:
        with StopSignals() as stop:
            result = replay_here(THEN, NOW, stop, Reporter(quiet="--quiet" in arguments))
    except AssayError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE
    except Exception:
        traceback.print_exc()
        return DEFECT
    if isinstance(result, int):
        print("stopped; nothing was compared", file=sys.stderr)
        return 128 + result
    if "--json" in arguments:
        print_json(_as_object(result))
    else:
        print("\n".join(lines(result)))
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
