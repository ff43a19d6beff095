"""The guide: what a finding's reader is sent to."""

import re
from pathlib import Path
from typing import Any

import pytest

from assay import audit, compare
from assay.audit import DESIGN_RULES, Rule, guide_page
from assay.audit.testing import check_page

GUIDE = guide_page("any").parent
EVERY: tuple[Rule[Any], ...] = (*audit.RULES, *compare.RULES)
RULES: tuple[Rule[Any], ...] = tuple({rule.id: rule for rule in EVERY}.values())
"""One that is checked of a campaign and of a comparison is one rule."""


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    pages = {path.stem for path in GUIDE.glob("*.md")} - {"README"}
    assert pages == {rule.id for rule in RULES}
    assert len({(rule.id, rule.title, rule.source) for rule in EVERY}) == len(RULES)
    assert all(len({rule.id for rule in rules}) == len(rules) for rules in (audit.RULES, compare.RULES))
    assert set(DESIGN_RULES) <= set(audit.RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_page_says_what_a_rule_sees_why_and_what_to_do(rule: Rule[Any]) -> None:
    check_page(rule)


def test_the_index_names_every_rule_in_the_order_of_the_rules() -> None:
    index = (GUIDE / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+)\]\((.+)\.md\) \| (?:error|warning|note|as the).* \| (.+) \|$", index, re.M)
    assert rows == [(rule.id, rule.id, rule.title) for rule in RULES]


def test_links_between_pages_lead_somewhere() -> None:
    for page in GUIDE.glob("*.md"):
        for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (GUIDE / link).exists(), f"{page.name}: {link}"


def test_the_documentation_shows_the_same_pages() -> None:
    link = Path(__file__).parents[3] / "docs/guide/audit"
    assert link.is_symlink()
    assert link.resolve() == GUIDE.resolve()
