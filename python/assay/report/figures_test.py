"""Charts as files: they are what they say, hold no link and no script, and let nothing be injected."""

import re
import zlib
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.errors import AssayError
from assay.plan.types import PlannedTrial
from assay.report.charts import figures
from assay.report.figures import Format, write_figures
from assay.report.gather import Report
from example_report import example_report, experiment_text

ATTACK = "</text><script>alert(1)</script><image href='http://a.b/c.png'/>${alert(2)}{{x}}&amp;]]>"
HARMLESS = {"svg", "g", "path", "text", "tspan", "line", "rect", "defs", "clipPath", "linearGradient", "stop"}
SVG = "{http://www.w3.org/2000/svg}"


def metrics(trial: PlannedTrial) -> dict[str, float]:
    return {"throughput": 1e6 + 1e4 * trial.ordinal, "slowest_thread_share": 0.9}


@cache
def report() -> Report:
    """A level and a title are hostile."""
    text = experiment_text(
        f'threads = [1, 2]\n[factors.variant]\nbase = {{}}\n"{ATTACK}" = {{ keys = "sparse" }}',
        f'[[chart]]\nkind = "bars"\nx = "variant"\ny = "throughput"\ntitle = "{ATTACK}"\nfacet = "threads"',
        trial='subject = "noop"\nmix = { insert = 10, erase = 10, find = 80 }',
        factor="variant",
        baseline='"base"',
    )
    return example_report(text, metrics)


def write_one(name: str, form: Format, directory: Path) -> Path:
    ((file, figure),) = write_figures(report(), form, directory, [name])
    assert file == directory / f"{name}.{form}"
    assert figure.name == name
    return file


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ElementTree.Element]:
    """Every chart as SVG."""
    directory = tmp_path_factory.mktemp("pictures") / "new" / "folder"
    written = write_figures(report(), "svg", directory)
    assert [file for file, _ in written] == [directory / f"{figure.name}.svg" for _, figure in written]
    assert {file.name for file, _ in written} == {file.name for file in directory.iterdir()}
    return {figure.name: ElementTree.fromstring(file.read_text(encoding="utf-8")) for file, figure in written}


def test_every_chart_with_data_becomes_a_file(pictures: dict[str, ElementTree.Element]) -> None:
    assert list(pictures) == [figure.name for figure in figures(report()) if figure.rows]


def test_an_svg_is_a_picture_and_nothing_else(pictures: dict[str, ElementTree.Element]) -> None:
    for root in pictures.values():
        assert root.tag == f"{SVG}svg"
        for element in root.iter():
            assert element.tag.removeprefix(SVG) in HARMLESS
            assert not [name for name in element.attrib if "href" in name or name.startswith("on")]
            assert "url(http" not in str(element.attrib)


@pytest.mark.parametrize("name", ["estimates-1", "ratios-1", "distribution-1", "chart-1-1-1"])
def test_hostile_names_are_text(pictures: dict[str, ElementTree.Element], name: str) -> None:
    shown = " ".join(text for element in pictures[name].iter(f"{SVG}text") for text in element.itertext())
    assert "</text><script>" in shown  # the name is there, as a reader sees it


def test_a_legend_names_only_the_verdicts_of_its_figure(tmp_path: Path) -> None:
    def of_two(trial: PlannedTrial) -> dict[str, float]:
        faster = trial.levels == {"threads": 2, "subject": "std_map_mutex", "key_range": 100}
        return {"throughput": (2e6 if faster else 1e6) * (1 + 0.001 * (trial.ordinal % 7))}

    text = experiment_text(
        'threads = [1, 2]\nsubject = ["noop", "std_map_mutex"]\nkey_range = [100, 200]',
        trial="mix = { insert = 10, erase = 10, find = 80 }",
    ).replace("\nkey_range = 100\n", "\n")
    written = write_figures(example_report(text, of_two), "svg", tmp_path, ["ratios-1", "ratios-2"])
    seen = []
    for file, figure in written:
        shown = set(re.findall(r">(faster|slower|equivalent|undecided)<", file.read_text(encoding="utf-8")))
        assert shown == {row["series"] for row in figure.rows}
        seen.append(shown)
    assert seen[0] != seen[1]


def test_a_png_is_one_at_300_dots_an_inch(tmp_path: Path) -> None:
    content = write_one("estimates-1", "png", tmp_path).read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width = int.from_bytes(content[16:20], "big")
    assert 3.4 * 300 < width < 3.7 * 300  # one column


def test_a_pdf_has_text_and_is_as_wide_as_a_column(tmp_path: Path) -> None:
    content = write_one("estimates-1", "pdf", tmp_path).read_bytes()
    assert content.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", content)
    assert box is not None
    assert 250 <= float(box[1]) <= 262
    assert b"/Font" in content
    streams = re.findall(rb"stream\r?\n(.*?)endstream", content, flags=re.DOTALL)
    shown = b"".join(zlib.decompress(stream) for stream in streams if stream[:1] == b"x")
    assert re.search(rb"\bT[jJ]\b", shown)  # letters that can be searched and copied, not outlines
    assert not re.search(rb"/URI|/JavaScript|/JS\b", content)


def test_the_same_report_gives_the_same_file(tmp_path: Path) -> None:
    first = write_one("ratios-1", "png", tmp_path / "a").read_bytes()
    assert write_one("ratios-1", "png", tmp_path / "b").read_bytes() == first


def test_an_unknown_chart_is_an_error_that_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"'estimate'.*estimates-1, "):
        write_figures(report(), "svg", tmp_path / "out", ["estimate"])
    assert not (tmp_path / "out").exists()


def test_a_chart_without_data_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"counters-1 .*cycles, "):
        write_figures(report(), "svg", tmp_path, ["counters-1"])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AssayError, match=r"cannot write .*file/out/ratios-1.svg: .*--output"):
        write_figures(report(), "svg", tmp_path / "file" / "out", ["ratios-1"])
