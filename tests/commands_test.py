"""Programs that know nothing of Assay, from a TOML file to a verdict, through real commands and processes."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Assay, verdicts_of_all_groups

pytestmark = pytest.mark.usefixtures("steady_host")

EXPERIMENT = """
name = "mine"
question = "Is less work less?"
[factors.amount]
some = { parameters = { words = "work=1" } }
more = { parameters = { words = "work=2" } }
[trial]
subject = "mine"
[design]
blocks = 6
repeat = 0
[comparison]
metric = "work"
factor = "amount"
baseline = "some"
smallest_effect_percent = 3
better = "lower"
[subjects.mine]
program = "./mine"
arguments = ["{words}", "{seed}"]
build = "echo built >> builds; cp mine.sh mine; chmod +x mine"
"""
PRINTS = """#!/bin/sh
printf '%s\\n' "It was done." "$1" "seed=$2"
"""
LINES = 'extract = "lines"\n'


def write(folder: Path, rules: str = LINES, script: str = PRINTS) -> None:
    (folder / "mine.toml").write_text(EXPERIMENT + rules)
    (folder / "mine.sh").write_text(script)


def query(assay: Assay, sql: str) -> list[list[Any]]:
    rows: list[list[Any]] = json.loads(assay("store", "query", sql, "--json").stdout)["rows"]
    return rows


def test_a_command_is_built_before_it_runs_and_its_lines_become_metrics(assay: Assay, tmp_path: Path) -> None:
    write(tmp_path, script="\x7fELF, and no more")
    message = assay("run", "mine.toml", expect=2).stderr
    assert re.search("mine .*Exec format error", message)
    assert "resume --campaign 1" in message
    assert (tmp_path / "builds").read_text() == "built\n"
    write(tmp_path)
    assert verdicts_of_all_groups(assay("resume", "--json", "--no-page").stdout) == ["slower"]
    assert (tmp_path / "builds").read_text() == "built\nbuilt\n"
    rows = query(
        assay, "select distinct amount, work, wall_ms > 0, peak_resident_bytes > 0 from trials order by 2"
    )
    assert rows == [["some", 1, 1, 1], ["more", 2, 1, 1]]
    assert query(assay, "select count(distinct seed) from trials") == [[12]]
    record = json.loads(assay("store", "show", "1", "--json").stdout)
    assert record["stdout"].startswith("It was done.\nwork=")
    assert record["request"]["parameters"] in ({"words": "work=1"}, {"words": "work=2"})


def test_a_rule_about_a_text_is_checked_by_the_audit(assay: Assay, tmp_path: Path) -> None:
    rule = '[[validate]]\ntext = "validate_result"\nequals = "success"\n'
    write(
        tmp_path,
        LINES + rule,
        PRINTS + '[ "$1" = work=1 ] && echo validate_result=success || echo validate_result=lost\n',
    )
    assay("run", "mine.toml", "--no-page")
    findings = json.loads(assay("plan", "mine.toml", "--audit", "--json").stdout)["campaign_findings"]
    (message,) = [finding["message"] for finding in findings if finding["rule"] == "validate"]
    assert message.startswith("validate_result must equal 'success': 6 of 12 valid trials violate it")
    assert message.endswith(": 'lost').")


def test_a_rule_that_finds_nothing_or_too_much_says_so(assay: Assay, tmp_path: Path) -> None:
    write(tmp_path, "extract = { work = '=([12])$' }\n", PRINTS + 'test -e good || echo "$1"\n')
    message = assay("run", "mine.toml", expect=2).stderr
    [(status, reason)] = query(assay, "select status, reason from trials")
    assert status == "invalid"
    assert reason.startswith("work: ")
    assert "'=([12])$'" in reason
    assert "more than once" in reason
    assert f"error: subjects.mine.extract: {reason}" in message
    assert "work=" in assay("store", "show", message.split()[-1]).stdout
    (tmp_path / "good").touch()
    message = assay("resume", "--no-page", expect=1).stderr
    assert "1 of 12 trials" in message
    assert f"trial 1 invalid: {reason}" in message


def test_hostile_output_is_kept_and_injects_nothing(assay: Assay, tmp_path: Path) -> None:
    hostile = r"""#!/bin/sh
printf '</script><script>alert(1)</script><img src=x onerror=alert(1)>\n'
printf '\033]0;owned\007\033[2J\377\376\000\n'
printf "work; DROP TABLE trial;--=3\nwork=1e999\nWork=1\n$1\n"
"""
    write(tmp_path, script=hostile)
    assay("run", "mine.toml")
    assert query(assay, "select distinct work from trials order by 1") == [[1], [2]]
    shown = assay("store", "show", "1").stdout
    assert "\033" not in shown
    assert "<script>alert" in json.loads(assay("store", "show", "1", "--json").stdout)["stdout"]
    pages = [file for file in (tmp_path / "results").rglob("*") if file.suffix in {".html", ".js"}]
    assert {"index.html", "trial.html"} <= {page.name for page in pages}
    for page in pages:
        assert not re.search(rb"<script>alert|<img src=x", page.read_bytes()), page


def test_a_build_that_fails_is_shown_and_begins_no_campaign(assay: Assay, tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "mine.sh").unlink()
    printed = assay("run", "mine.toml", expect=2).stderr
    assert "\ncp: cannot stat 'mine.sh'" in printed
    [error] = re.findall(r"^error: .*", printed, re.MULTILINE)
    assert error == printed.splitlines()[-1]
    assert '"echo built ' in error
    assert "exited with 1" in error
    assert json.loads(assay("store", "list", "--json").stdout)["campaigns"] == []


EXAMPLES = ("sort", "traverse", "checksums")  # in the order of the guide


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_run(assay: Assay, tmp_path: Path, name: str) -> None:
    """Cut down to six blocks; what they find is the machine's business."""
    shutil.copytree(ROOT / "examples" / "commands", tmp_path / "commands")
    file = tmp_path / "commands" / f"{name}.toml"
    text = re.sub(r"(?m)^until = .*\n", "", file.read_text())
    file.write_text(re.sub(r"(?m)^blocks = .*$", "blocks = 6", text))
    printed = json.loads(assay("run", file, "--anyway", "--json", "--no-page").stdout)
    analysis = printed["analysis"]
    assert analysis["comparisons"]
    assert [condition["counts"] for condition in analysis["conditions"]] == [{"valid": 6}] * 2


def test_the_guide_shows_the_examples_as_they_are() -> None:
    guide = (ROOT / "docs" / "guide" / "commands.md").read_text()
    shown = re.findall(r"^```toml\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    files = [(ROOT / "examples" / "commands" / f"{name}.toml").read_text() for name in EXAMPLES]
    assert all(part in file for part, file in zip(shown, files, strict=True))
