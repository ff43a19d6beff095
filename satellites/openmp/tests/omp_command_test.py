"""`assay omp` as a user types it, with real programs of gcc and of clang."""

import json
from pathlib import Path

import pytest

from assay.campaign import time_budget
from assay.cli import race
from assay_openmp.testing import GREETING, compiled
from conftest import assay_in

pytestmark = pytest.mark.usefixtures("steady_host")


@pytest.fixture(autouse=True)
def short_races(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.experiment.race.REPEAT_MS", 1)
    monkeypatch.setattr(time_budget, "MOST_BLOCKS", 8)
    monkeypatch.setattr(race, "SEVERAL_LOOKS", 0)


@pytest.mark.parametrize(("compiler", "own"), [("gcc", "libgomp"), ("clang-22", "libomp")])
def test_it_answers_and_says_where_threads_waited(compiler: str, own: str, tmp_path: Path) -> None:
    compiled(tmp_path, "greeting", GREETING, "-fopenmp", compiler=compiler)
    said = assay_in(tmp_path)("omp", "--threads", "2,3", "--", "./greeting", "--within").stdout
    answers = [line for line in said.splitlines() if line.startswith("threads=")]
    assert [answer.partition(":")[0] for answer in answers] == ["threads=2", "threads=3"]
    assert all(own in answer and "assay" in answer for answer in answers)
    assert "one more run with assay, its waits summed over " in said
    rows = {line.split()[0]: line.split()[1] for line in said.splitlines() if len(line.split()) > 1}
    assert rows["parallel"] == "1"


def test_what_holds_for_the_program_is_what_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        '#include <stdlib.h>\nint main() {\n#pragma omp parallel\n  if (!getenv("OMP_PLACES")) exit(1);\n}'
    )
    compiled(tmp_path, "needs", source, "-fopenmp")
    assay = assay_in(tmp_path)
    assert "exit" in assay("omp", "./needs", expect=2).stderr
    monkeypatch.setenv("OMP_PLACES", "threads")
    report = json.loads(assay("omp", "--json", "./needs").stdout)
    assert report["experiment"] == "omp-needs"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["./nothing"], "there is no program ./nothing"),
        (["/bin/true"], "/bin/true: is linked to no OpenMP runtime"),
        (["--threads", "0", "/bin/true"], "too small"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    done = assay_in(tmp_path)("omp", *words, expect=2)
    assert said in done.stderr
    assert not (tmp_path / "results").exists()
