"""`assay store export` as a user types it."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import assay as package
from assay.errors import AssayError
from conftest import Assay, small_experiment

pytestmark = pytest.mark.usefixtures("steady_host")


def test_tables_and_charts_come_out_as_files(tmp_path: Path, assay: Assay) -> None:
    (tmp_path / "exported.toml").write_text(small_experiment("exported", blocks=2))
    assay("run", "exported.toml", "--anyway", "--no-page")
    for form, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        files = assay("store", "export", form, "--output", "out").stdout.split()
        assert [Path(file).name for file in files] == [
            f"{name}.{form}" for name in ("trials", "series", "verdicts", "findings")
        ]
        assert len(read(tmp_path / files[0])) == 4
    chart = assay("store", "export", "svg", "--chart", "estimates-1", "--output", "out").stdout.partition(
        ":"
    )[0]
    assert (tmp_path / chart).read_text().startswith("<svg")
    assert "--chart" in assay("store", "export", "csv", "--chart", "estimates-1", expect=2).stderr
    assert "campaign 7" in assay("store", "export", "csv", "--campaign", "7", expect=2).stderr


def test_a_mistake_is_told_in_these_words(assay: Assay) -> None:
    choices = "csv, parquet, markdown, svg, png, pdf, google-benchmark, hyperfine"
    assert assay("store", "export", expect=2).stderr == (
        f"error: assay store export: missing argument 'FORMAT'. Choose from: {choices};"
        " see assay store export -h\n"
    )
    assert assay("store", "export", "gif", expect=2).stderr.startswith("error: assay store export: FORMAT: ")


@pytest.mark.parametrize("form", ["csv", "svg"])
def test_standard_output_is_no_folder(form: str, assay: Assay, tmp_path: Path) -> None:
    assert assay("store", "export", form, "--output", "-", expect=2).stderr.endswith("name a folder\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "form", "extra"),
    [("vl_convert", "svg", "charts"), ("pandas", "csv", "parquet"), ("pyarrow", "parquet", "parquet")],
)
def test_a_format_says_in_a_line_which_package_it_lacks(
    module: str, form: str, extra: str, assay: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    said = assay("store", "export", form, expect=2).stderr
    assert said.startswith(f"error: assay store export {form} needs ")
    assert said.endswith(f"pip install 'assay[{extra}]'\n")
    assert said.count("\n") == 1


def test_data_frames_say_so_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(AssayError, match=r"^assay.open needs pandas, .*'assay\[parquet\]'$"):
        package.open(tmp_path / "assay.sqlite")
