"""`assay store serve` as a process, asked over HTTP on this machine."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from conftest import Assay, small_experiment

pytestmark = pytest.mark.usefixtures("steady_host")


def test_serve_shows_a_campaigns_rows_and_its_report_until_it_is_interrupted(
    tmp_path: Path, assay: Assay
) -> None:
    (tmp_path / "served.toml").write_text(small_experiment("served", blocks=1))
    assay("run", "served.toml", "--anyway")
    words = [sys.executable, "-m", "assay", "store", "serve", "--port", "0"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            lines = iter(server.stderr.readline, "")
            address = next(match[0] for line in lines if (match := re.search(r"http://[\d.:]+", line)))
            for path, expected in (
                ("/assay/served", "/report/campaign-1/trial.html#1"),
                ("/report/index.html", "Which is faster?"),
            ):
                with urlopen(address + path) as answer:
                    assert expected in answer.read().decode()
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate()
    assert server.returncode == 0


def test_without_a_store_it_says_so(assay: Assay) -> None:
    assert "no store" in assay("store", "serve", expect=2).stderr


def test_without_datasette_it_says_what_to_install(assay: Assay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasette", None)
    said = assay("store", "serve", expect=2).stderr
    assert said.startswith("error: assay store serve needs ")
    assert said.endswith("pip install 'assay[serve]'\n")
    assert said.count("\n") == 1
