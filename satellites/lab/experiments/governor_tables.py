#!/usr/bin/env python3
"""Table 3.2 and figures 3.5, 3.6 and 3.7 of Bonnichsen (2016), of a SIMULATED machine.

    build/release/bin/assay-governor-simulation evaluate > evaluation.json
    build/release/bin/assay-governor-simulation sensitivity > sensitivity.json
    .../governor_tables.py evaluation.json [--sensitivity sensitivity.json] [--figures FOLDER]

Prints Markdown. The paper's numbers in brackets, in figures in red; they are of the xeon and its 54 workloads
alone. Medians are over seeds; means over workloads geometric.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from textwrap import wrap
from typing import Any, TypeAlias

import altair as alt

PAPER = {  # D, P, E, ED and ED^2 of table 3.2, percent of 4 GHz
    "Adapt E": (162.5, 36.0, 58.5, 95.2, 154.8),
    "Adapt ED": (114.0, 64.4, 73.4, 83.6, 95.3),
    "Adapt ED2": (107.6, 77.4, 83.3, 89.7, 96.5),
    "static-1400": (230.0, 25.9, 59.7, 137.4, 316.3),
    "static-1600": (203.0, 28.7, 58.4, 118.5, 240.5),
    "static-1800": (183.4, 31.8, 58.4, 107.1, 196.5),
    "static-2000": (170.0, 35.1, 59.7, 101.4, 172.3),
    "static-2200": (155.1, 38.4, 59.6, 92.5, 143.5),
    "static-2400": (147.5, 42.8, 63.1, 93.2, 137.5),
    "static-2600": (136.0, 48.1, 65.4, 88.9, 121.0),
    "static-2800": (129.0, 52.5, 67.7, 87.4, 112.7),
    "static-3000": (121.1, 57.1, 69.2, 83.8, 101.5),
    "static-3200": (115.6, 62.1, 71.8, 83.0, 96.0),
    "static-3400": (110.3, 68.9, 76.1, 83.9, 92.6),
    "static-3600": (105.7, 76.6, 81.0, 85.7, 90.6),
    "static-4000": (100.0, 100.0, 100.0, 100.0, 100.0),
}
PAPER |= {f"listing {goal}": PAPER[f"Adapt {goal}"] for goal in ("E", "ED", "ED2")}
PAPER_BEST: dict[tuple[str, str], tuple[str, dict[str, int]]] = {
    # Section 3.2.2: most often best, and of how many workloads others are; figure 3.6 has no numbers.
    ("E", "sequential"): ("static-2200", {"static-2400": 1}),  # 401.bzip2
    ("E", "parallel"): ("static-1600", {"static-1400": 6}),
    ("ED", "sequential"): ("static-3200", {}),
    ("ED", "parallel"): ("static-3200", {}),
    ("ED2", "sequential"): ("static-3600", {}),
    ("ED2", "parallel"): ("static-3600", {}),
}
BASELINE = "static-4000"
AGAINST = "static-3600"
"""What figure 3.7 compares with."""
_LINE = 64
"""Characters below a figure's title: as wide as the narrowest figure."""
EXPONENTS = (0, 1, 2)
PRODUCTS = ("E", "ED", "ED2")
Run: TypeAlias = Sequence[tuple[float, float]]
"""Joules and seconds, for each seed."""
Runs: TypeAlias = Mapping[tuple[str, str], Run]
"""By workload and setting: a governor, with the exponent where it has one."""


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def setting(result: Mapping[str, Any]) -> str:
    """Name a governor with what it minimises."""
    governor = str(result["governor"])
    weighs = governor.startswith(("oracle", "listing", "adaptive"))
    return f"{governor} {PRODUCTS[int(result['exponent'])]}" if weighs else governor


def product(run: Run, exponent: int, of_joules: int = 1) -> float:
    """Return the median of joules times seconds to the exponent."""
    return median(joules**of_joules * seconds**exponent for joules, seconds in run)


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def kind(suite: str) -> str:
    """Return whether programs of a suite have one thread; of drawn ones each has its own number."""
    return {"SPEC2006": "sequential", "drawn": "drawn"}.get(suite, "parallel")


def gigahertz(static: str) -> str:
    """Return a static frequency in words."""
    return f"{int(static.removeprefix('static-')) / 1000:g} GHz"


def table(runs: Runs, workloads: Sequence[str], settings: Sequence[str], *, of_paper: bool) -> None:
    """Print table 3.2, with the paper's numbers where they are of the same machine and workloads."""
    print(row(["SIMULATED, percent of 4 GHz", "D", "P", "E", "ED", "ED2"]))
    print(row(["---"] * 6))
    for name in settings:
        means = []
        for joules, seconds in ((0, 1), (1, -1), (1, 0), (1, 1), (1, 2)):
            values = (
                product(runs[w, name], seconds, joules) / product(runs[w, BASELINE], seconds, joules)
                for w in workloads
            )
            means.append(100 * mean(values))
        theirs = PAPER.get(name) if of_paper else None
        cells = [f"{m:.1f}" + (f" ({theirs[i]:.1f})" if theirs else "") for i, m in enumerate(means)]
        print(row([name, *cells]))


def judged(runs: Runs, workloads: Sequence[str], settings: Sequence[str]) -> None:
    """Print what each governor comes to beside the best static frequency and the oracle."""
    print("\n" + row(["SIMULATED", "for", "of best static", "worst workload", "median over oracle"]))
    print(row(["---"] * 5))
    static = [name for name in settings if name.startswith("static")]
    for exponent, name in zip(EXPONENTS, PRODUCTS, strict=True):
        cost = {key: product(run, exponent) for key, run in runs.items()}
        best = min(static, key=lambda one: mean(cost[w, one] for w in workloads))
        for one in settings:
            if one.startswith("static") or (" " in one and not one.endswith(f" {name}")):
                continue
            ratios = {w: cost[w, one] / cost[w, best] for w in workloads}
            worst = max(ratios, key=lambda w: ratios[w])
            oracle = f"oracle {name}"
            over = median(cost[w, one] / cost[w, oracle] for w in workloads) if oracle in settings else None
            print(
                row(
                    [
                        one.split()[0],
                        f"{name} ({best})",
                        f"{mean(ratios.values()):.3f}",
                        f"{ratios[worst]:.3f} {worst}",
                        "" if over is None else f"{over:.3f}",
                    ]
                )
            )


def sensitivity(file: Path) -> None:
    """Print how much the mean cost rises with models that are wrong by a factor."""
    results = json.loads(file.read_text())["results"]
    cost: dict[tuple[str, float, int], list[float]] = {}
    for one in results:
        exponent = int(one["exponent"])
        run = list(zip(one["joules"], one["seconds"], strict=True))
        key = (one["mistaken"], one["factor"], exponent)
        cost.setdefault(key, []).append(product(run, exponent))
    factors = sorted({factor for _, factor, _ in cost})
    print("\n" + row(["SIMULATED, wrong", "for", *(f"x {factor:g}" for factor in factors)]))
    print(row(["---"] * (2 + len(factors))))
    for what in ("power", "memory_boundness", "overlap"):
        for exponent, name in zip(EXPONENTS, PRODUCTS, strict=True):
            right = mean(cost[what, 1.0, exponent])
            rises = [f"{100 * (mean(cost[what, factor, exponent]) / right - 1):+.2f}%" for factor in factors]
            print(row([what.replace("_", "-"), name, *rises]))


def points(values: Sequence[Mapping[str, Any]], x: Any, y: Any, *, of_paper: bool = False) -> alt.Chart:
    """Return means: ours filled and black, the paper's hollow and red, so that both can be seen."""
    theirs: dict[str, Any] = {"shape": "diamond", "size": 110, "filled": False, "color": "red"}
    ours: dict[str, Any] = {"size": 60, "filled": True, "color": "black"}
    data = alt.InlineData(values=list(values))
    marked: alt.Chart = alt.Chart(data).mark_point(**(theirs if of_paper else ours))
    return marked.encode(x=x, y=y)


def figures(
    runs: Runs,
    workloads: Mapping[str, str],
    settings: Sequence[str],
    folder: Path,
    *,
    machine: str = "xeon",
    of_paper: bool,
) -> None:
    """Draw figures 3.5, 3.6 and 3.7 as SVG, beside the paper's numbers where it gives any.

    Costs are beside those at 4 GHz and 3.6 GHz, as in the paper; at the highest frequency where a machine, or
    an evaluation of some governors, has not these.
    """
    static = sorted((s for s in settings if s.startswith("static-")), key=lambda s: int(s.split("-")[1]))
    weighing = [f"{governor} {p}" for governor in ("listing", "adaptive") for p in PRODUCTS]
    shown = [*(s for s in weighing if s in settings), *static]
    base = BASELINE if BASELINE in static else static[-1]
    against = AGAINST if AGAINST in static else static[-1]
    charts = {
        "3-5": costs(runs, workloads, shown, base, of_paper=of_paper and base == BASELINE),
        "3-6": best(runs, workloads, static, of_paper=of_paper),
        "3-7": spread(runs, workloads, static, against, of_paper=of_paper and against == AGAINST),
    }
    for number, (chart, title, notes) in charts.items():
        name = f"Figure {number.replace('-', '.')}, simulated {machine}: {title}"
        said = wrap(" ".join(notes), _LINE)
        chart.properties(title=alt.TitleParams(name, subtitle=said, anchor="start")).save(
            folder / f"figure-{number}.svg"
        )


Drawn: TypeAlias = tuple[Any, str, list[str]]
"""A chart, its title and what else is to be said."""


def costs(
    runs: Runs, workloads: Mapping[str, str], shown: Sequence[str], base: str, *, of_paper: bool
) -> Drawn:
    """Return figure 3.5: costs of settings beside those at a frequency."""
    x = alt.X("setting:N", sort=list(shown), title=None)
    y = alt.Y("relative:Q", title=f"cost / at {gigahertz(base)}", scale=alt.Scale(type="log", nice=False))
    panels = []
    for exponent, goal in zip(EXPONENTS, PRODUCTS, strict=True):
        relative = {
            (s, w): product(runs[w, s], exponent) / product(runs[w, base], exponent)
            for s in shown
            for w in workloads
        }
        dots = [{"setting": s, "relative": each} for (s, _), each in relative.items()]
        means = [{"setting": s, "relative": mean(relative[s, w] for w in workloads)} for s in shown]
        theirs = [
            {"setting": s, "relative": PAPER[s][2 + exponent] / 100} for s in shown if of_paper and s in PAPER
        ]
        layers = [
            alt.Chart(alt.InlineData(values=dots)).mark_circle(size=8, opacity=0.5).encode(x=x, y=y),
            points(means, x, y),
            *([points(theirs, x, y, of_paper=True)] if theirs else []),
        ]
        panels.append(alt.layer(*layers).properties(title=goal, width=420, height=180))
    notes = ["Dots: workloads. Black: their means."]
    if of_paper:
        without = [s for s in shown if s not in PAPER]
        none = f"none of {', '.join(without)}, and " if without else ""
        notes[0] += " Red: the paper's means (table 3.2; its own governor is listing)."
        notes.append(f"The paper has {none}no numbers of single workloads.")
    else:
        notes.append("The paper has no numbers of this.")
    return alt.vconcat(*panels), "cost of each setting", notes


def best(runs: Runs, workloads: Mapping[str, str], static: Sequence[str], *, of_paper: bool) -> Drawn:
    """Return figure 3.6: how many workloads have each static frequency as their best one."""
    megahertz = alt.Axis(labelExpr="replace(datum.label, 'static-', '')")
    x = alt.X(
        "setting:N", sort=list(static), title="MHz", axis=megahertz, scale=alt.Scale(domain=list(static))
    )
    y = alt.Y("workloads:Q")
    kinds = list(dict.fromkeys(kind(suite) for suite in workloads.values()))
    rows = []
    for exponent, goal in zip(EXPONENTS, PRODUCTS, strict=True):
        panels = []
        for of in kinds:
            mine = [w for w, suite in workloads.items() if kind(suite) == of]
            counts = Counter(min(static, key=lambda s: product(runs[w, s], exponent)) for w in mine)
            bars = [{"setting": s, "workloads": counts[s]} for s in static]
            layers = [alt.Chart(alt.InlineData(values=bars)).mark_bar().encode(x=x, y=y)]
            if of_paper:
                most, known = PAPER_BEST[goal, of]
                lines = alt.InlineData(values=[{"setting": most}] if most in static else [])
                layers.append(alt.Chart(lines).mark_rule(color="red", strokeDash=[4, 3]).encode(x=x))
                theirs = [{"setting": s, "workloads": n} for s, n in known.items() if s in static]
                layers.append(points(theirs, x, y, of_paper=True))
            panels.append(alt.layer(*layers).properties(title=f"{goal}, {of}", width=300, height=110))
        rows.append(alt.hconcat(*panels))
    notes = ["The paper has no numbers of this."]
    if of_paper:
        notes = [
            "Red line: the frequency that is best most often in the paper; diamonds: the two counts that its",
            "text gives (section 3.2.2). The paper has no numbers of the other bars.",
        ]
    return alt.vconcat(*rows), "workloads by their best static frequency", notes


def spread(
    runs: Runs, workloads: Mapping[str, str], static: Sequence[str], against: str, *, of_paper: bool
) -> Drawn:
    """Return figure 3.7: power and time beside those at a frequency."""
    dots: list[dict[str, Any]] = [
        {
            "setting": s,
            "kind": kind(suite),
            "time": product(runs[w, s], 1, 0) / product(runs[w, against], 1, 0),
            "power": product(runs[w, s], -1) / product(runs[w, against], -1),
        }
        for s in static
        for w, suite in workloads.items()
    ]
    means = [
        {what: mean(dot[what] for dot in dots if dot["setting"] == s) for what in ("time", "power")}
        for s in static
    ]
    x = alt.X("time:Q", title=f"time / at {gigahertz(against)}")
    y = alt.Y("power:Q", title=f"power / at {gigahertz(against)}")
    small = alt.Chart(alt.InlineData(values=dots)).mark_circle(size=12).encode(x=x, y=y, color="kind:N")
    layers = [small, points(means, x, y)]
    notes = ["Dots: workloads. Black: their means at each static frequency."]
    if of_paper:
        times, powers = (
            {s: PAPER[s][at] / PAPER[against][at] for s in static if s in PAPER} for at in (0, 1)
        )
        theirs = [{"time": times[s], "power": powers[s]} for s in times]
        layers.append(points(theirs, x, y, of_paper=True))
        notes[0] += " Red: the paper's means (table 3.2)."
        notes.append(
            "The paper has no numbers of sequential and parallel workloads apart, nor of single ones."
        )
    else:
        notes.append("The paper has no numbers of this.")
    return alt.layer(*layers).properties(width=420, height=260), "power and time", notes


def main() -> None:
    """Read the evaluation and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("--sensitivity", type=Path)
    parser.add_argument("--figures", type=Path, help="a folder")
    asked = parser.parse_args()
    evaluation = json.loads(asked.evaluation.read_text())
    results = evaluation["results"]
    runs = {
        (one["workload"], setting(one)): list(zip(one["joules"], one["seconds"], strict=True))
        for one in results
    }
    workloads = {one["workload"]: one["suite"] for one in results}
    settings = list(dict.fromkeys(setting(one) for one in results))
    if not any(name.startswith("static-") for name in settings):
        parser.error(f"{asked.evaluation} has no static frequency to compare with; evaluate one, or all")
    of_paper = evaluation["machine"] == "xeon" and "drawn" not in workloads.values()
    if BASELINE in settings:
        table(runs, list(workloads), settings, of_paper=of_paper)
    judged(runs, list(workloads), settings)
    if asked.sensitivity:
        sensitivity(asked.sensitivity)
    if asked.figures:
        asked.figures.mkdir(parents=True, exist_ok=True)
        machine = evaluation["machine"]
        figures(runs, workloads, settings, asked.figures, machine=machine, of_paper=of_paper)


if __name__ == "__main__":
    main()
