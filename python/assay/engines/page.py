"""The page of judged engines: static files that open from disk without a network."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.engines.judge import REJECTED, SUSPECT
from assay.engines.pictures import FIRST_BYTE, FIRST_FOUR, SPEED, figures
from assay.engines.types import Judged
from assay.files import write
from assay.report.charts import Figure, specifications
from assay.report.charts.drawings import Specification
from assay.report.figures import Format, write_figure
from assay.report.render import render, write_scripts

FORMS: tuple[Format, ...] = ("svg", "png")
FILED = (SPEED, FIRST_BYTE, FIRST_FOUR)
"""Kinds of pictures that are files as well: those of the paper. The page can save any other."""


def write_judged(judged: Sequence[Judged], drawn_from: str, directory: Path) -> Path:
    """Write the page and the pictures into a folder, and return the page."""
    drawn = list(figures(judged))
    kinds = specifications(drawn)
    write_scripts(directory, "style.css", "charts.js", "campaign.js")
    page = write(directory / "index.html", _page(judged, drawn_from, drawn, kinds))
    for figure in drawn:
        for form in FORMS if figure.kind in FILED and figure.rows else ():
            write_figure(kinds[figure.kind], figure, form, directory)
    return page


def _page(
    judged: Sequence[Judged], drawn_from: str, drawn: Sequence[Figure], kinds: Mapping[str, Specification]
) -> str:
    placed: dict[str, list[tuple[int, Figure]]] = defaultdict(list)
    for place, figure in enumerate(drawn):
        placed[figure.section].append((place, figure))
    sections: list[tuple[str, str, Sequence[Any], Sequence[Any]]] = [(SPEED, "Speed", [], placed[SPEED])]
    for examined in judged:
        if examined.verdict:
            tests = [
                (str(tests.kind), len(tests.p), len(tests.failing(SUSPECT)), tests.smallest)
                for tests in examined.verdict.test_kinds
            ]
            name = examined.engine.name
            sections.append((name, f"{examined.title}: {examined.verdict.word}", tests, placed[name]))
    return render(
        "engines.html",
        root="",
        drawn_from=drawn_from,
        suspect=f"{SUSPECT:g}",
        rejected=f"{REJECTED:g}",
        judged=judged,
        floor=min((examined.speed.floor for examined in judged if examined.speed), default=0.0),
        sections=sections,
        specifications=kinds,
        data=[[figure.kind, figure.name, figure.columns, figure.rows] for figure in drawn],
    )
