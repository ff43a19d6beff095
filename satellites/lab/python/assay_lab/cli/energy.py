"""`assay lab energy`: time and energy of a program at other frequencies and on other machines."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.invocation import invocation
from assay.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    QuietOption,
    StoreOption,
    folder_option,
    print_json,
    whole_option,
)
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.analysis.types import Interval
    from assay.experiment import Experiment
    from assay.store import StoreName
    from assay.store.types import StoredTrial
    from assay_lab.energy.machines import MachineModel
    from assay_lab.energy.measure import ProgramMeasurement
    from assay_lab.energy.place import Placement
    from assay_lab.energy.predict import Prediction

RUNS = 8
_MOST_PROGRAMS = 8


def energy(
    words: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM [ARGS]...", hidden=True)] = None,
    *,
    runs: Annotated[int, whole_option("Runs of the program, at each frequency.", 6, 1000)] = RUNS,
    machine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The simulated machine for what this one cannot do: xeon, snuc or server.",
        ),
    ] = "xeon",
    machines: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Which of the machines that a TOML file describes is best for it?"),
    ] = None,
    place: Annotated[
        bool,
        typer.Option(
            "--place",
            help="Each word is a program with its arguments: place them all on a machine of --machines.",
        ),
    ] = False,
    microbenchmarks: Annotated[
        bool,
        typer.Option("--microbenchmarks", help="Print how far the model is off for each microbenchmark."),
    ] = False,
    figures: Annotated[
        Path | None,
        folder_option(
            "--figures", text="With --microbenchmarks: draw energy, power, time and the model's error."
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict a program's time and energy at other frequencies.

    It is run at two frequencies. Where none can be set, valgrind counts what it waits for, and power is that
    of a simulated machine, which the first lines say. Options come before the program.

    Example: `assay lab energy sort -n numbers.txt`
    """
    from assay_lab.energy.measure import measure

    if microbenchmarks:
        if words:
            raise AssayError("assay lab energy: --microbenchmarks takes no program; leave it out")
        _print_errors(machine, as_json)
        if figures:
            from assay_lab.energy.figures import draw

            for file in draw(machine, figures):
                typer.echo(f"drawn: {file}", err=True)
        return
    if figures:
        raise AssayError("assay lab energy: --figures is of --microbenchmarks alone; give both")
    if not words:
        raise AssayError("assay lab energy: name the program to measure; see assay lab energy -h")
    if place and machines is None:
        raise AssayError("assay lab energy: --place needs machines to place programs on: --machines FILE")
    described = _described(machines)
    run = partial(_run_campaign, store, quiet=quiet)
    if not place:
        measured = [measure(words, runs, run)]
    else:
        if len(words) > _MOST_PROGRAMS:
            raise AssayError(f"assay lab energy: --place takes at most {_MOST_PROGRAMS} programs")
        measured = [measure(_split(word), runs, run) for word in words]
    if described:
        _print_places(measured, described, as_json)
    else:
        _print_prediction(measured[0], machine, as_json)


def _run_campaign(path: "StoreName", experiment: "Experiment", *, quiet: bool) -> "Sequence[StoredTrial]":
    from assay.cli.running import running_campaign

    with running_campaign(path, experiment, quiet=quiet) as (report, _):
        number = str(report.campaign.id)
        typer.echo(f"trials: {invocation('report', '--campaign', number, store=path)}", err=True)
        return report.trials


def _described(file: Path | None) -> "dict[str, MachineModel]":
    from assay_lab.energy.machines import load_machines

    return load_machines(file) if file else {}


def _split(word: str) -> list[str]:
    try:
        parts = shlex.split(word)
    except ValueError as error:
        raise AssayError(f"--place: {word!r}: {error}; quote it as in a shell") from error
    if not parts:
        raise AssayError("--place: a program is empty; write each with its arguments in quotes")
    return parts


def _both(value: float, interval: "Interval | None") -> dict[str, Any]:
    return {"median": value, "interval": interval and [interval.low, interval.high]}


def _of_program(measured: "ProgramMeasurement") -> dict[str, Any]:
    work = measured.work
    return {
        "command": list(measured.command),
        "measured": measured.how,
        "runs": len(measured.works),
        "gigacycles": work.gigacycles,
        "outside_s": work.outside_s,
        "memory_boundness_ns": work.memory_boundness,
        "cores": work.cores,
        "misses_overlap": measured.overlaps,
    }


def _print_measurement(measured: "ProgramMeasurement") -> None:
    from assay.words import in_unit

    work = measured.work
    typer.echo(f"{shlex.join(measured.command)}: {measured.how}.")
    typer.echo(
        f"  On the chip {work.gigacycles:.3g}G cycles, outside {in_unit(work.outside_s, 's')}: m ="
        f" {work.memory_boundness:.3g} ns for each cycle."
    )
    if measured.overlaps:
        typer.echo("  Its misses overlap: it waits for several at once, and for less than this says.")


def _print_prediction(measured: "ProgramMeasurement", machine: str, as_json: bool) -> None:
    from assay_lab.energy.native import simulated
    from assay_lab.energy.predict import predict

    prediction = predict(measured, None if measured.watts else simulated(machine))
    if as_json:
        print_json(
            {
                "program": _of_program(measured),
                "power": prediction.power,
                "frequencies": [
                    {
                        "gigahertz": row.gigahertz,
                        "seconds": _both(*row.seconds),
                        "joules": _both(*row.joules),
                        "ed": row.costs["ED"],
                        "ed2": row.costs["ED^2"],
                        "best": list(row.best),
                    }
                    for row in prediction.rows
                ],
            }
        )
        return
    best = {name: row.gigahertz for row in prediction.rows for name in row.best}
    typer.echo(f"Best: {', '.join(f'{name} at {at:g} GHz' for name, at in sorted(best.items()))}.")
    typer.echo(f"Power is {prediction.power}.")
    if not measured.frequencies:
        typer.echo(
            "No frequency can be set here: times are predicted from cache misses, not measured at two."
        )
    _print_measurement(measured)
    _print_rows(prediction)


def _print_rows(prediction: "Prediction") -> None:
    from assay.cli.options import print_table
    from assay.words import in_unit, number

    def with_interval(value: float, interval: "Interval | None", unit: str) -> str:
        shown = in_unit(value, unit)
        if interval is None:
            return shown
        return f"{shown} ({in_unit(interval.low, unit)} to {in_unit(interval.high, unit)})"

    print_table(
        ("GHz", "time", "energy", "ED", "ED^2", "best for"),
        [
            (
                f"{row.gigahertz:g}",
                with_interval(*row.seconds, "s"),
                with_interval(*row.joules, "J"),
                number(row.costs["ED"], 3),
                number(row.costs["ED^2"], 3),
                ", ".join(row.best),
            )
            for row in prediction.rows
        ],
    )


def _print_places(
    measured: "list[ProgramMeasurement]", described: "dict[str, MachineModel]", as_json: bool
) -> None:
    from assay.cli.options import print_table
    from assay.words import in_unit, number
    from assay_lab.energy.place import on, placements
    from assay_lab.energy.predict import EXPONENTS

    ways = {
        name: placements([on(each.work, machine, each.memory_ns) for each in measured], machine, name)
        for name, machine in described.items()
    }
    best = {
        goal: sorted(
            ((name, min(found, key=lambda each: each.cost(exponent))) for name, found in ways.items()),
            key=lambda pair: pair[1].cost(exponent),
        )
        for goal, exponent in EXPONENTS.items()
    }
    if as_json:
        print_json(
            {
                "programs": [_of_program(each) for each in measured],
                "goals": {
                    goal: [
                        {
                            "machine": name,
                            "domains": list(placed.domains),
                            "gigahertz": list(placed.gigahertz),
                            "seconds": placed.seconds,
                            "joules": placed.joules,
                            "cost": placed.cost(EXPONENTS[goal]),
                        }
                        for name, placed in pairs
                    ]
                    for goal, pairs in best.items()
                },
            }
        )
        return
    for goal, [(name, placed), *_] in best.items():
        typer.echo(f"Best {goal}: {name}, {_words(placed, measured)}.")
    typer.echo("Predicted from descriptions: neither the machines nor the programs together were measured.")
    for each in measured:
        _print_measurement(each)
    print_table(
        ("goal", "machine", "time", "energy", "cost", "how"),
        [
            (
                goal,
                name,
                in_unit(placed.seconds, "s"),
                in_unit(placed.joules, "J"),
                number(placed.cost(EXPONENTS[goal]), 3),
                _words(placed, measured),
            )
            for goal, pairs in best.items()
            for name, placed in pairs
        ],
    )


def _words(placed: "Placement", measured: "list[ProgramMeasurement]") -> str:
    if len(measured) == 1:
        return f"at {placed.gigahertz[0]:g} GHz"
    if not placed.domains:
        return f"one after another at {placed.gigahertz[0]:g} GHz"
    names = [Path(each.command[0]).name for each in measured]
    return "; ".join(
        f"{' + '.join(name for name, of in zip(names, placed.domains, strict=True) if of == domain)}"
        f" at {gigahertz:g} GHz"
        for domain, gigahertz in enumerate(placed.gigahertz)
    )


def _print_errors(machine: str, as_json: bool) -> None:
    from assay.cli.options import print_table
    from assay_lab.energy.microbenchmarks import errors_of

    found = errors_of(machine)
    if as_json:
        print_json(
            {
                "source": found.source,
                "mean_error": found.mean,
                "missing": list(found.missing),
                "microbenchmarks": [
                    {
                        "name": each.name,
                        "memory_boundness_ns": each.m,
                        "mean_error": each.mean,
                        "largest": each.largest,
                    }
                    for each in found.each
                ],
            }
        )
        return
    typer.echo(f"Predicted times are off by {found.mean:.2%} on average; at most 1.9% in Bonnichsen (2016).")
    typer.echo(f"{found.source}.")
    for why in found.missing:
        typer.echo(f"Left out: {why}.")
    print_table(
        ("microbenchmark", "m, ns", "mean error", "largest"),
        [
            (each.name, f"{each.m:.3g}" if each.m > 1e-9 else "0", f"{each.mean:.2%}", f"{each.largest:.2%}")
            for each in found.each
        ],
    )
