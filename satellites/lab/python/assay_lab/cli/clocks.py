"""`assay host clocks`: what the clocks of this machine are good for."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.invocation import invocation
from assay.cli.options import JsonOption, print_json
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay_lab.clocks import Clock

_UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def clocks(
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="Recommend a clock for this: 250ns, 1us, 2ms."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the clocks of this machine, and recommend one.

    Of each: what a reading costs, its true step, whether it goes back, how two processors agree, and the
    shortest duration that it times to about 1%. It takes less than a second on a quiet machine.

    Example: `assay host clocks --for 250ns`
    """
    from assay.words import in_unit
    from assay_lab.clocks import DEFAULT, measure, recommend

    duration_ns = None if duration is None else _nanoseconds(duration)
    found, counter = measure()
    recommended = None if duration_ns is None else recommend(found, duration_ns)
    if as_json:
        print_json(
            {
                "clocks": [asdict(clock) | {"shortest_ns": clock.shortest_ns} for clock in found],
                "time_stamp_counter": counter,
                "recommended": recommended and asdict(recommended),
            }
        )
        return
    if recommended:
        batch = f", {recommended.batch:,} of it together" if recommended.batch > 1 else ""
        typer.echo(f"For {duration}: {recommended.clock}{batch}: {recommended.why}.")
    else:
        steady = next(clock for clock in found if clock.name == DEFAULT)
        recommend(found, steady.shortest_ns or 1)  # which refuses a clock that is not usable
        typer.echo(
            f"Use {DEFAULT}: it times {in_unit(steady.shortest_ns or 0, 'ns')} and longer to about 1%."
            f" For what is shorter: {invocation('host', 'clocks', '--for', '250ns')}"
        )
    _print(found)


def _nanoseconds(text: str) -> float:
    number = text.rstrip("nuµmsμ")
    unit = text.removeprefix(number).replace("μ", "µ")
    try:
        ns = float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        ns = 0.0
    if not 0 < ns < float("inf"):
        raise AssayError(
            f"--for: {text!r} is not a duration; write a number and a unit, such as 250ns or 2ms"
        )
    return ns


def _print(found: "list[Clock]") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from assay.words import in_unit

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("clock", no_wrap=True)
    for column in ("reading", "step", "1% from"):
        table.add_column(column, justify="right")
    table.add_column("processors")
    for clock in found:
        times = (clock.cost_ns, clock.resolution_ns, clock.shortest_ns)
        shown = ("-" if time is None else in_unit(time, "ns") for time in times)
        table.add_row(clock.name, *shown, clock.unusable_because or _agreement(clock))
    Console().print(table)


def _agreement(clock: "Clock") -> str:
    """Return how the clocks of processors agree, in a few words."""
    if clock.measures != "time":
        return clock.measures
    if not clock.agreements:
        return "not compared"  # there is one, or they were busy
    widest = max(max(map(abs, pair["offset_ns"])) for pair in clock.agreements)
    return f"agree within {widest:.0f} ns"
