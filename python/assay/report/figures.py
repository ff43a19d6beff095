"""The charts of a report as files for a paper: SVG, PNG and PDF, as wide as one column."""

import textwrap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from assay import extras, files
from assay.errors import AssayError
from assay.report.charts import Figure, Specification, figures, specifications
from assay.report.charts.style import PAPER
from assay.report.gather import Report
from assay.words import json_text

Format = Literal["svg", "png", "pdf"]

WIDTH = 252  # points: 3.5 inches, one column of a paper
HEIGHT = 150
SMALL_WIDTH = 48  # of one of the small planes of many series, four side by side
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
        AssayError: a figure does not exist or has nothing to show, the folder cannot be written, or
            vl-convert is not installed.
    """
    chosen = list(_chosen(figures(report), names))
    kinds, mark = specifications(chosen), report.experiment.mark
    return [(write_figure(kinds[figure.kind], figure, form, directory, mark), figure) for figure in chosen]


def write_figure(
    specification: Specification, figure: Figure, form: Format, directory: Path, mark: str = ""
) -> Path:
    """Write one figure into a folder, and return its file. Its title ends with the mark of what misleads.

    Raises:
        AssayError: the folder cannot be written, or vl-convert is not installed.
    """
    extras.require("vl_convert", "a chart as a file")
    import vl_convert  # noqa: PLC0415 - an extra

    text = json_text(_for_paper(specification, figure, mark))
    resolution = {"ppi": PNG_PER_INCH} if form == "png" else {}
    convert = getattr(vl_convert, f"vegalite_to_{form}")
    content = convert(text, config=PAPER, allowed_base_urls=[], **resolution)
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


def _for_paper(specification: Specification, figure: Figure, mark: str) -> Specification:
    """Return a specification with its data and title, without what only a page can do."""
    occurring = {row.get("series") for row in figure.rows}
    paper: Specification = _still(specification, occurring)
    lines = [line for text in (figure.title, mark) for line in textwrap.wrap(text, TITLE_CHARACTERS)]
    whole = {
        "title": {"text": lines},
        "datasets": {"rows": list(figure.rows)},
    }
    if "facet" in paper:
        return paper | whole | {"spec": {**paper["spec"], "width": SMALL_WIDTH, "height": SMALL_WIDTH}}
    height = specification["height"]
    size = {"step": height["step"] * ROW} if isinstance(height, dict) else HEIGHT
    return paper | whole | {"width": WIDTH, "height": size}


def _still(part: Any, occurring: Collection[Any]) -> Any:
    """Return part of a specification without links and tooltips, with names of rows that leave room.

    Legends name only those series that occur in the figure.
    """
    if isinstance(part, list):
        return [_still(inner, occurring) for inner in part]
    if not isinstance(part, dict):
        return part
    kept = {name: inner for name, inner in part.items() if name not in ("href", "tooltip")}
    still = {name: _still(inner, occurring) for name, inner in kept.items()}
    if "labelLimit" in still:
        still["labelLimit"] = min(still["labelLimit"], LABEL_LIMIT)
    if part.get("field") == "series" and "range" in part.get("scale", ()):
        looks = zip(part["scale"]["domain"], part["scale"]["range"], strict=True)
        domain, range_ = zip(*(pair for pair in looks if pair[0] in occurring), strict=True)
        still["scale"] = {"domain": domain, "range": range_}
    return still
