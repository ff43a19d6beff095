"""The summary in Markdown."""

from assay.findings import Finding
from assay.plan.types import PlannedTrial
from assay.report.markdown import summary
from example_report import example_report, experiment_text

FACTORS = 'subject = ["noop", "std_map_mutex"]\nthreads = [1, 2]'


def metrics(trial: PlannedTrial) -> dict[str, float]:
    return {"throughput": 1e6 * (1 + (trial.levels["subject"] == "noop")) + trial.ordinal}


def text_of(question: str = "Which is faster?", *findings: Finding) -> str:
    text = experiment_text(FACTORS, trial="mix = { insert = 10, erase = 10, find = 80 }")
    report = example_report(text.replace("Which is faster?", question), metrics)
    report.findings.extend(findings)
    return summary(report)


def test_a_summary_has_the_answer_the_trust_and_a_row_for_each_condition() -> None:
    text = text_of()
    assert text.startswith("## Which is faster?\n\nstd_map_mutex is slower")
    assert "**Trust: with confidence.**" in text
    rows = [line for line in text.splitlines() if line.startswith("| threads=")]
    assert len(rows) == 4
    assert rows[0].startswith("| threads=1 | noop | baseline | 1 |")
    assert rows[1].startswith("| threads=1 | std_map_mutex | slower | 0.5")
    assert "| median (op/s) |" in text


def test_findings_are_listed_and_names_are_no_markup() -> None:
    finding = Finding("It *was* <b>.", (), {}, "Wait.", severity="error", rule="busy")
    text = text_of("Is `a|b` <fast>?", finding)
    assert "## Is \\`a\\|b\\` \\<fast\\>?" in text
    assert "**Trust: not.** It \\*was\\*" in text
    assert "- error, busy: It \\*was\\* \\<b\\>." in text
