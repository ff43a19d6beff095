"""The guide: what a finding's reader is sent to."""

import re
from pathlib import Path
from typing import Any

import pytest

from assay.audit import DESIGN_RULES, GUIDE, RULES, Rule
from assay.audit.testing import check_guide, check_page


def test_the_guide_has_each_rule_and_its_index_names_them_in_order() -> None:
    check_guide(GUIDE, RULES)
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert set(DESIGN_RULES) <= set(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_page_says_what_a_rule_sees_why_and_what_to_do(rule: Rule[Any]) -> None:
    check_page(rule)


def test_links_between_pages_lead_somewhere() -> None:
    for page in GUIDE.glob("*.md"):
        for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (GUIDE / link).exists(), f"{page.name}: {link}"


def test_the_documentation_shows_the_same_pages() -> None:
    link = Path(__file__).parents[3] / "docs/guide/audit"
    assert link.is_symlink()
    assert link.resolve() == GUIDE.resolve()
