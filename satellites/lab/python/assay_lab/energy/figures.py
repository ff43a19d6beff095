"""Figures 2.1, 2.2 and 3.1 to 3.4 of Bonnichsen (2016): power by instruction, threads and frequency; energy,
power, throughput and the model's error of a program that computes and one that waits for memory.

Measured where this machine has energy counters that this user may read; else of a simulated machine, as the
titles say.
"""

import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from assay import programs
from assay.errors import AssayError
from assay.host.joules import joules_between, joules_so_far
from assay.host.journal import journal_folder
from assay.host.system import System, root_script
from assay.report.charts import Figure, Specification, alt
from assay.report.figures import write_figure
from assay_lab.energy.frequencies import held, offered
from assay_lab.energy.measure import two_of
from assay_lab.energy.microbenchmarks import PROGRAM, prediction_errors, simulated_runs, timed
from assay_lab.energy.native import simulated

INSTRUCTIONS = ("nops", "vector_xor", "vector_multiply")
WORKLOADS = {"volatile_counter": "computes", "dependent_reads": "waits"}
"""The two of listing 3.2 -> what is written beside their lines."""
_SECONDS = 1.0
Row = dict[str, Any]


def draw(machine: str, folder: Path, system: System | None = None) -> list[Path]:
    """Draw the figures as SVG, and return their files.

    Args:
        machine: the simulated one, for what this one does not tell.
        folder: where they go.
        system: this machine.

    Raises:
        AssayError: the folder cannot be written, a program is missing or fails.
    """
    system = system or System()
    if joules_so_far(system):
        can_set = bool(offered(system)) and root_script() is not None
        rows, lacking = _measured(system, can_set)
        without = f" without {', '.join(sorted(lacking))}" if lacking else ""
        source = f"measured on this machine{without}"
    else:
        rows, source = simulated_rows(machine), f"simulated machine {machine}, not measured"
    fixed = max(row["gigahertz"] for row in rows)
    at = f" at {fixed:g} GHz" if fixed else ""
    powers = [row for row in rows if row["name"] in INSTRUCTIONS]
    figures = [
        (
            "power-by-threads",
            f"Power by instruction and threads{at}",
            [row for row in powers if row["gigahertz"] == fixed],
            _by_threads,
        )
    ]
    # What has one frequency says nothing by frequency.
    if fixed:
        relative = relative_to_highest([row for row in rows if row["name"] in WORKLOADS])
        figures += [
            ("power-by-frequency", "Power by instruction, threads and frequency", powers, _by_frequency),
            ("energy-by-frequency", "Energy of two workloads", relative, _energies),
            ("energy-of-best", "Energy at the frequency that is best for each", best(relative), _bests),
            ("power-and-throughput", "Power and throughput of two workloads", relative, _powers_and_rates),
            ("prediction-error", _error_title(relative), relative, _errors),
        ]
    return [
        write_figure(
            specification(),
            Figure(name, f"{title} ({source})", drawn, "", partial(specification), name=name),
            "svg",
            folder,
        )
        for name, title, drawn, specification in figures
    ]


def simulated_rows(machine: str) -> list[Row]:
    """Return time and power of all that is drawn, of a simulated machine."""
    simulation = simulated(machine)
    return [
        {"name": name, "threads": threads, "gigahertz": gigahertz, "time": seconds, "watts": joules / seconds}
        for name, threads in _drawn(simulation.processors)
        for gigahertz, (seconds, joules) in zip(
            simulation.frequencies,
            simulated_runs(simulation, name, threads, simulation.frequencies),
            strict=True,
        )
    ]


def relative_to_highest(rows: Sequence[Row]) -> list[Row]:
    """Return energy, power and throughput relative to those at the highest frequency, and the model's error.

    The error is none at the two frequencies that it is predicted from.
    """
    found: list[Row] = []
    for name, what in WORKLOADS.items():
        ours = [row for row in rows if row["name"] == name]
        top = max(ours, key=lambda row: row["gigahertz"])
        times = {row["gigahertz"]: row["time"] for row in ours}
        one, other = two_of(sorted(times))
        _, off = prediction_errors(times, one, other)
        found += [
            {
                "workload": what,
                "gigahertz": row["gigahertz"],
                "energy": row["watts"] * row["time"] / (top["watts"] * top["time"]),
                "power": row["watts"] / top["watts"],
                "throughput": top["time"] / row["time"],
                "off": 100 * off[row["gigahertz"]] if row["gigahertz"] in off else None,
                "predicted_from": f"{one:g} and {other:g} GHz",
            }
            for row in ours
        ]
    return found


def best(relative: Sequence[Row]) -> list[Row]:
    """Return the rows at f_lo, f_hi (where each workload takes least energy) and the highest frequency."""
    cheapest = {
        what: min((row for row in relative if row["workload"] == what), key=lambda row: row["energy"])
        for what in WORKLOADS.values()
    }
    highest = max(row["gigahertz"] for row in relative)
    labels: dict[float, list[str]] = {}
    for label, row in zip(("f_hi", "f_lo"), cheapest.values(), strict=True):
        labels.setdefault(row["gigahertz"], []).append(label)
    labels.setdefault(highest, []).append("highest")
    return [
        row | {"frequency": f"{', '.join(labels[gigahertz])}: {gigahertz:g} GHz"}
        for gigahertz in sorted(labels)
        for row in relative
        if row["gigahertz"] == gigahertz
    ]


def _error_title(relative: Sequence[Row]) -> str:
    return f"Predicted time beside the real one, from {relative[0]['predicted_from']}"


def _drawn(processors: int) -> list[tuple[str, int]]:
    doubles = [1 << power for power in range(max(processors, 1).bit_length())]
    return [*product(INSTRUCTIONS, doubles), *((name, 1) for name in WORKLOADS)]


def _measured(system: System, can_set: bool) -> tuple[list[Row], set[str]]:
    """Return what was measured, and the names of instructions that could not be."""
    processors = len(system.read_all("/sys/devices/system/cpu/cpu[0-9]*/topology/core_id"))
    rows: list[Row] = []
    for gigahertz in offered(system) if can_set else (0.0,):  # 0: as it is
        if gigahertz:
            with held(system, journal_folder(), gigahertz):
                rows += _ran(system, processors, gigahertz)
        else:
            rows += _ran(system, processors, gigahertz)
    lacking = set(INSTRUCTIONS) - {row["name"] for row in rows}
    if len(lacking) == len(INSTRUCTIONS):
        raise AssayError(f"{PROGRAM}: none of {', '.join(INSTRUCTIONS)} can be measured on this processor")
    return rows, lacking


def _ran(system: System, processors: int, gigahertz: float) -> list[Row]:
    program = str(programs.find(PROGRAM))
    rows: list[Row] = []
    for name, threads in _drawn(processors):
        before, began = joules_so_far(system), time.monotonic()
        try:
            took = timed(program, name, _SECONDS, threads)
        except AssayError:
            if name in WORKLOADS:
                raise
            continue  # the titles say so
        elapsed = time.monotonic() - began
        joules = joules_between(before, joules_so_far(system))
        if joules is None:
            raise AssayError(f"{PROGRAM} {name}: the energy counters vanished while it ran; try again")
        watts = joules / elapsed
        rows.append({"name": name, "threads": threads, "gigahertz": gigahertz, "time": took, "watts": watts})
    return rows


def _frequencies() -> alt.X:
    return alt.X("gigahertz:Q", title="GHz", scale=alt.Scale(zero=False))


def _by_threads() -> Specification:
    chart = (
        alt.Chart(alt.NamedData("rows"), width=360, height=240)
        .mark_line(point=True)
        .encode(
            x=alt.X("threads:O", title="threads"),
            y=alt.Y("watts:Q", title="watts of the processor"),
            color=alt.Color("name:N", title=None, sort=list(INSTRUCTIONS)),
        )
    )
    return dict(chart.to_dict())


def _by_frequency() -> Specification:
    chart = (
        alt.Chart(alt.NamedData("rows"), width=170, height=200)
        .mark_line(point=True)
        .encode(
            x=_frequencies(),
            y=alt.Y("watts:Q", title="watts of the processor"),
            color=alt.Color("name:N", title=None, sort=list(INSTRUCTIONS)),
            column=alt.Column("threads:O", title="threads"),
        )
    )
    return dict(chart.to_dict())


def _by_workload(y: str, title: str) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(alt.NamedData("rows"), width=320, height=240)
        .mark_line(point=True)
        .encode(
            x=_frequencies(),
            y=alt.Y(f"{y}:Q", title=title),
            color=alt.Color("workload:N", title=None, sort=list(WORKLOADS.values())),
        )
    )
    return chart


def _energies() -> Specification:
    return dict(_by_workload("energy", "energy, highest frequency = 1").to_dict())


def _bests() -> Specification:
    chart = (
        alt.Chart(alt.NamedData("rows"), width=320, height=alt.Step(14))
        .mark_bar()
        .encode(
            x=alt.X("energy:Q", title="energy, highest frequency = 1"),
            y=alt.Y("frequency:N", title=None, sort=None),
            yOffset=alt.YOffset("workload:N", sort=list(WORKLOADS.values())),
            color=alt.Color("workload:N", title=None, sort=list(WORKLOADS.values())),
        )
    )
    return dict(chart.to_dict())


def _powers_and_rates() -> Specification:
    both = _by_workload("share", "highest frequency = 1").transform_fold(
        ["power", "throughput"], as_=["quantity", "share"]
    )
    return dict(both.encode(column=alt.Column("quantity:N", title=None)).to_dict())


def _errors() -> Specification:
    chart = _by_workload("off", "predicted - real, percent").transform_filter("isValid(datum.off)")
    # The paper's largest is 1.9; smaller ones are not to look large.
    chart.encoding.y.scale = alt.Scale(domain={"unionWith": [-2, 2]})
    return dict(chart.to_dict())
