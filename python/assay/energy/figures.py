"""Figures 2.1 and 2.2 of Bonnichsen (2016): power by instruction, threads and frequency.

Measured where this machine has energy counters that this user may read; else of a simulated machine, as the
titles say.
"""

import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt

from assay import programs
from assay.energy.frequencies import held, joules_between, joules_so_far, offered
from assay.energy.microbenchmarks import PROGRAM, simulated_runs
from assay.energy.native import simulated
from assay.errors import AssayError
from assay.host.journal import journal_folder
from assay.host.system import System, root_script
from assay.report.charts import Figure, Specification
from assay.report.figures import write_figure

INSTRUCTIONS = ("nops", "vector_xor", "vector_multiply")
_SECONDS = 1.0
Row = dict[str, Any]


def draw(machine: str, folder: Path, system: System | None = None) -> list[Path]:
    """Draw both figures as SVG, and return their files.

    Args:
        machine: the simulated one, for what this one does not tell.
        folder: where they go.
        system: this machine.

    Raises:
        AssayError: the folder cannot be written, a program is missing or fails.
    """
    system = system or System()
    can_set = bool(offered(system)) and root_script() is not None
    if joules_so_far(system):
        rows, source = _measured(system, can_set), "measured on this machine"
    else:
        rows, source = simulated_rows(machine), f"simulated machine {machine}, not measured"
    fixed = max(row["gigahertz"] for row in rows)
    at_fixed = [row for row in rows if row["gigahertz"] == fixed]
    at = f" at {fixed:g} GHz" if fixed else ""
    # Power at one frequency has no second picture.
    figures = [
        ("power-by-threads", f"Power by instruction and threads{at} ({source})", at_fixed, _by_threads),
        (
            "power-by-frequency",
            f"Power by instruction, threads and frequency ({source})",
            rows,
            _by_frequency,
        ),
    ]
    return [
        write_figure(
            specification(), Figure(name, title, drawn, "", partial(specification), name=name), "svg", folder
        )
        for name, title, drawn, specification in figures
        if drawn is not rows or len(rows) > len(at_fixed)
    ]


def simulated_rows(machine: str) -> list[Row]:
    """Return the power of each instruction with 1, 2, 4, ... threads, of a simulated machine."""
    simulation = simulated(machine)
    return [
        {"instruction": name, "threads": threads, "gigahertz": gigahertz, "watts": joules / seconds}
        for name in INSTRUCTIONS
        for threads in _doubles(simulation.processors)
        for gigahertz, (seconds, joules) in zip(
            simulation.frequencies,
            simulated_runs(simulation, name, threads, simulation.frequencies),
            strict=True,
        )
    ]


def _doubles(most: int) -> list[int]:
    return [1 << power for power in range(most.bit_length())]


def _measured(system: System, can_set: bool) -> list[Row]:
    processors = len(system.read_all("/sys/devices/system/cpu/cpu[0-9]*/topology/core_id"))
    rows: list[Row] = []
    for gigahertz in offered(system) if can_set else (0.0,):  # 0: as it is
        if gigahertz:
            with held(system, journal_folder(), gigahertz):
                rows += _powers(system, processors, gigahertz)
        else:
            rows += _powers(system, processors, gigahertz)
    return rows


def _powers(system: System, processors: int, gigahertz: float) -> list[Row]:
    program = str(programs.find(PROGRAM))
    rows: list[Row] = []
    for name in INSTRUCTIONS:
        for threads in _doubles(max(processors, 1)):
            words: Sequence[str] = (program, name, "--seconds", str(_SECONDS), "--threads", str(threads))
            before = joules_so_far(system)
            ended = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
            joules = joules_between(before, joules_so_far(system))
            if ended.returncode != 0 or joules is None:
                why = ended.stderr.strip().removeprefix("error: ") or "its energy counters vanished"
                raise AssayError(f"{PROGRAM} {name}: {why}")
            watts = joules / _SECONDS
            rows.append({"instruction": name, "threads": threads, "gigahertz": gigahertz, "watts": watts})
    return rows


def _by_threads() -> Specification:
    chart = (
        alt.Chart(alt.NamedData("rows"), width=360, height=240)
        .mark_line(point=True)
        .encode(
            x=alt.X("threads:O", title="threads"),
            y=alt.Y("watts:Q", title="watts of the processor"),
            color=alt.Color("instruction:N", title=None, sort=list(INSTRUCTIONS)),
        )
    )
    return dict(chart.to_dict())


def _by_frequency() -> Specification:
    chart = (
        alt.Chart(alt.NamedData("rows"), width=170, height=200)
        .mark_line(point=True)
        .encode(
            x=alt.X("gigahertz:Q", title="GHz", scale=alt.Scale(zero=False)),
            y=alt.Y("watts:Q", title="watts of the processor"),
            color=alt.Color("instruction:N", title=None, sort=list(INSTRUCTIONS)),
            column=alt.Column("threads:O", title="threads"),
        )
    )
    return dict(chart.to_dict())
