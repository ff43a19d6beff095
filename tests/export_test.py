"""`assay store export` as a user types it."""

from pathlib import Path

import pandas as pd
import pytest

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
