import json
from typing import Any

import pytest
from typer.testing import CliRunner

from assay import programs
from assay.cli.commands import app
from assay.cli.subjects import listed_subjects
from assay.errors import AssayError


def entry(name: str, description: str, *operations: str, **more: Any) -> dict[str, Any]:
    plain = {"structure": "map", "max_threads": None, "types": [["uint64", "uint64"]]}
    return (
        plain
        | {"holds_nothing": False, "reclaims": ""}
        | {"name": name, "description": description, "operations": ["insert", *operations]}
        | more
    )


ENTRIES = [
    entry("bt_map", "assay::bt_map: a tree, " + "with many words " * 10, "range"),
    entry("bt_map_6", "bt_map with nodes of 6", "range"),
    entry("bt_map_7", "bt_map_6, with nodes of 7"),
    entry("noop", "no map at all", holds_nothing=True),
    entry("std_map_mutex", "std::map behind a mutex", "range", max_threads=1),
    entry("tbb_queue", "a heap", structure="queue"),
]


def names(**wanted: Any) -> list[str]:
    return [subject["subject"] for subject in listed_subjects(ENTRIES, **wanted)]


def test_subjects_are_chosen_by_whose_they_are_and_what_they_can_do() -> None:
    assert names() == [entry["name"] for entry in ENTRIES]
    assert names(ours=True) == ["bt_map", "bt_map_6", "bt_map_7"]
    assert names(structure="queue") == ["tbb_queue"]
    assert names(operations=["range", "insert"], ours=True) == ["bt_map", "bt_map_6"]
    with pytest.raises(AssayError, match=r"^--with rnage: .*; did you mean range"):
        names(operations=["rnage"])


def test_a_variant_is_described_by_the_name_of_another_subject() -> None:
    variants = {subject["subject"]: subject["variant_of"] for subject in listed_subjects(ENTRIES)}
    assert {name: of for name, of in variants.items() if of} == {"bt_map_6": "bt_map", "bt_map_7": "bt_map_6"}


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "listing", lambda _: ENTRIES)


def printed(*options: str) -> str:
    ended = CliRunner().invoke(app, ["store", "list", "subjects", *options], catch_exceptions=False)
    assert ended.exit_code == 0
    return ended.stdout


@pytest.mark.usefixtures("listing")
def test_what_a_user_would_compare_is_listed_by_structure_on_lines_of_80() -> None:
    lines = printed().splitlines()
    assert [line.split()[0] for line in lines[:5]] == [
        "maps",
        "bt_map",
        "std_map_mutex",
        "queues",
        "tbb_queue",
    ]
    assert all(len(line) <= 80 for line in lines)
    assert "3 subjects; --variants lists 3 more" in lines[-2]
    assert "noop" in printed("--variants")
    assert "at most 1 thread" in printed("--verbose")
    assert len(json.loads(printed("--json"))["subjects"]) == 6


def test_the_real_ones_are_told_apart_by_their_descriptions() -> None:
    subjects = listed_subjects(programs.listing(programs.find("assay-trial")), ours=True)
    assert [subject["subject"] for subject in subjects if not subject["variant_of"]] == [
        "bt_map",
        "bt_multimap",
        "elb_multimap",
        "elb_priority_queue",
        "natarajan_mittal_bst",
        "radix_map",
        "ticket_bst",
        "treap_optimistic",
    ]


@pytest.mark.parametrize("option", ["--ours", "--variants", "--verbose", "--with=range", "--structure=map"])
def test_campaigns_are_not_chosen_by_what_subjects_can_do(option: str) -> None:
    with pytest.raises(
        AssayError, match=r"belongs to `assay store list subjects`; leave it out to list trials"
    ):
        CliRunner().invoke(app, ["store", "list", "trials", option], catch_exceptions=False)
