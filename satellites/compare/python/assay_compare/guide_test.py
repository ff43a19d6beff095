"""The guide: each rule on comparisons has a page."""

from pathlib import Path
from typing import Any

import pytest

from assay.audit import GUIDE, Rule
from assay.audit.testing import check_guide, check_page
from assay_compare.rules import RULES


def test_the_guide_has_each_rule_and_its_index_names_them_in_order() -> None:
    check_guide(Path(__file__).parent / "docs/audit", RULES)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.guide != GUIDE], ids=lambda rule: rule.id)
def test_a_page_says_what_a_rule_sees_why_and_what_to_do(rule: Rule[Any]) -> None:
    check_page(rule)
