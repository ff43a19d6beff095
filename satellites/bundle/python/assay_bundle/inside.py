"""Replays a bundle from within: its root is the root of the file system, and its Python runs this.

The campaign of `/store.sqlite` is planned again in `/replayed/store.sqlite`, with every draw, and run there.
"""

import sys
import traceback
from collections import Counter
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
from assay.runner.machine import host, machine_facts, present_machine
from assay.runner.process import StopSignals
from assay.store import Store
from assay.words import counted, listed_briefly, printable
from assay_bundle.alone import plan_of_first_host
from assay_bundle.libraries import OF_LIBRARY
from assay_bundle.verdicts import Difference, Replayed, differences, replayed

THEN, NOW = Path("/store.sqlite"), Path("/replayed/store.sqlite")
CONFIRMED, CONTRADICTED, MISTAKE, UNDECIDED, DEFECT = 0, 1, 2, 3, 70
"""Exit codes."""
_SHOWN = 12  # facts of the host that differ
_HOSTS_SHOWN = 8
_LED = ("name", "processors", "kernel")


@dataclass(frozen=True)
class Result:
    """What a replay says.

    Attributes:
        experiment: its name.
        hosts: the names of the hosts that ran the campaign, if they were several.
        population: whether its verdicts are about all hosts like these, not these alone.
        differences: what is different on this machine.
        verdicts: each verdict of then.
        trials: status -> number of trials of the replay.
    """

    experiment: str
    hosts: Sequence[str]
    population: bool
    differences: Sequence[Difference]
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
        first_plan = plan_of_first_host(store, summary)
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
        facts = _here(store, after, facts_before)
    among = before.analysis.hosts
    return Result(
        experiment=experiment.name,
        hosts=[of.name for of in among.each] if among else [],
        population=among is not None and among.population,
        differences=differences(facts_before, facts),
        verdicts=replayed(before, after),
        trials={str(status): count for status, count in after.campaign.counts.items()},
    )


def _facts(store: Store, report: Report) -> dict[str, dict[str, Any]]:
    """Return what is known of each host of a campaign, by its name: of its first trial where trials differ.

    What the campaign knows of its machine is about the one that led it, which may be no host of it.
    """
    campaign = report.campaign
    known = store.environments(campaign.id)
    hosts = store.hosts_that_ran(campaign.id) or [""]
    first = {trial.ran_on or "": trial for trial in reversed(report.trials)}
    summary: dict[str, Any] = {}
    if len(hosts) == 1:
        led_itself = hosts[0] in {"", campaign.host.get("name")}
        summary = {name: campaign.host.get(name) for name in _LED} if led_itself else {"name": hosts[0]}
    facts: dict[str, dict[str, Any]] = {}
    for host_name in hosts:
        trial = first[host_name]
        environment = dict(known.get(trial.environment or "", {}))
        for about_program in ("library", "program"):
            environment.pop(about_program, None)
        settings = {
            name: value
            for name, value in known.get(trial.host or "", {}).items()
            if not name.startswith(OF_LIBRARY)  # the bundle has libraries of its own
        }
        facts[host_name] = {"host": summary, **environment, "setting": settings}
    return facts


def _here(store: Store, report: Report, then: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is known of this host, as far as a campaign knows that of its hosts."""
    [facts] = _facts(store, report).values()
    host_then, settings_then = (
        {name for of in then.values() for name in of[key]} for key in ("host", "setting")
    )
    about = {name: value for name, value in facts["host"].items() if name in host_then}
    more = {name: value for name, value in machine_facts().items() if name in settings_then}
    return {**facts, "host": about, "setting": facts["setting"] | more}


def _as_object(result: Result) -> dict[str, Any]:
    named = [difference._asdict() for difference in result.differences]
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
    if result.hosts:
        then_on = f"{len(result.hosts)} hosts, {printable(listed_briefly(result.hosts))}"
        printed.append(f"then on {then_on}; this machine runs the plan of one of them")
    for verdict in result.verdicts:
        printed.append(f"  {verdict.holds:12} {printable(verdict.name)}")
        then, here = f"{verdict.then} {verdict.size_then}", f"{verdict.now} {verdict.size_now}"
        printed.append(f"    then {then.strip()}; here {here.strip()}")
        printed += [f"    {line}" for line in _by_host(verdict)]
        if verdict.why:
            printed.append(f"    {printable(verdict.why)}")
    if result.population and counts["contradicted"]:
        printed.append(
            "the verdicts are about all hosts like those then, which one host alone does not refute"
        )
    failed = {status: count for status, count in result.trials.items() if status != "valid"}
    if failed:
        printed.append("trials here: " + ", ".join(f"{n} {status}" for status, n in failed.items()))
    if result.differences:
        printed.append("different here:")
        shown = result.differences[:_SHOWN]
        printed += [f"  {_in_words(difference, result)}" for difference in shown]
        if more := len(result.differences) - len(shown):
            printed.append(f"  and {more} more, which --json shows")
    else:
        printed.append(f"nothing known of the {'hosts' if result.hosts else 'host'} is different here")
    return printed


def _by_host(verdict: Replayed) -> list[str]:
    """Return what each host of a campaign said of a comparison, in a line; of many, how many say what."""
    if len(verdict.hosts) > _HOSTS_SHOWN:
        counts = Counter(of.holds for of in verdict.hosts)
        return ["by host: " + ", ".join(f"{n} {holds}" for holds, n in sorted(counts.items()))]
    width = max((len(of.host) for of in verdict.hosts), default=0)
    return [
        f"on {printable(of.host):{width}} {f'{of.then} {of.size_then}'.strip()}: {of.holds}"
        for of in verdict.hosts
    ]


def _in_words(difference: Difference, result: Result) -> str:
    where = difference.hosts if len(difference.hosts) < len(result.hosts) else ()
    on = f" on {listed_briefly(where)}" if where else ""
    return printable(f"{difference.name}: {difference.now}, then {difference.then}{on}")


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
