"""`assay lab explore`: where a difference itself differs."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completion import complete_campaigns
from assay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, VerboseOption, print_json, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.plan.types import Level
    from assay_lab.exploration import Exploration, Partition, PartitionSide

SHOWN = 4
"""Findings on one screen."""

FURTHER = 1.75
"""How much further apart, as logarithms, the parts by two factors are that stand for those by one."""


def explore(
    campaign: Annotated[
        int | None,
        typer.Argument(parser=whole(), metavar="CAMPAIGN", hidden=True, autocompletion=complete_campaigns),
    ] = None,
    *,
    verbose: VerboseOption = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say where a difference itself differs.

    CAMPAIGN is a number; without it, the campaign begun last is explored.

    A map may be twice as fast as another with four threads, and no faster with one. This parts the contexts
    of each comparison in two by the levels of each other factor, and of each pair of them, and tests whether
    the ratio differs between the two parts. Of all that it finds, at most 5% is expected to be false. It says
    how many partitions it tried.

    Example: `assay lab explore 2`
    """
    from assay.analysis import summarise
    from assay.store import Store
    from assay_lab.exploration import explore as explore_trials

    with Store.open(store, create=False) as opened:
        summary = opened.campaign(campaign)
        experiment, trials = opened.experiment(summary.id), opened.trials(summary.id)
        hosts = opened.hosts_planned(summary.id)
    experiment.reject_pitfall("assay lab explore")
    exploration = explore_trials(trials, experiment, summarise(trials, experiment, hosts))
    if as_json:
        partitions = [vars(partition) | {"found": partition.found} for partition in exploration.partitions]
        print_json(
            {
                "campaign": summary.id,
                "experiment": summary.experiment,
                "tried": len(partitions),
                **vars(exploration),
                "partitions": partitions,
            }
        )
    else:
        _print(exploration, f"Campaign {summary.id}, {summary.experiment}", verbose=verbose)


def _print(exploration: "Exploration", campaign: str, *, verbose: bool) -> None:
    """Print the strongest of what is found, or all of it, or that there is nothing."""
    from assay.words import counted, listed, percent
    from assay_lab.exploration import PARTITIONS_AT_MOST, RATE

    tried = exploration.partitions
    by = listed(exploration.factors) + ", alone and by pairs" * exploration.pairs_of_factors
    typer.echo(
        f"{campaign}: does a difference in {exploration.metric} itself differ?\n"
        f"{counted(tried, 'partition')} tried, by {by}; {counted(exploration.blocks, 'block')}.\n"
    )
    found = exploration.found
    shown = found if verbose else strongest(found)[:SHOWN]
    for partition in shown:
        _print_partition(partition)
    if found:
        corrected = f"With p corrected for {counted(tried, 'partition')}"
        typer.echo(f"{corrected}, at most {percent(RATE)} of this is expected to be false.")
        if len(found) > len(shown):
            typer.echo(f"{len(found) - len(shown)} more: --verbose.")
    else:
        typer.echo("Nothing found: no ratio is shown to differ between any two parts.")
    if exploration.blocks < exploration.fewest:
        typer.echo(f"What differs in one partition alone is found from {exploration.fewest} blocks on.")
    if len(exploration.factors) > 1 and not exploration.pairs_of_factors:
        typer.echo(
            f"Pairs of factors were not tried: they make more than {PARTITIONS_AT_MOST} partitions.\n"
            "To try them, run the experiment with fewer levels: --only FACTOR=LEVEL,LEVEL."
        )
    if exploration.left_out:
        others = f"; and {len(exploration.left_out) - 1} more" * (len(exploration.left_out) > 1)
        typer.echo(f"Left out, {exploration.left_out[0]}{others}.")


def strongest(found: "Sequence[Partition]") -> "list[Partition]":
    """Return what stands for the rest: of each comparison the first by each factor, or by a pair of them.

    A pair stands for both of its factors if its parts are much further apart than those by one of them. If
    two factors multiply the ratio each by itself, the logarithm of a pair's change is up to 1.6 times as
    large (for 4 levels each); if only their combination does, it is twice as large or more.
    """
    first: dict[tuple[Level, Level], dict[frozenset[str], Partition]] = {}
    for partition in found:
        of_comparison = first.setdefault((partition.level, partition.baseline), {})
        of_comparison.setdefault(frozenset(partition.inside.levels), partition)
    kept: list[Partition] = []
    for of_comparison in first.values():
        alone = {factors: of_one for factors, of_one in of_comparison.items() if len(factors) == 1}
        for factors, of_pair in of_comparison.items():
            singles = [single for single in (frozenset({factor}) for factor in factors) if single in alone]
            if len(factors) == 2 and all(
                _size(of_comparison[single]) * FURTHER <= _size(of_pair) for single in singles
            ):
                kept.append(of_pair)
                for single in singles:
                    del alone[single]
        kept += alone.values()
    return [partition for partition in found if partition in kept]


def _size(partition: "Partition") -> float:
    assert partition.change is not None  # what has no blocks is not found
    return abs(math.log(partition.change))


def _print_partition(partition: "Partition") -> None:
    """Print where the ratio is larger, and then where it is smaller."""
    from assay.report.words import interval
    from assay.words import p_value, ratio

    change, ends, parts = partition.change, partition.interval, (partition.inside, partition.outside)
    assert change is not None
    if change < 1:
        change, parts = 1 / change, parts[::-1]
        ends = None if ends is None else replace(ends, low=1 / ends.high, high=1 / ends.low)
    whose = f"{partition.level} / {partition.baseline}"
    p = p_value(partition.p_adjusted)
    typer.echo(f"{whose} is {ratio(change)} times as large ({interval(ends)}, p = {p}) in one part:")
    for part in parts:
        typer.echo(f"  {ratio(part.ratio):>6} ({interval(part.interval)}) {_where(part)}")
    typer.echo()


def _where(part: "PartitionSide") -> str:
    """Return which levels a part has: `where threads=2 or 4 and mix=updates`."""
    from assay.words import listed

    sides = [f"{factor}={listed([*map(str, levels)], 'or')}" for factor, levels in part.levels.items()]
    return f"where {' and '.join(sides)}" if sides else "everywhere else"
