"""Prints table 2 of Blackwell 1998, the summary of 10,000 runs of its section 4.4, and the orders of 4.5.

PYTHONPATH=benchmarks .venv/bin/python satellites/layout/layout_tables.py [PART...] [RUNS]; without them all
parts, and 10,000 runs, in some minutes. All but `ties` need what satellites/layout/tools/programs needs.
`ties` draws docs/ties.svg, and `table-2` docs/expansion.svg.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import eight_programs
import numpy as np
import vl_convert
from numpy.typing import NDArray

from assay.report.charts import alt
from assay_layout.linking import Recorded
from assay_layout.program import read_image
from assay_layout.recording import record
from assay_layout.simulator import Cache, simulate
from assay_layout.statistics import Line, errors, fitted_line
from harness import run_parts

HERE = Path(__file__).parent
FACTORS = 512
DRAWS = 20_000
OF_THESIS = (
    "ijpeg .512 1.1%, li .603 16.7%, perl .800 18.8%, go .730 15.1%, compress .501 0.1%, m88ksim .729 20.0%,"
    " cc1 .891 7.2%, vortex .920 21.7%; geometric mean .691 3.7%"
)
SEEDS = 1000
PLACES = {"D": (0, 1), "A": (1, 1), "B": (2, 2), "C": (2, 0)}
"""Procedures of the call graphs, and where they are drawn."""
BLUE = "#4477AA"
Edges = Sequence[tuple[str, str, int]]
"""The edges of a call graph: two procedures, and how often one was entered from the other."""


def main() -> None:
    """Run the parts that the command line names, or all."""
    runs = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 10_000

    def summary() -> None:
        _summary(runs)

    run_parts([table_2, figure_8, padding, summary, ties])


def table_2() -> None:
    """Print how wrong a single layout is, by program, from 512 factors of code expansion (section 4.2).

    It draws them with their fitted lines, too (figures 5 and 6), as docs/expansion.svg.
    """
    print(
        "estimated cycles for an instruction, and the widths of intervals of 90%: a measurement, a comparison"
    )
    eight_programs.make()
    together = np.zeros(DRAWS)
    levels = []
    panels = []
    random = np.random.default_rng(1)
    for program in eight_programs.NAMES:
        drawn = simulate(_trace(program), "linked", Cache(), seed=0, layouts=FACTORS, expands=1)
        cycles, line = drawn.cycles, fitted_line(drawn.factors, drawn.cycles)
        wrong = errors(cycles, line.residuals, line.at_one)
        _row(program, line.at_one, (wrong.measurement, wrong.comparison))
        panels.append(_expansion(f"{program}: {wrong.comparison:.0%}", drawn.factors, cycles, line))
        levels.append(np.log(line.at_one))
        # Each program draws its own factor.
        together += np.log1p(random.choice(line.residuals, DRAWS) / line.at_one) / len(eight_programs.NAMES)
    mean = float(np.exp(np.mean(levels)))
    differences = np.exp(together[: DRAWS // 2] - together[DRAWS // 2 :])
    low, high = np.quantile(np.exp(together), [0.05, 0.95])
    least, most = np.quantile(differences, [0.05, 0.95])
    _row("geometric mean", mean, (high - low, most - least))
    print(f"  the thesis, of SPECint95: {OF_THESIS}")
    picture = alt.concat(*panels, columns=2, title="Widths of intervals of 90% of a comparison")
    (HERE / "docs" / "expansion.svg").write_text(vl_convert.vegalite_to_svg(picture.to_json()))


def _expansion(title: str, factors: NDArray[np.float64], cycles: NDArray[np.float64], line: Line) -> Any:
    """Return the picture of cycles over factors of expansion, and of the line."""
    rows = [
        {"factor": factor, "cycles": value, "fitted": value - residual}
        for factor, value, residual in zip(factors, cycles, line.residuals, strict=True)
    ]
    base = alt.Chart({"values": rows}).encode(x=alt.X("factor:Q", title="expansion").scale(zero=False))
    axis = alt.Y("cycles:Q", title="cycles for an instruction").scale(zero=False)
    return alt.layer(
        base.mark_line(color=BLUE, strokeWidth=1).encode(y=axis),
        base.mark_line(color="#EE6677", strokeWidth=1.5).encode(y="fitted:Q"),
    ).properties(title=title, width=340, height=150)


def _row(name: str, cycles: float, widths: tuple[float, float]) -> None:
    print(f"  {name:16} {cycles:.3f}   {widths[0]:6.1%}   {widths[1]:6.1%}")


def figure_8() -> None:
    """Print how much closer to their line medians over random layouts are than one layout is (figure 8).

    Conflicts within one procedure are the same in all layouts. A program with a procedure that
    is larger than the cache, as Lua and tcc have, has medians that are not smooth either.
    """
    eight_programs.make()
    print("\nresiduals from a line over 33 factors of expansion, in cycles for an instruction")
    print("  program   one layout   medians of 128   times (goal: at most 0.20)")
    for program in ("lua", "tcc", "x86"):
        trace = _trace(program)
        one = simulate(trace, "linked", Cache(), seed=0, layouts=33, expands=1)
        medians = np.array(
            [
                np.median(simulate(trace, "random", Cache(), seed=0, layouts=128, expansion=factor).cycles)
                for factor in one.factors
            ]
        )
        spreads = [
            float(np.std(fitted_line(one.factors, values).residuals)) for values in (one.cycles, medians)
        ]
        print(
            f"  {program:8} {spreads[0]:11.4f} {spreads[1]:16.4f} {spreads[1] / spreads[0]:7.2f}", flush=True
        )


def padding() -> None:
    """Print misses where code is expanded in the simulator, and where it is by gaps that are really linked.

    Gaps leave procedures as they are, so that the two agree in kind only, not in number.
    """
    eight_programs.make()
    program = eight_programs.FOLDER / "lua"
    image, cache = read_image(program), Cache()
    print("\nLua: misses in 1,000 instructions by factor of expansion")
    print("  factor   all code, simulated   gaps, simulated   gaps, linked and recorded anew")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        recorded = Recorded.beside(program, folder)
        assert recorded is not None
        for factor in (1, 1.0625, 1.125, 1.1875, 1.25, 1.3125, 1.375, 1.4375, 1.5):
            begin = min(each.address for each in image.procedures)
            places = [
                (each.name, begin + round((each.address - begin) * factor / 16) * 16)
                for each in image.procedures
            ]
            recorded.at_places(places, image, folder / "padded", gaps=True)
            record(read_image(folder / "padded"), [], folder / "padded.trace")
            found = (
                simulate(_trace("lua"), "linked", cache, seed=0, expansion=factor),
                simulate(_trace("lua"), "placed", cache, seed=0, places=[places]),
                simulate(folder / "padded.trace", "linked", cache, seed=0),
            )
            print(f"  {factor:<8} " + "   ".join(f"{each.miss_rates[0]:17.1f}" for each in found), flush=True)


def _summary(runs: int) -> None:
    """Print what history changes, in runs that draw all ties anew (section 4.4)."""
    eight_programs.make()
    for scheme in ("conflicts", "pettis_hansen"):
        without, with_history = (
            simulate(_trace("lua"), scheme, Cache(), seed=seed, layouts=runs, history=a).misses[:, 0]
            for seed, a in ((1, 0), (2, 0.5))
        )
        changes = with_history / without - 1
        wrong = np.mean(np.sign(changes) != np.sign(changes.mean()))
        error = 1.96 * changes.std() / runs**0.5
        print(
            f"\n{runs:,} runs of Lua, {scheme}: misses with history 0.5 over those without, less 1"
            " (the thesis, xlisp: mean -17%, from -39% to +10%)"
        )
        print(
            f"  mean {changes.mean():+.1%} ({changes.mean() - error:+.1%} to {changes.mean() + error:+.1%})"
        )
        print(f"  from {changes.min():+.0%} to {changes.max():+.0%}; one sign is wrong in {wrong:.0%}")
        print("  the first ten: " + " ".join(f"{each:+.0%}" for each in changes[:10]))


def ties() -> None:
    """Print and draw the orders of two call graphs by Pettis-Hansen, all ties drawn (section 4.5)."""
    charts = []
    for heaviest in (100, 101):
        edges = [("D", "A", 300), ("A", "B", heaviest), ("A", "C", 100), ("B", "C", 50)]
        orders = Counter(_order(edges, seed) for seed in range(SEEDS))
        weights = ", ".join(f"{one}-{other} {weight}" for one, other, weight in edges)
        print(f"\norders of {weights} by Pettis-Hansen, {SEEDS:,} seeds")
        for order, times in sorted(orders.items()):
            print(f"  {order}   {times / SEEDS:.0%}")
        charts.append(_graph(edges) & _shares(orders))
    picture = alt.hconcat(*charts, spacing=70).configure_view(stroke=None)
    (HERE / "docs" / "ties.svg").write_text(vl_convert.vegalite_to_svg(picture.to_json()))


def _order(edges: Edges, seed: int) -> str:
    """Return the order that a seed draws, such as D-A-B-C."""
    procedures = [(name, 4096 * number, 32, 1) for number, name in enumerate(PLACES, start=1)]
    answer = simulate(
        None, "pettis_hansen", Cache(), seed=seed, procedures=procedures, weights=edges, addresses=1
    )
    return "-".join(name for name, _ in answer.details["addresses"])


def _graph(edges: Edges) -> Any:
    """Return the picture of a call graph, lines as wide as their weights."""
    nodes = [{"text": name, "x": x, "y": y} for name, (x, y) in PLACES.items()]
    ends = [(PLACES[one], PLACES[other], weight) for one, other, weight in edges]
    lines = [{"x": x, "y": y, "x2": x2, "y2": y2, "width": weight / 30} for (x, y), (x2, y2), weight in ends]
    middles = [{"text": weight, "x": (x + x2) / 2, "y": (y + y2) / 2} for (x, y), (x2, y2), weight in ends]
    axes: dict[str, Any] = {
        "x": alt.X("x:Q", axis=None).scale(domain=[-0.2, 2.2]),
        "y": alt.Y("y:Q", axis=None).scale(domain=[-0.4, 2.4]),
    }
    line, middle, node = (alt.Chart({"values": rows}).encode(**axes) for rows in (lines, middles, nodes))
    return alt.layer(
        line.mark_rule(color="#999999").encode(
            x2="x2:Q", y2="y2:Q", strokeWidth=alt.StrokeWidth("width:Q", scale=None)
        ),
        middle.mark_point(filled=True, size=500, color="white", opacity=1),
        middle.mark_text(fontSize=12).encode(text="text:Q"),
        node.mark_point(filled=True, size=700, color=BLUE, opacity=1),
        node.mark_text(color="white", fontSize=14, fontWeight="bold").encode(text="text:N"),
    ).properties(width=260, height=130)


def _shares(orders: Counter[str]) -> Any:
    """Return the picture of how often each order was drawn."""
    rows = [{"order": order, "share": times / SEEDS} for order, times in orders.items()]
    bars = alt.Chart({"values": rows}).encode(
        x=alt.X("share:Q", axis=None).scale(domain=[0, 0.6]),
        y=alt.Y("order:N", title=None).axis(domain=False, ticks=False, labelFontSize=12),
    )
    return alt.layer(
        bars.mark_bar(color=BLUE),
        bars.mark_text(align="left", dx=4, fontSize=12).encode(text=alt.Text("share:Q", format=".0%")),
    ).properties(width=200, height={"step": 20})


def _trace(program: str) -> Path:
    return eight_programs.FOLDER / f"{program}.trace"


if __name__ == "__main__":
    main()
