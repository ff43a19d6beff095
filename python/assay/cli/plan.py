"""`assay plan`: how long an answer will take."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.invocation import invocation
from assay.cli.options import DEFAULT_STORE, ExperimentArgument, JsonOption, StoreOption, print_json
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.analysis.planning import ComparisonForecast, Forecast
    from assay.experiment import Experiment
    from assay.store import Store
    from assay.store.types import CampaignSummary, StoredTrial

    Earlier = Mapping[int, list[StoredTrial]]

PILOT_BLOCKS = 8
NARROWEST = 0.001
"""Percent: no machine's results are known more exactly."""

YEAR_MINUTES = 365 * 24 * 60
LATEST = 5
"""Campaigns that a forecast rests on at most: older ones say less of the host as it is now."""


def plan(
    experiment: ExperimentArgument,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            help="Full width of the interval of a ratio, 100 (high / low - 1). Default: the width that the"
            " experiment runs until, else its smallest effect.",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say how many blocks and minutes an answer will probably take.

    It rests on the latest campaigns of the experiment on this host. Where there are none, a pilot of 8 blocks
    runs first and is kept as a campaign like any other.

    Example: `assay plan experiments/quickstart.toml --width 5`
    """
    from assay.analysis.planning import FEWEST_PAIRS, forecast
    from assay.campaign import Campaign, plan_trials
    from assay.cli.run import carried_out
    from assay.experiment import load
    from assay.experiment.types import Blocks
    from assay.store import Store, runner_lock

    read = load(experiment)
    until = read.design.blocks.until
    default = until if isinstance(until, float) else read.comparison.smallest_effect_percent
    wanted = default if width is None else width
    if not NARROWEST <= wanted < math.inf:
        raise AssayError(f"--width: intervals cannot be {wanted:g}% wide; give at least {NARROWEST:g}")
    found: Forecast | None = None
    with Store.open(store) as opened:
        trials = _earlier(opened, read)
        if trials:
            found = forecast(list(trials.values()), read, wanted)
        if found is None or found.slowest is None:
            # The plan is the experiment's own, which ends early: what is stored of it stays true.
            blocks = Blocks(most=max(read.design.blocks.most, PILOT_BLOCKS))
            design = read.design.model_copy(update={"blocks": blocks})
            of_pilot = read.model_copy(update={"design": design})
            planned = plan_trials(of_pilot)
            _say_pilot(read, trials, store)
            campaign = Campaign(opened, of_pilot, planned)
            with runner_lock(store), carried_out(opened, campaign, pilot=PILOT_BLOCKS) as pilot:
                pass
            trials = _earlier(opened, read)
            found = forecast(list(trials.values()), read, wanted) if trials else None
            if found is None or found.slowest is None:
                listing = invocation("list", "trials", "--campaign", str(pilot), store=store)
                raise AssayError(
                    f"campaign {pilot}, the pilot, gave no comparison {FEWEST_PAIRS} pairs that count, so"
                    f" nothing can be forecast; why: {listing}"
                )
    if as_json:
        print_json(_as_json(read, found, trials))
    else:
        _print(read, found, trials)


def _earlier(store: "Store", experiment: "Experiment") -> "Earlier":
    """Return campaign -> its ended trials, for the latest campaigns that measured the same on this host."""
    found: dict[int, list[StoredTrial]] = {}
    for campaign in reversed(store.campaigns()):
        if campaign.ended and _measured_the_same(store, campaign, experiment):
            found[campaign.id] = store.trials(campaign.id)
        if len(found) == LATEST:
            break
    return found


def _measured_the_same(store: "Store", campaign: "CampaignSummary", experiment: "Experiment") -> bool:
    """Tell whether a campaign ran the conditions of an experiment on this host, with the same metric."""
    from assay.runner.machine import host

    here = host()
    if campaign.experiment != experiment.name or any(
        campaign.host.get(name) != here[name] for name in ("name", "processors")
    ):
        return False

    def measured(one: "Experiment") -> tuple[Any, ...]:
        asked = one.comparison
        conditions = [(condition, one.settings(condition)) for condition in one.conditions()]
        return asked.metric, asked.factor, asked.baselines(), conditions, one.programs

    return measured(store.experiment(campaign.id)) == measured(experiment)


def _say_pilot(experiment: "Experiment", trials: "Earlier", store: Path) -> None:
    """Say that a pilot is going to run, why, and about how long it will take."""
    from assay.campaign.progress import ConditionTimes, time_left
    from assay.words import duration

    why = f"{store} has no campaign of {experiment.name} on this host with these conditions and this metric"
    if trials:
        listed = ", ".join(map(str, trials))
        why = f"campaign {listed} of {experiment.name} has too few pairs to forecast from"
    settings = [experiment.settings(condition) for condition in experiment.conditions()]
    count = PILOT_BLOCKS * len(settings)
    takes = "as long as its programs take"
    if all("duration_ms" in each for each in settings):
        times = [ConditionTimes(each["duration_ms"] / 1000, PILOT_BLOCKS) for each in settings]
        takes = duration(time_left(times))
    typer.echo(
        f"{why}: running a pilot of {PILOT_BLOCKS} blocks, {count} trials, {takes}. Ctrl-C ends it.", err=True
    )


def _as_json(experiment: "Experiment", found: "Forecast", trials: "Earlier") -> dict[str, Any]:
    slowest = found.slowest
    return {
        "experiment": experiment.name,
        "campaigns": sorted(trials),
        "blocks": slowest.blocks if slowest else None,
        "minutes": slowest.minutes if slowest else None,
        **vars(found),
        "assumes": list(_assumptions()),
    }


def _print(experiment: "Experiment", found: "Forecast", trials: "Earlier") -> None:
    """Print a table for each context, then what holds for the experiment as a whole."""
    from itertools import groupby

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from assay.words import condition_name

    console = Console()
    campaigns = f"campaign{'s' if len(trials) > 1 else ''} {', '.join(map(str, sorted(trials)))}"
    console.print(
        Text(
            f"{experiment.name}: blocks until intervals of {100 * found.confidence:.3g}% of"
            f" {experiment.comparison.metric} are at most {found.width_percent:g}% wide, from {campaigns}",
            "bold",
        )
    )
    for context, rows in groupby(found.comparisons, key=lambda one: one.context):
        console.print(Text(condition_name(context), "italic"))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
        table.add_column(Text(experiment.comparison.factor), overflow="fold", ratio=1)
        for title in ("pairs", "scatter", "within", f"at {found.planned}", "blocks", "minutes"):
            table.add_column(title, justify="right", no_wrap=True)
        for row in rows:
            share = None if row.components is None else 100 * row.components.within_share
            table.add_row(
                Text(f"  {row.level}"),
                str(row.pairs),
                _percent(row.scatter_percent),
                _percent(share),
                _percent(row.planned_width_percent),
                "-" if row.blocks is None else _count(row.blocks),
                "-" if row.minutes is None else f"{row.minutes:.3g}",
            )
        console.print(table)
    console.print(
        Text(
            "scatter: standard deviation of the ratio within groups; within: the share of its variance that"
            f" comes from within trials; at {found.planned}: the width after so many blocks, as planned",
            "dim",
        )
    )
    console.print()
    for line in (*_conclusions(experiment, found), *_assumptions()):
        console.print(Text(line))


def _conclusions(experiment: "Experiment", found: "Forecast") -> Iterator[str]:
    """Yield what holds for the experiment as a whole: it is as slow as its slowest comparison."""
    slowest = found.slowest
    if slowest is None or slowest.blocks is None or slowest.minutes is None:
        return
    yield (
        f"The whole experiment: {_count(slowest.blocks)} blocks, {_takes(slowest.minutes)}; slowest is"
        f" {_name(experiment, slowest)}."
    )
    planned = [one.planned_width_percent for one in found.comparisons if one.blocks is not None]
    widths = [one for one in planned if one is not None]
    blocks = "1 block" if found.planned == 1 else f"{found.planned} blocks"
    takes = _takes(found.planned * found.minutes_per_block)
    gives = (
        f"intervals of up to {max(widths):.3g}%"
        if len(widths) == len(planned)
        else "too few pairs for an interval"
    )
    yield f"Its planned {blocks}, {takes}: {gives}."
    short = [one for one in found.comparisons if one.blocks is None]
    if short:
        yield (
            f"No forecast for {len(short)} of {len(found.comparisons)} comparisons, with too few pairs that"
            f" count: {'; '.join(_name(experiment, one) for one in short)}."
        )
    longer = [one.components for one in found.comparisons if one.components and one.components.longer_pays]
    known = [one.components for one in found.comparisons if one.components]
    if longer:
        best = max(one.duration_ms for one in longer)
        yield (
            f"Longer trials help {len(longer)} of {len(known)} comparisons more than more blocks: try a"
            f" duration_ms of {float(f'{best:.2g}'):.0f}."
        )
    elif known:
        yield "More blocks help more than longer trials."


def _assumptions() -> Iterator[str]:
    """Yield what the forecast rests on."""
    yield (
        "It assumes that the host and the scatter stay as they were; then four of five campaigns of that"
        " length have intervals that narrow. The fewer pairs it rests on, the more blocks it asks for."
        " Verdicts corrected for many comparisons may need more."
    )


def _name(experiment: "Experiment", one: "ComparisonForecast") -> str:
    from assay.words import condition_name

    return condition_name({experiment.comparison.factor: one.level, **one.context})


def _count(blocks: int) -> str:
    return str(blocks) if blocks < 1_000_000 else f"{blocks:.1e}"


def _takes(minutes: float) -> str:
    from assay.words import duration

    return "more than a year" if minutes > YEAR_MINUTES else duration(60 * minutes)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}%"
