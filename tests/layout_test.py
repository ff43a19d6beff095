"""Layouts over the whole path: drawn, linked, run, recorded, and what is said where they cannot be."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay.runner.elf import build_id
from conftest import ROOT, Assay

BLOCKS = 6
OURS = f"""
name = "ours"
[factors]
subject = ["noop", "std_map_mutex"]
[trial]
key_range = 100
duration_ms = 2
mix = {{ find = 100 }}
[design]
blocks = {BLOCKS}
[perturb]
layout = true
"""
COMMANDS = f"""
name = "commands"
[factors]
subject = ["linked", "foreign"]
[design]
blocks = {BLOCKS}
seed = 1 # of a few sections some seeds make the same order
[perturb]
layout = true
[comparison]
metric = "sum"
better = "lower"
[subjects.linked]
program = "./sum"
extract = "lines"
build = "cc -O1 -ffunction-sections -o sum sum.c && cc -O1 -ffunction-sections -c sum.c"
link = "LINK"
[subjects.foreign]
program = "printf"
arguments = ["sum=14\\n"]
extract = "lines"
"""
LINK = (
    "cc -o {output} sum.o -B{lld} -fuse-ld=lld -Wl,--build-id=sha1 -Wl,--shuffle-sections='.text*={layout}'"
)
SOURCE = """
#include <stdio.h>
__attribute__((noinline)) int one(int x) { return x + 1; }
__attribute__((noinline)) int two(int x) { return 2 * x; }
__attribute__((noinline)) int three(int x) { return x + 3; }
__attribute__((noinline)) int four(int x) { return x - 4; }
int main(int count, char** words) { printf("sum=%d\\n", one(two(three(four(count)))) + 13); }
"""


def records(assay: Assay) -> list[dict[str, Any]]:
    """Return the records of all trials, in their order."""
    listed = json.loads(assay("store", "list", "trials", "--json").stdout)["trials"]
    return [json.loads(assay("store", "show", str(trial["trial"]), "--json").stdout) for trial in listed]


def write_commands(folder: Path, link: str) -> None:
    (folder / "sum.c").write_text(SOURCE)
    (folder / "x.toml").write_text(COMMANDS.replace("LINK", link))


@pytest.mark.usefixtures("steady_host")
def test_each_block_runs_our_subjects_in_a_layout_of_its_own(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(OURS)
    assay("run", "x.toml", "--no-page", "--set", "threads=1")
    assert "and the same layout" in assay("store", "replay", "1").stdout
    blocks: dict[int, set[tuple[int, str]]] = {}
    for record in records(assay):
        assert record["status"] == "valid", record["reason"]
        drawn = (record["perturbation"]["layout"], record["build_id"])
        blocks.setdefault(record["block"], set()).add(drawn)
    assert len(blocks) == BLOCKS
    assert all(len(drawn) == 1 for drawn in blocks.values())
    assert len(set.union(*blocks.values())) == BLOCKS
    built = build_id(ROOT / "build" / "release" / "bin" / "assay-trial")
    assert built not in {build_id for drawn in blocks.values() for _, build_id in drawn}


@pytest.mark.usefixtures("steady_host")
def test_without_layouts_every_trial_runs_what_was_built(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(OURS.replace("layout = true", "layout = false"))
    assay("run", "x.toml", "--no-page", "--blocks", "1", "--anyway")
    for record in records(assay):
        assert "layout" not in record["perturbation"]
        assert record["build_id"] == build_id(Path(record["program"]))


@pytest.mark.usefixtures("steady_host")
def test_a_link_command_draws_layouts_and_what_has_none_is_a_finding(assay: Assay, tmp_path: Path) -> None:
    write_commands(tmp_path, LINK)
    done = assay("run", "x.toml", "--no-page")
    assert "foreign runs in one layout: it has no link command" in done.stderr
    ran = records(assay)
    linked = {record["build_id"] for record in ran if record["levels"]["subject"] == "linked"}
    assert len(linked) == BLOCKS
    assert build_id(tmp_path / "sum") not in linked
    foreign = [record for record in ran if record["levels"]["subject"] == "foreign"]
    assert {record["build_id"] for record in foreign} == {build_id(Path(foreign[0]["program"]))}
    assert not any("layout" in record["perturbation"] for record in foreign)
    findings = json.loads(assay("report", "--audit", "--json").stdout)["campaign_findings"]
    (finding,) = [finding for finding in findings if finding["rule"] == "one-layout"]
    assert finding["message"].startswith("Chance may decide 1 of 1 verdict")
    assert finding["where"][0].startswith("subject=foreign (foreign: it has no link command)")


@pytest.mark.usefixtures("steady_host")
def test_sensitivity_draws_a_layout_for_each_configuration_and_says_where_it_cannot(
    assay: Assay, tmp_path: Path
) -> None:
    write_commands(tmp_path, LINK)
    done = assay("run", "--sensitivity", "x.toml", "--no-page", "--configurations", "4", "--replicates", "2")
    told = assay("report", "--verbose").stdout
    assert "The layout was not drawn: it has no link command." in told
    assert "Layouts of code and data were drawn for configurations" in told
    assert "foreign runs in one layout: it has no link command" in done.stderr
    ids: dict[tuple[str, str, int], set[str]] = {}
    for record in records(assay):
        levels = record["levels"]
        place = (levels["subject"], levels["perturbed"], levels["configuration"])
        ids.setdefault(place, set()).add(record["build_id"])
    assert all(len(drawn) == 1 for drawn in ids.values())  # replicates share it
    built = {build_id(tmp_path / "sum")}
    assert all(ids["linked", level, 1] == built for level in ("nothing", "environment"))
    drawn = set.union(*(ids["linked", level, of] for level in ("layout", "everything") for of in range(1, 5)))
    assert not drawn & built
    assert len(drawn) > 4
    linked, foreign = json.loads(assay("report", "--json").stdout)["sensitivity"]
    assert linked["perturbed"]["layout"]["configurations"] == 4
    assert linked["one_layout"] == ""
    assert foreign["perturbed"]["layout"] is None
    assert foreign["one_layout"] == "it has no link command"


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("echo not today >&2; exit 3 # {output} {layout}", "exited with 3; correct it"),
        (
            LINK.replace("{layout}", "7 # {layout}").replace("'", ""),
            "gives the same layout whatever the seed",
        ),
    ],
)
@pytest.mark.usefixtures("steady_host")
def test_a_link_that_does_not_do_it_ends_before_anything_is_recorded(
    assay: Assay, tmp_path: Path, link: str, why: str
) -> None:
    write_commands(tmp_path, link)
    done = assay("run", "x.toml", "--no-page", expect=2)
    assert why in done.stderr
    assert json.loads(assay("store", "list", "--json").stdout)["campaigns"] == []


@pytest.mark.usefixtures("steady_host")
def test_a_link_that_fails_later_loses_nothing(assay: Assay, tmp_path: Path) -> None:
    # That of the third block is the sixth, after those that try it.
    write_commands(tmp_path, f"echo x >> links; test $(wc -l < links) -ne 6 && {LINK}")
    done = assay("run", "x.toml", "--no-page", expect=2)
    assert "nothing is lost" in done.stderr
    assert len(records(assay)) in {4, 5}  # that of the command without a link may run first in its block
    assay("resume", "--no-page")
    ran = records(assay)
    assert len(ran) == 2 * BLOCKS
    assert len({record["build_id"] for record in ran if record["levels"]["subject"] == "linked"}) == BLOCKS


def test_a_recorded_link_is_whole(tmp_path: Path) -> None:
    """What was recorded links without the files that it was made of, which an installed program lacks."""
    record = ROOT / "build" / "release" / "bin" / "assay-trial.link.tar"
    subprocess.run(["tar", "-xf", record, "--strip-components=1"], cwd=tmp_path, check=True)
    response = (tmp_path / "response.txt").read_text().splitlines()
    assert response[0] == "--chroot ."
    assert not [word for line in response[1:] for word in line.split() if word.startswith(str(ROOT))]
