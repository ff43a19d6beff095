"""The page of judged engines: static files that open from disk without a network."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from assay import extras
from assay.files import write
from assay.report.charts import page_content
from assay.report.figures import Format, write_figure
from assay.report.render import render, write_scripts
from assay_lab.engines.judge import REJECTED, SUSPECT
from assay_lab.engines.pictures import EIGHT_BITS, FIRST_BYTE, SPEED, figures
from assay_lab.engines.types import EngineExamination

FORMS: tuple[Format, ...] = ("svg", "png")
FILED = (SPEED, FIRST_BYTE, EIGHT_BITS)
"""Kinds of pictures that are files as well, with vl-convert: those of the paper. The page can save
any other."""


def write_judged(judged: Sequence[EngineExamination], drawn_from: str, directory: Path) -> Path:
    """Write the page and the pictures into a folder, and return the page."""
    drawn = list(figures(judged))
    forms = FORMS if extras.available("vl_convert") else ()
    write_scripts(directory, "style.css", "tables.js", "charts.js", "campaign.js")
    for figure in drawn:
        for form in forms if figure.kind.startswith(FILED) and figure.rows else ():
            write_figure(figure.specification(), figure, form, directory)
    page = render(
        "engines.html",
        Path(__file__).parents[1] / "templates",
        root="",
        drawn_from=drawn_from,
        suspect=SUSPECT,
        rejected=REJECTED,
        judged=judged,
        floor=min((engine.speed.floor for engine in judged if engine.speed), default=0.0),
        sections={name: list(section) for name, section in groupby(drawn, attrgetter("section"))},
        **page_content(drawn),
    )
    return write(directory / "index.html", page)
