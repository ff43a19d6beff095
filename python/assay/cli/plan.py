"""`assay plan`: how long an answer will take."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.audit import audit as audit_file
from assay.cli.audit import say_before
from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    BlocksOption,
    ExperimentArgument,
    JsonOption,
    OnlyOption,
    SetOption,
    StoreOption,
    WithinOption,
    print_json,
    print_table,
    real,
)
from assay.cli.running import running_campaign
from assay.errors import AssayError
from assay.words import agreed, condition_name, counted, duration, listed, number, percent, printable, ratio

if TYPE_CHECKING:
    from assay.analysis.planning import ComparisonForecast, Forecast, GateForecast
    from assay.experiment import Experiment
    from assay.experiment.types import Until
    from assay.store import Store, StoreName
    from assay.store.types import StoredTrial

    Earlier = Mapping[int, list[StoredTrial]]

PILOT_BLOCKS = 8
NARROWEST = 0.001
"""Percent: results of real machines are never known more exactly."""

LATEST = 5
"""A forecast rests on at most this many campaigns: older ones say less about the host as it is now."""

_SIMULATION_S = 4
"""A simulated trial of a small map takes about so long, the TLBs among them, until trials have said more."""

LISTED = 8
"""The most comparisons that an answer names; `--verbose` shows every one."""

LEGEND = (
    "scatter: standard deviation of the ratio within groups; within: the share of its variance that comes"
    " from within trials; at N: the width after the N blocks that are planned"
)
ASSUMPTIONS = (
    "It assumes that the host and the scatter stay as they were; then four of five campaigns of that"
    " length have intervals that narrow. The fewer pairs it rests on, the more blocks it asks for."
    ""
)
ASSUMPTIONS_OF_DECISIONS = (
    "It assumes that ratios, scatter and host stay as they were; then at least four of five campaigns of"
    " that length decide. The fewer pairs it rests on, the more blocks it asks for."
)


def plan(
    experiment: ExperimentArgument,
    *,
    blocks: BlocksOption = None,
    within: WithinOption = None,
    only: OnlyOption = None,
    settings: SetOption = None,
    width: Annotated[
        float | None,
        typer.Option(
            parser=real(NARROWEST),
            metavar="PERCENT",
            help="Ask for intervals of this full width, 100 (high / low - 1), and not for verdicts. So does"
            " an experiment that runs until a width.",
        ),
    ] = None,
    gate: Annotated[
        float | None,
        typer.Option(
            parser=real(NARROWEST, 100),
            metavar="PERCENT",
            help="Ask when every comparison has passed or failed this gate: has been shown to be worse by at"
            " most, or by more than, this many percent. So does an experiment with a gate.",
        ),
    ] = None,
    audit: Annotated[
        bool,
        typer.Option("--audit", help="Run and forecast nothing: print each finding of the audit in full."),
    ] = False,
    fail_on: Annotated[
        Literal["error", "warning"] | None,
        typer.Option(
            metavar="LEVEL",
            help="With --audit: end with exit code 1 where a finding is an `error`; where one is a `warning`"
            " or an error.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show every comparison.")] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say what will be decided, and how long the rest takes.

    EXPERIMENT is the experiment's file. The estimate rests on the latest campaigns of the experiment on this
    host. If there are none, a pilot of 8 blocks runs first, which is kept like any other campaign. What the
    audit finds in the experiment comes first, a line for each rule.

    --audit makes every check that `assay run` makes before it starts. If the store has campaigns of the
    experiment, it also audits the latest one that asked the same, by the rules that the file has now.

    Example: `assay plan experiments/quickstart.toml`, `assay plan my.toml --audit --fail-on error`
    """
    from assay.analysis.planning import FEWEST_PAIRS, gates
    from assay.audit import audit_experiment
    from assay.experiment import check, load, overridden
    from assay.runner.machine import host, present_machine
    from assay.store import Store

    planned = overridden(
        load(experiment),
        blocks=blocks,
        minutes=within and within / 60,
        only=only or (),
        settings=settings or (),
    )
    if audit:
        audit_file(store, planned, fail_on=[fail_on] if fail_on else None, as_json=as_json)
        return
    if fail_on:
        raise AssayError("--fail-on: belongs to --audit; leave it out, or add --audit")
    planned, until = _with_goal(planned, width, gate)
    with Store.open(store) as opened:
        trials = _earlier(opened, planned)
        forecast = _forecast(planned, trials, until)
    if forecast is None:
        # The pilot is stored with the experiment's own plan, and ends early.
        pilot = planned.altered(design=planned.design.exactly(max(planned.design.blocks, PILOT_BLOCKS)))
        check(pilot, present_machine())  # mistakes come first
        _say_pilot(planned, trials, store)
        with running_campaign(store, pilot, pilot=PILOT_BLOCKS) as (report, opened):
            trials = _earlier(opened, planned)
            forecast = _forecast(planned, trials, until)
        if forecast is None:
            number = report.campaign.id
            listing = invocation("store", "list", "trials", "--campaign", str(number), store=store)
            raise AssayError(
                f"campaign {number}, the pilot, gave no comparison {FEWEST_PAIRS} pairs that count, so"
                f" nothing can be forecast; why: {listing}"
            )
    slowest = forecast.slowest
    assert slowest is not None
    decides = isinstance(until, str)
    choice = gates(list(trials.values()), planned) if until == "gate" else ()
    findings = audit_experiment(planned, host())
    assumes = ASSUMPTIONS_OF_DECISIONS if decides else ASSUMPTIONS
    if as_json:
        print_json(
            {
                "experiment": planned.name,
                "findings": findings,
                "campaigns": sorted(trials),
                "assumes": [assumes],
                "blocks": slowest.blocks,
                "minutes": slowest.minutes,
                "decided": len(forecast.decided) if decides else None,
                "width_percent": forecast.width_percent,
                "gate_percent": planned.comparison.gate_percent if until == "gate" else None,
                "gates": choice,
                **{name: value for name, value in vars(forecast).items() if name != "until"},
            }
        )
    else:
        from rich.console import Console

        say_before(str(experiment), findings)
        answer = (
            _of_decisions(planned, forecast, slowest) if decides else _of_widths(planned, forecast, slowest)
        )
        for line in (*answer, *_choice(forecast, choice), *_advice(planned, forecast, trials), assumes):
            Console().print(line, highlight=False, markup=False)
        if verbose:
            _print(planned, forecast)
            Console().print(f"\n{LEGEND}", highlight=False, markup=False)


def _with_goal(
    experiment: "Experiment", width: float | None, gate: float | None
) -> "tuple[Experiment, Until]":
    """Return an experiment with the gate that the options name, and what is forecast."""
    if gate is not None:
        if width is not None:
            raise AssayError("--width and --gate ask for different forecasts; give one of them")
        experiment = experiment.altered(comparison=experiment.comparison.gated(gate))
    if width is not None:
        return experiment, width
    if gate is None and experiment.design.end is not None:
        return experiment, experiment.design.end
    return experiment, "verdict" if experiment.comparison.gate_percent is None else "gate"


def _forecast(experiment: "Experiment", trials: "Earlier", until: "Until") -> "Forecast | None":
    """Return what trials forecast; None where there are too few that count."""
    from assay.analysis.planning import forecast

    result = forecast(list(trials.values()), experiment, until) if trials else None
    return result if result and result.slowest else None


def _earlier(store: "Store", experiment: "Experiment") -> "Earlier":
    """Return campaign -> its ended trials, for the latest campaigns that measured the same on this host."""
    from assay.experiment.question import asked, differences
    from assay.runner.machine import host
    from assay.store import UnreadableError

    here = host()

    question = asked(experiment)
    earlier: dict[int, list[StoredTrial]] = {}
    for campaign in reversed(store.campaigns()):
        if (
            len(earlier) < LATEST
            and campaign.ended
            and campaign.experiment == experiment.name
            and all(campaign.host.get(name) == here[name] for name in ("name", "processors"))
        ):
            with suppress(UnreadableError):
                found = differences(question, asked(store.experiment(campaign.id)))
                if all(difference.judges for difference in found):
                    earlier[campaign.id] = store.trials(campaign.id)
    return earlier


def _say_pilot(experiment: "Experiment", trials: "Earlier", store: "StoreName") -> None:
    """Say that a pilot is going to run, why, and about how long it will take."""
    from assay.campaign.progress import ConditionTimes, time_left
    from assay.runner.simulate import simulation_plan as simulated

    why = f"{store} has no campaign of {experiment.name} on this host with these conditions and this metric"
    if trials:
        several = len(trials) > 1
        why = (
            f"campaign{'s' * several} {listed([*map(str, sorted(trials))])} of {experiment.name}"
            f" {'have' if several else 'has'} too few pairs to forecast from"
        )
    settings = [experiment.settings(condition) for condition in experiment.conditions()]
    count = PILOT_BLOCKS * len(settings)
    takes = "as long as its programs take"
    if all("duration_ms" in condition for condition in settings):
        simulated_s = _SIMULATION_S if simulated(experiment).operations else 0
        times = [
            ConditionTimes(
                condition["duration_ms"] / 1000 + simulated_s * ("events" in condition), PILOT_BLOCKS
            )
            for condition in settings
        ]
        takes = duration(time_left(times))
    shorter = ["--only FACTOR=LEVEL leaves conditions out"]
    if "duration_ms" in experiment.fixed:
        shorter.append("--set duration_ms=MS makes trials shorter")
    typer.echo(
        f"{why}. Nothing can be forecast without trials, so a pilot runs now: {PILOT_BLOCKS} blocks,"
        f" {count} trials, {takes}. Ctrl-C ends it. Shorter: {'; '.join(shorter)}.",
        err=True,
    )


def _of_decisions(
    experiment: "Experiment", forecast: "Forecast", slowest: "ComparisonForecast"
) -> Iterator[str]:
    """Yield how many comparisons the planned blocks will decide, and what the others take."""
    planned, every, decided = forecast.planned, forecast.comparisons, forecast.decided
    blocks = f"{'at most ' * bool(experiment.design.end)}{counted(planned, 'block')}"
    takes = _takes(planned * forecast.minutes_per_block)
    rest = [comparison for comparison in every if comparison.blocks and comparison not in decided]
    if len(decided) == len(every):
        yield (
            f"{agreed(every, 'The comparison', f'All of {len(every)} comparisons')} will probably be decided"
            f" after {_blocks(slowest)}. Planned: {blocks}, {takes}."
        )
        return
    others = ""
    if rest:
        count = "one" if len(rest) == 1 else str(len(rest))
        whose = f"the other {count}" if decided else f"{count} of them"
        others = f"; {whose} {'needs' if len(rest) == 1 else 'need'} {_blocks(slowest)}"
    start = "" if experiment.design.end else "the planned "
    yield (
        f"In {start}{blocks}, {takes}, {len(decided) or 'none'} of {counted(every, 'comparison')} will"
        f" probably be decided{others}."
    )
    rest.sort(key=lambda comparison: comparison.blocks or 0, reverse=True)
    for comparison in rest[:LISTED]:
        takes = _takes(comparison.minutes or 0)
        yield f"  {takes}: {_name(experiment, comparison)} ({ratio(comparison.ratio)})"
    if len(rest) > LISTED:
        yield f"  less: {len(rest) - LISTED} more, which --verbose shows"


def _choice(forecast: "Forecast", gates: "Sequence[GateForecast]") -> Iterator[str]:
    """Yield which gate fits the planned time, and which time other gates take."""
    if not gates:
        return
    fits = next((gate for gate in gates if gate.blocks <= forecast.planned), None)
    narrowest = f"{fits.gate_percent:g}%" if fits else f"above {gates[-1].gate_percent:g}%"
    takes = ", ".join(f"{gate.gate_percent:g}% {_takes(gate.minutes)}" for gate in gates)
    yield (
        f"The narrowest gate for the planned {counted(forecast.planned, 'block')}: {narrowest}."
        f" Time for a gate: {takes}."
        " By then code that is as fast as before has probably passed, and code that is slower by twice the"
        " gate has failed; what is nearer to the gate takes longer."
    )


def _of_widths(
    experiment: "Experiment", forecast: "Forecast", slowest: "ComparisonForecast"
) -> Iterator[str]:
    """Yield when every interval is narrow enough, and what the planned blocks give."""
    from assay.report.words import together

    yield (
        f"Intervals of {experiment.comparison.metric}, of {percent(forecast.confidence)}"
        f" {together(experiment.comparison.correction)}, are at most"
        f" {forecast.width_percent:g}% wide after {_blocks(slowest)}; slowest is"
        f" {_name(experiment, slowest)}."
    )
    comparisons = forecast.comparisons
    widths = [comparison.planned_width_percent for comparison in comparisons if comparison.blocks is not None]
    known = [width for width in widths if width is not None]
    gives = (
        f"intervals of up to {number(max(known), 3)}%"
        if len(known) == len(widths)
        else "too few pairs for an interval"
    )
    takes = _takes(forecast.planned * forecast.minutes_per_block)
    yield f"Its planned {counted(forecast.planned, 'block')}, {takes}: {gives}."


def _advice(experiment: "Experiment", forecast: "Forecast", trials: "Earlier") -> Iterator[str]:
    """Yield what cannot be forecast, what would help, and what the forecast rests on."""
    from assay.report import words

    comparisons = forecast.comparisons
    short = [comparison for comparison in comparisons if comparison.blocks is None]
    if short:
        names = [_name(experiment, comparison) for comparison in short]
        more = f"; and {len(names) - LISTED} more" if len(names) > LISTED else ""
        yield (
            f"No forecast for {len(short)} of {len(comparisons)} comparisons, with too few pairs that count:"
            f" {'; '.join(names[:LISTED])}{more}."
        )
    components = [comparison.components for comparison in comparisons if comparison.components]
    longer = [component.duration_ms for component in components if component.longer_pays]
    if longer:
        yield (
            f"Longer trials help {len(longer)} of {len(components)} comparisons more than more blocks: try"
            f" --set duration_ms={float(f'{max(longer):.2g}'):.0f}."
        )
    elif components:
        yield "More blocks help more than longer trials."
    rests = f"It rests on campaign{'s' * (len(trials) > 1)} {listed([*map(str, sorted(trials))])}."
    if forecast.until == "verdict":
        rests += f" Equivalent is what differs by less than {words.effect(experiment.comparison)}."
    elif forecast.until == "gate":
        rests += f" What is shown to be worse by more than {experiment.comparison.gate_percent:g}% fails."
    yield rests


def _print(experiment: "Experiment", forecast: "Forecast") -> None:
    """Print a table for each context."""
    widths = forecast.width_percent is not None
    for context, rows in groupby(forecast.comparisons, key=lambda comparison: comparison.context):
        typer.echo(f"\n{printable(condition_name(context))}")
        print_table(
            [
                experiment.comparison.factor,
                "pairs",
                "ratio",
                "scatter",
                "within",
                *([f"at {forecast.planned}"] if widths else []),
                "blocks",
                "time",
            ],
            [
                [
                    str(row.level),
                    row.pairs,
                    ratio(row.ratio),
                    _percent(row.scatter_percent),
                    _percent(100 * row.components.within_share if row.components else None),
                    *([_percent(row.planned_width_percent)] if widths else []),
                    _count(row.blocks),
                    "-" if row.minutes is None else _takes(row.minutes),
                ]
                for row in rows
            ],
        )


def _name(experiment: "Experiment", comparison: "ComparisonForecast") -> str:
    return condition_name({experiment.comparison.factor: comparison.level, **comparison.context})


def _blocks(comparison: "ComparisonForecast") -> str:
    """Return how long a comparison takes, in time and in blocks."""
    blocks = _count(comparison.blocks)
    return f"{_takes(comparison.minutes or 0)} ({blocks} {'block' if blocks == '1' else 'blocks'})"


def _count(blocks: int | None) -> str:
    if blocks is None:
        return "-"
    return f"{blocks:,}" if blocks < 1_000_000 else number(blocks, 3)


def _takes(minutes: float) -> str:
    return duration(60 * minutes)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{number(value, 3)}%"
