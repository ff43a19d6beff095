"""`assay plan`: how long an answer will take."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    ExperimentArgument,
    JsonOption,
    StoreOption,
    print_json,
    print_table,
)
from assay.errors import AssayError
from assay.words import condition_name, counted, duration, number, percent, printable

if TYPE_CHECKING:
    from assay.analysis.planning import ComparisonForecast, Forecast
    from assay.experiment import Experiment
    from assay.store import Store
    from assay.store.types import StoredTrial

    Earlier = Mapping[int, list[StoredTrial]]

PILOT_BLOCKS = 8
NARROWEST = 0.001
"""Percent: results of real machines are never known more exactly."""

YEAR_MINUTES = 365 * 24 * 60
LATEST = 5
"""A forecast rests on at most this many campaigns: older ones say less about the host as it is now."""

LEGEND = (
    "scatter: standard deviation of the ratio within groups; within: the share of its variance that comes"
    " from within trials; at N: the width after the N blocks that are planned"
)
ASSUMPTIONS = (
    "It assumes that the host and the scatter stay as they were; then four of five campaigns of that"
    " length have intervals that narrow. The fewer pairs it rests on, the more blocks it asks for."
    " Verdicts corrected for many comparisons may need more."
)


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
    """Estimate how many blocks and minutes an answer will take.

    The estimate rests on the latest campaigns of the experiment on this host. If there are none, a pilot of 8
    blocks runs first, which is kept like any other campaign.

    Example: `assay plan experiments/quickstart.toml --width 5`
    """
    from assay.analysis.planning import FEWEST_PAIRS
    from assay.campaign import Campaign, plan_trials
    from assay.cli.run import carried_out
    from assay.experiment import load
    from assay.experiment.types import Blocks
    from assay.store import Store, runner_lock

    planned = load(experiment)
    until = planned.design.blocks.until
    default = until if isinstance(until, float) else planned.comparison.smallest_effect_percent
    wanted = default if width is None else width
    if not NARROWEST <= wanted < math.inf:
        raise AssayError(f"--width: intervals cannot be {wanted:g}% wide; give at least {NARROWEST:g}")
    with Store.open(store) as opened:
        trials = _earlier(opened, planned)
        forecast = _forecast(planned, trials, wanted)
        if forecast is None:
            # The plan is the experiment's own, which ends early: what is stored of it stays true.
            blocks = Blocks(most=max(planned.design.blocks.most, PILOT_BLOCKS))
            design = planned.design.model_copy(update={"blocks": blocks})
            of_pilot = planned.model_copy(update={"design": design})
            campaign = Campaign(opened, of_pilot, plan_trials(of_pilot))
            _say_pilot(planned, trials, store)
            with runner_lock(store), carried_out(opened, campaign, pilot=PILOT_BLOCKS) as pilot:
                trials = _earlier(opened, planned)
                forecast = _forecast(planned, trials, wanted)
            if forecast is None:
                listing = invocation("list", "trials", "--campaign", str(pilot), store=store)
                raise AssayError(
                    f"campaign {pilot}, the pilot, gave no comparison {FEWEST_PAIRS} pairs that count, so"
                    f" nothing can be forecast; why: {listing}"
                )
    slowest = forecast.slowest
    assert slowest is not None
    if as_json:
        answer = {"experiment": planned.name, "campaigns": sorted(trials), "assumes": [ASSUMPTIONS]}
        takes = {"blocks": slowest.blocks, "minutes": slowest.minutes}
        print_json(answer | takes | vars(forecast))
    else:
        from rich.console import Console

        _print(planned, forecast, trials)
        for line in ("", *_conclusions(planned, forecast, slowest), ASSUMPTIONS, "", LEGEND):
            Console().print(line, highlight=False, markup=False)


def _forecast(experiment: "Experiment", trials: "Earlier", width_percent: float) -> "Forecast | None":
    """Return what trials forecast; None where there are too few that count."""
    from assay.analysis.planning import forecast

    result = forecast(list(trials.values()), experiment, width_percent) if trials else None
    return result if result and result.slowest else None


def _earlier(store: "Store", experiment: "Experiment") -> "Earlier":
    """Return campaign -> its ended trials, for the latest campaigns that measured the same on this host."""
    from assay.runner.machine import host
    from assay.store import UnreadableError

    here = host()

    def measured(experiment: "Experiment") -> tuple[Any, ...]:
        comparison = experiment.comparison
        conditions = [(condition, experiment.settings(condition)) for condition in experiment.conditions()]
        return comparison.metric, comparison.factor, comparison.baselines(), conditions, experiment.programs

    earlier: dict[int, list[StoredTrial]] = {}
    for campaign in reversed(store.campaigns()):
        if (
            len(earlier) < LATEST
            and campaign.ended
            and campaign.experiment == experiment.name
            and all(campaign.host.get(name) == here[name] for name in ("name", "processors"))
        ):
            with suppress(UnreadableError):
                if measured(store.experiment(campaign.id)) == measured(experiment):
                    earlier[campaign.id] = store.trials(campaign.id)
    return earlier


def _say_pilot(experiment: "Experiment", trials: "Earlier", store: Path) -> None:
    """Say that a pilot is going to run, why, and about how long it will take."""
    from assay.campaign.progress import ConditionTimes, time_left

    why = f"{store} has no campaign of {experiment.name} on this host with these conditions and this metric"
    if trials:
        listed = ", ".join(map(str, trials))
        why = f"campaign {listed} of {experiment.name} has too few pairs to forecast from"
    settings = [experiment.settings(condition) for condition in experiment.conditions()]
    count = PILOT_BLOCKS * len(settings)
    takes = "as long as its programs take"
    if all("duration_ms" in condition for condition in settings):
        times = [ConditionTimes(condition["duration_ms"] / 1000, PILOT_BLOCKS) for condition in settings]
        takes = duration(time_left(times))
    typer.echo(
        f"{why}: running a pilot of {PILOT_BLOCKS} blocks, {count} trials, {takes}. Ctrl-C ends it.", err=True
    )


def _print(experiment: "Experiment", forecast: "Forecast", trials: "Earlier") -> None:
    """Print a table for each context."""
    typer.echo(
        f"{experiment.name}: blocks until intervals of {percent(forecast.confidence)} of"
        f" {experiment.comparison.metric} are at most {forecast.width_percent:g}% wide, from"
        f" campaign{'s' if len(trials) > 1 else ''} {', '.join(map(str, sorted(trials)))}"
    )
    for context, rows in groupby(forecast.comparisons, key=lambda comparison: comparison.context):
        typer.echo(f"\n{printable(condition_name(context))}")
        print_table(
            [
                experiment.comparison.factor,
                "pairs",
                "scatter",
                "within",
                f"at {forecast.planned}",
                "blocks",
                "minutes",
            ],
            [
                [
                    str(row.level),
                    row.pairs,
                    _percent(row.scatter_percent),
                    _percent(100 * row.components.within_share if row.components else None),
                    _percent(row.planned_width_percent),
                    _count(row.blocks),
                    "-" if row.minutes is None else number(row.minutes, 3),
                ]
                for row in rows
            ],
        )


def _conclusions(
    experiment: "Experiment", forecast: "Forecast", slowest: "ComparisonForecast"
) -> Iterator[str]:
    """Yield what holds for the experiment as a whole: it is as slow as its slowest comparison."""

    def name(comparison: "ComparisonForecast") -> str:
        return condition_name({experiment.comparison.factor: comparison.level, **comparison.context})

    comparisons = forecast.comparisons
    yield (
        f"The whole experiment: {_count(slowest.blocks)} blocks, {_takes(slowest.minutes or 0)}; slowest is"
        f" {name(slowest)}."
    )
    widths = [comparison.planned_width_percent for comparison in comparisons if comparison.blocks is not None]
    known = [width for width in widths if width is not None]
    gives = (
        f"intervals of up to {number(max(known), 3)}%"
        if len(known) == len(widths)
        else "too few pairs for an interval"
    )
    takes = _takes(forecast.planned * forecast.minutes_per_block)
    yield f"Its planned {counted(forecast.planned, 'block')}, {takes}: {gives}."
    short = [comparison for comparison in comparisons if comparison.blocks is None]
    if short:
        yield (
            f"No forecast for {len(short)} of {len(comparisons)} comparisons, with too few pairs that count:"
            f" {'; '.join(map(name, short))}."
        )
    components = [comparison.components for comparison in comparisons if comparison.components]
    longer = [component.duration_ms for component in components if component.longer_pays]
    if longer:
        yield (
            f"Longer trials help {len(longer)} of {len(components)} comparisons more than more blocks: try a"
            f" duration_ms of {float(f'{max(longer):.2g}'):.0f}."
        )
    elif components:
        yield "More blocks help more than longer trials."


def _count(blocks: int | None) -> str:
    if blocks is None:
        return "-"
    return str(blocks) if blocks < 1_000_000 else number(blocks, 3)


def _takes(minutes: float) -> str:
    return "more than a year" if minutes > YEAR_MINUTES else duration(60 * minutes)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{number(value, 3)}%"
