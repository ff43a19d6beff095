"""The notebook of the guide runs as it stands on a campaign that a user might have."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import ROOT, Assay

pytestmark = pytest.mark.usefixtures("steady_host")

NOTEBOOK = ROOT / "docs" / "guide" / "notebook.ipynb"
EXPERIMENT = """
name = "maps"
question = "Which?"
[factors]
subject = ["std_map_mutex", "std_map_shared_mutex"]
threads = [1, 2]
[trial]
key_range = 1000
duration_ms = 30
mix = { insert = 10, erase = 10, find = 80 }
[design]
blocks = 6
[comparison]
metric = "throughput"
factor = "subject"
baseline = "std_map_mutex"
smallest_effect_percent = 3
"""


def test_the_notebook_runs_and_shows_the_verdicts(tmp_path: Path, assay: Assay) -> None:
    (tmp_path / "maps.toml").write_text(EXPERIMENT)
    assay("run", "maps.toml", "--anyway", "--no-page")
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]["text/plain"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "data" in output
    ]
    assert any("p_adjusted" in text and "std_map_shared_mutex" in text for text in shown)
    assert any("alt.Chart" in text for text in shown)


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.outputs for cell in notebook.cells if cell.cell_type == "code")
