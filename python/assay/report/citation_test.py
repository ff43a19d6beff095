"""A campaign's citation finds it again, and BibTeX and LaTeX can read it."""

import re
from datetime import UTC, datetime
from typing import Any

from assay.report.citation import citation
from assay.store.types import CampaignSummary

COMMIT = {"hash": "a" * 40, "subject": "x", "committed_at": "2026-01-01", "changed": ["a.c"]}


def campaign(question: str = "Is it faster?", **host: Any) -> CampaignSummary:
    return CampaignSummary(
        id=3,
        experiment="maps",
        question=question,
        seed=42,
        source="",
        started_at=datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
        planned=8,
        counts={"valid": 7, "crashed": 1},
        host={"name": "vm", "processors": 2, "kernel": "6.1", **host},
    )


def test_it_says_what_was_measured_when_where_and_from_which_seed() -> None:
    text = citation(campaign(commit=COMMIT)).text
    assert text.startswith("maps: Is it faster? 8 trials with Assay ")
    for part in (
        "2026-03-04 05:06:07 UTC",
        "vm (2 processors, kernel 6.1)",
        "seed 42",
        "a" * 40,
        "1 changed",
    ):
        assert part in text, part


def test_it_names_the_hosts_that_ran_it_and_not_the_one_that_led_it() -> None:
    assert "on 2 hosts (a and b), seed" in citation(campaign(), ["a", "b"]).text
    many = citation(campaign(), list("abcdefg")).text
    assert "on 7 hosts (a, b, c, d and 3 others), seed" in many
    assert "on a, seed" in citation(campaign(), ["a"]).text
    assert "on vm (2 processors" in citation(campaign(), ["vm"]).text


def test_an_imported_campaign_names_its_tool() -> None:
    foreign = {"tool": "hyperfine", "version": "1", "file": "x.json", "sha256": "0"}
    assert "with hyperfine," in citation(campaign(foreign=foreign)).text


def test_bibtex_has_one_entry_whatever_the_question_holds() -> None:
    bibtex = citation(campaign("100% of {a_b} & c\\d}\n@misc{evil, ~^$#")).bibtex
    assert bibtex.startswith("@misc{maps-2026-03-04-050607,\n")
    assert "\n@" not in bibtex
    plain = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum)\{\}|\\.", "", bibtex, flags=re.DOTALL)
    depth = 0
    for character in plain:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert "month = mar," in bibtex
    assert not re.search(r"[%&$#_~^]", plain)
