"""The charts of a report as files for a paper: SVG, PNG and PDF, as wide as one column."""

import textwrap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import vl_convert

from assay import files
from assay.errors import AssayError
from assay.report.charts import Figure, figures, specifications
from assay.report.charts.drawings import Specification
from assay.report.charts.style import PAPER
from assay.report.gather import Report
from assay.words import json_text

Format = Literal["svg", "png", "pdf"]

WIDTH = 252  # points: 3.5 inches, one column of a paper
HEIGHT = 150
ROW = 0.7  # of a row's height on the page
TITLE_CHARACTERS = 48  # in one line of the title
LABEL_LIMIT = 135  # points that a name may take
PNG_PER_INCH = 300


def write_figures(
    report: Report, form: Format, directory: Path, names: Collection[str] = ()
) -> list[tuple[Path, Figure]]:
    """Write figures of a report into a folder, and return the files; by default every figure with data.

    Each file is named after its figure, and is there as a whole or not at all.

    Raises:
        AssayError: a figure does not exist or has nothing to show, or the folder cannot be written.
    """
    chosen = list(_chosen(figures(report), names))
    kinds = specifications(chosen)
    return [(write_figure(kinds[figure.kind], figure, form, directory), figure) for figure in chosen]


def write_figure(specification: Specification, figure: Figure, form: Format, directory: Path) -> Path:
    """Write one figure into a folder, and return its file.

    Raises:
        AssayError: the folder cannot be written.
    """
    content = _convert(_for_paper(specification, figure), form)
    return files.write(directory / f"{figure.name}.{form}", content)


def _chosen(drawn: Sequence[Figure], names: Collection[str]) -> Iterator[Figure]:
    every = {figure.name: figure for figure in drawn}
    for name in names:
        if name not in every:
            known = ", ".join(name for name, figure in every.items() if figure.rows)
            raise AssayError(f"there is no chart {name!r}; this campaign has {known or 'none'}")
        if not every[name].rows:
            raise AssayError(f"chart {name} has nothing to show: {every[name].note}")
    return (figure for name, figure in every.items() if figure.rows and (not names or name in names))


def _convert(specification: Specification, form: Format) -> bytes:
    text = json_text(specification)
    if form == "svg":
        return vl_convert.vegalite_to_svg(text, config=PAPER, allowed_base_urls=[]).encode()
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(text, config=PAPER, ppi=PNG_PER_INCH, allowed_base_urls=[]))
    return bytes(vl_convert.vegalite_to_pdf(text, config=PAPER, allowed_base_urls=[]))


def _for_paper(specification: Specification, figure: Figure) -> Specification:
    """Return a specification with its data and title, without what only a page can do."""
    paper: Specification = _still(specification)
    height = specification["height"]
    _occurring(paper, figure)
    return paper | {
        "width": WIDTH,
        "height": {"step": height["step"] * ROW} if isinstance(height, dict) else HEIGHT,
        "title": {"text": textwrap.wrap(figure.title, TITLE_CHARACTERS)},
        "datasets": {"rows": [dict(zip(figure.columns, row, strict=True)) for row in figure.rows]},
    }


def _occurring(part: Any, figure: Figure) -> None:
    """Leave in the legend of a specification only those verdicts that the figure has."""
    if isinstance(part, list):
        for inner in part:
            _occurring(inner, figure)
    elif isinstance(part, dict):
        if part.get("field") == "verdict" and "scale" in part:
            verdicts = {row[figure.columns.index("verdict")] for row in figure.rows}
            scale = part["scale"]
            kept = [pair for pair in zip(scale["domain"], scale["range"], strict=True) if pair[0] in verdicts]
            scale["domain"], scale["range"] = map(list, zip(*kept, strict=True))
        for inner in part.values():
            _occurring(inner, figure)


def _still(part: Any) -> Any:
    """Return part of a specification without links and tooltips, with names of rows that leave room."""
    if isinstance(part, list):
        return [_still(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    still = {name: _still(inner) for name, inner in part.items() if name not in ("href", "tooltip")}
    if "labelLimit" in still:
        still["labelLimit"] = min(still["labelLimit"], LABEL_LIMIT)
    return still
