"""For tests of rules: campaigns that are correct except for a test's change, and a check of pages."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assay.audit import GUIDE, Rule, audit, guide_page, known_rules
from assay.experiment import Experiment, parse
from assay.findings import Finding
from assay.plan.types import Level
from assay.store.types import StoredTrial

HOST = {"processors": 4}
METRICS = {
    "throughput": 100.0,
    "generation_share": 0.05,
    "throughput_drift": 0.01,
    "throughput_variation": 0.05,
    "slowest_thread_share": 0.95,
    "involuntary_context_switches": 3.0,
    "migrations": 0.0,
    "major_page_faults": 0.0,
    "resident_before_bytes": 10e6,
    "peak_resident_bytes": 30e6,
    "steady": 1.0,
    "steady_after_ms": 0.0,
}
CALIBRATION = {"core_to_core_ns": 50.0, "memory_ns": 90.0, "arithmetic_ns": 1.0}
ENVIRONMENT: dict[str, dict[str, Any]] = {
    "processor": {"governor": "performance", "boost": False},
    "program": {"compiler": "GNU 12.2.0", "optimised": True, "assertions": False, "sanitizers": []},
    "library": {"flags": "-O3"},
    "allocator": {"name": "glibc", "version": "2.36"},
    "address_randomisation": {"kernel": 2, "process": True},
}

Change = Callable[[int, str, int], Mapping[str, Any]]
"""Returns the changed fields of a trial, given its block, subject and threads."""


def unchanged(_block: int, _subject: str, _threads: int) -> dict[str, Any]:
    """Leave every trial as it is."""
    return {}


def sometimes(**fields: Any) -> Change:
    """Change the trials of the other subject with 2 threads in the first 8 blocks."""
    return lambda block, subject, threads: fields if (subject, threads) == ("other", 2) and block < 8 else {}


def experiment(
    *,
    subjects: str = '["base", "other"]',
    baseline: str = '"base"',
    pinning: str = '"compact"',
    threads: str = "[1, 2]",
    blocks: str | int = 10,
    duration_ms: int = 1000,
    key_range: int = 100,
    mix: str = "insert = 10, erase = 10, find = 80",
    metric: str = "throughput",
    comparison: str = "",
    trial: str = "",
    more: str = "",
) -> Experiment:
    """Return an experiment that compares subjects, by default two, with each number of threads."""
    return parse(
        f"""
name = "example"
question = "Which is faster?"
[factors]
subject = {subjects}
threads = {threads}
[trial]
pinning = {pinning}
key_range = {key_range}
mix = {{ {mix} }}
duration_ms = {duration_ms}
{trial}
[comparison]
metric = "{metric}"
factor = "subject"
baseline = {baseline}
smallest_effect_percent = 5
{comparison}
[design]
blocks = {blocks}
{more}
""",
        Path("example.toml"),
    )


def trials(planned: Experiment, change: Change = unchanged, blocks: int = 10) -> list[StoredTrial]:
    """Return the trials of a campaign."""
    made: list[StoredTrial] = []
    conditions = planned.conditions()
    for block in range(blocks):
        for context, threads in enumerate(planned.factors["threads"]):
            for subject in planned.factors["subject"]:
                levels: dict[str, Level] = {"subject": subject, "threads": threads}
                if levels not in conditions:
                    continue
                fields: dict[str, Any] = {
                    "id": len(made) + 1,
                    "ordinal": len(made),
                    "block": block,
                    "group": len(planned.factors["threads"]) * block + context,
                    "levels": levels,
                    "started_at": datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=len(made)),
                    "wall_s": 1.0,
                    "status": "valid",
                    "reason": "",
                    "metrics": METRICS,
                    "calibration_before": CALIBRATION,
                    "calibration_after": CALIBRATION,
                    "environment": "usual",
                }
                made.append(StoredTrial(**fields | dict(change(block, str(subject), int(threads)))))
    return made


def findings(
    change: Change = unchanged,
    blocks: int = 10,
    environments: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, list[Finding]]:
    """Return rule -> its findings in a campaign."""
    planned = experiment(blocks=max(blocks, 1), **settings)
    by_rule: dict[str, list[Finding]] = {}
    known = {"usual": ENVIRONMENT} if environments is None else environments
    for finding in audit(planned, trials(planned, change, blocks), HOST, environments=known):
        by_rule.setdefault(finding.rule, []).append(finding)
    return by_rule


def check_guide(folder: Path, rules: Sequence[Rule[Any]]) -> None:
    """Check that each of the rules has a page in a guide's folder, and its index names them in their order.

    A rule whose page is in the core's guide has the title and source of the core's rule of that name.
    """
    own = [rule for rule in rules if rule.guide == folder]
    assert own
    assert {path.stem for path in folder.glob("*.md")} - {"README"} == {rule.id for rule in own}
    index = (folder / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+)\]\((.+)\.md\) \| (?:error|warning|note|as the).* \| (.+) \|$", index, re.M)
    assert rows == [(rule.id, rule.id, rule.title) for rule in own]
    for rule in set(rules) - set(own):
        known = known_rules()[rule.id]
        assert (rule.guide, rule.title, rule.source) == (GUIDE, known.title, known.source)


def check_page(rule: Rule[Any]) -> None:
    """Check that a rule's page in the guide has all parts in the right order."""
    page = guide_page(rule.id).read_text(encoding="utf-8")
    assert page.startswith(f"# {rule.title}\n")
    parts = ["Severity: ", "**Sees**", "**Why.**", "**Do.**", "**Example.**", f"Source: {rule.source}.\n"]
    places = [page.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
