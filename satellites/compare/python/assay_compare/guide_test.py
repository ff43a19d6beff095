"""The guide: each rule on comparisons has a page."""

import re
from pathlib import Path
from typing import Any

import pytest

from assay.audit import GUIDE, Rule, known_rules
from assay.audit.testing import check_page
from assay_compare.rules import RULES

PAGES = Path(__file__).parent / "docs/audit"
OWN: tuple[Rule[Any], ...] = tuple(rule for rule in RULES if rule.guide != GUIDE)


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == {rule.id for rule in OWN}


def test_a_rule_of_the_cores_name_has_its_title_and_source() -> None:
    shared = [rule for rule in RULES if rule not in OWN]
    assert [(rule.title, rule.source) for rule in shared] == [
        (known.title, known.source) for known in (known_rules()[rule.id] for rule in shared)
    ]


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.id)
def test_a_page_says_what_a_rule_sees_why_and_what_to_do(rule: Rule[Any]) -> None:
    check_page(rule)


def test_the_index_names_every_rule_in_the_order_of_the_rules() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+)\]\((.+)\.md\) \| (?:error|warning|note) \| (.+) \|$", index, re.M)
    assert rows == [(rule.id, rule.id, rule.title) for rule in OWN]
