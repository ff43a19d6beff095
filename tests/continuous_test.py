"""The commands of docs/guide/continuous.md, in a git repository made for them."""

import re
import shlex
import shutil
from pathlib import Path
from string import Template

import pytest

from assay.campaign import time_budget
from assay.versions.testing import ExampleRepository
from conftest import ROOT, Assay, assay_in, run_assay

GUIDE = (ROOT / "docs/guide/continuous.md").read_text()
pytestmark = pytest.mark.usefixtures("steady_host")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExampleRepository:
    """Return a project with the benchmarks that the guide names."""
    # A race of fewer than 10 blocks would use all the time that it is given.
    monkeypatch.setattr(time_budget, "MOST_BLOCKS", 12)
    project = ExampleRepository(tmp_path / "project")
    makefile = "bench: bench.sh\n\tcp bench.sh bench\n\tchmod +x bench\n"
    files = {"Makefile": makefile, "bench.sh": "#!/bin/sh\n", ".gitignore": "bench\n"}
    project.commit("With benchmarks", **files)
    project.git("tag", "v1.2")
    project.commit("Second", **{"bench.sh": "#!/bin/sh\n:\n"})
    return project


def commands(block: str) -> list[str]:
    """Return the command lines of `assay` in a block of the guide."""
    lines = (re.sub(r"^(- )?(run: )?", "", line.strip()) for line in block.splitlines())
    return [line for line in lines if line.startswith("assay ")]


def workflow(name: str) -> str:
    return GUIDE.split(f"<!-- workflow {name} -->\n```yaml\n")[1].split("```")[0]


@pytest.mark.parametrize(
    ("name", "base", "head"),
    [("github", "BASE", "HEAD"), ("gitlab", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_COMMIT_SHA")],
)
def test_the_command_of_a_workflow_compares_the_two_revisions(
    name: str, base: str, head: str, project: ExampleRepository
) -> None:
    [command] = commands(workflow(name))
    variables = {base: project.git("rev-parse", "v1.2"), head: project.git("rev-parse", "main")}
    words = shlex.split(Template(command).substitute(variables))[1:]
    ended = run_assay(project.root, *words)
    assert ended.returncode in {0, 1, 3}, ended.stderr
    assert variables[base][:10] in ended.stdout
    assert (project.root / "comment.md").read_text().startswith("### ")
    assert "<testsuite" in (project.root / "junit.xml").read_text()
    assert project.git("status", "--short").splitlines() == ["?? comment.md", "?? junit.xml"]


def test_a_workflow_fetches_the_commits_that_it_compares() -> None:
    assert "fetch-depth: 0" in workflow("github")
    assert "GIT_DEPTH: 0" in workflow("gitlab")


def test_the_runner_itself_says_how_long_a_gate_takes(project: ExampleRepository) -> None:
    shutil.copy(project.root / "bench.sh", project.root / "bench")
    (project.root / "bench").chmod(0o755)
    lines = commands(GUIDE.split("<!-- run -->\n")[1].split("\n\n")[0])
    assert [line.split()[1] for line in lines] == ["race", "plan", "plan"]
    assay: Assay = assay_in(project.root)
    race, *plans = (shlex.split(line)[1:] for line in lines)
    assay(*race)
    for plan in plans:
        answer = " ".join(assay(*plan).stdout.split())
        assert "probably be decided" in answer
        assert f"What is shown to be worse by more than {plan[-1]}% fails." in answer
