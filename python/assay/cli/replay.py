"""`assay store replay`: a trial again, with exactly its draws."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, print_json, whole
from assay.words import counted, listed, number, printable

if TYPE_CHECKING:
    from assay.campaign.replay import Replay

_DIFFERENCES_SHOWN = 10


def replay(
    trial: Annotated[int, typer.Argument(parser=whole(), metavar="TRIAL", hidden=True)],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Run a trial again with exactly its draws, and compare both.

    TRIAL is its number, as `assay store list trials` shows it. Seeds, perturbations and the number of
    operations of each thread are those of the record; nothing is stored. It refuses a trial that cannot
    be repeated and one whose program has changed. The exit code is 1 if something differs.

    Example: `assay store replay 17`
    """
    from assay.campaign.replay import replay as run_again
    from assay.runner.process import Interrupted, StopSignals
    from assay.store import Store

    with Store.open(store, create=False) as opened, StopSignals() as stop:
        try:
            replayed = run_again(opened, trial, stop, lambda line: typer.echo(line, err=True))
        except Interrupted as interrupted:
            typer.echo("stopped; the store is as it was", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
    if as_json:
        print_json(_as_json(trial, replayed))
    else:
        typer.echo("\n".join(_lines(trial, replayed)))
    if replayed.different:
        raise typer.Exit(1)


def _as_json(trial: int, replayed: "Replay") -> dict[str, Any]:
    before, now = replayed.record, replayed.outcome
    return {
        "trial": trial,
        "before": {
            "status": before["status"],
            "reason": before["reason"],
            "metrics": _metrics(before["result"]),
        },
        "now": {"status": now.status, "reason": now.reason, "metrics": _metrics(now.result)},
        "equal": replayed.equal,
        "different": [asdict(difference) for difference in replayed.different],
        "nothing_because": replayed.nothing_because or None,
    }


def _metrics(result: Mapping[str, Any] | None) -> Mapping[str, float]:
    metrics: Mapping[str, float] = (result or {}).get("metrics", {})
    return metrics


def _lines(trial: int, replayed: "Replay") -> list[str]:
    record, outcome = replayed.record, replayed.outcome
    drawn = [name.replace("_", " ") for name in record["perturbation"]]
    also = f", and the same {listed(drawn)}" if drawn else ""
    lines = [
        f"Trial {trial} again: seed {record['seed']}{also}",
        f"status: {outcome.status.replace('_', ' ')}, then {record['status'].replace('_', ' ')}",
    ]
    if outcome.reason:
        lines.append(f"why: {printable(outcome.reason)}")
    if replayed.nothing_because:
        lines.append(f"nothing has to be equal: {replayed.nothing_because}")
    elif replayed.different:
        of = len(replayed.equal) + len(replayed.different)
        lines.append(f"DIFFERENT: {len(replayed.different)} of {counted(of, 'value')} that must be equal:")
        shown = replayed.different[:_DIFFERENCES_SHOWN]
        lines += [f"  {other.what}: {other.now}, then {other.before}" for other in shown]
        if more := len(replayed.different) - len(shown):
            lines.append(f"  and {more} more, which --json shows")
    else:
        lines.append(f"equal: all {counted(replayed.equal, 'count')} and checksums that must be")
    before, now = _metrics(record["result"]), _metrics(outcome.result)
    if "throughput" in before and "throughput" in now:
        ratio = now["throughput"] / before["throughput"] if before["throughput"] else float("nan")
        lines.append(f"throughput, which may differ: {number(ratio)} times that of then")
    return lines
