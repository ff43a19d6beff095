"""The table of roles and latency in the terminal."""

from io import StringIO

from rich.console import Console

from assay.plan.types import PlannedTrial
from assay.report.terminal import print_report
from example_report import example_report, experiment_text

FACTORS = 'subject = ["noop", "std_map_mutex"]'
MIX = "mix = { insert = 10, erase = 10, find = 80 }"
INSIDE = {
    "role_updaters_throughput": 1.5e6,
    "role_updaters_longest_ns": 2.5e6,
    "role_updaters_latency_p99_ns": 765.0,
    "latency_p50_ns": 123.0,
    "latency_p99_9_ns": 98765.0,
}


def printed(**others: float) -> str:
    """Return what a terminal of 80 columns shows of a campaign whose trials report these metrics too."""
    report = example_report(experiment_text(FACTORS, trial=MIX), lambda _: {"throughput": 1e6, **others})
    text = StringIO()
    print_report(report, Console(width=80, file=text))
    return text.getvalue()


def test_roles_and_latencies_stand_under_the_verdicts_within_80_columns() -> None:
    text = printed(**INSIDE)
    table = text[text.index("Roles and latency") :].splitlines()
    rows = [line.split() for line in table[1:] if line]
    assert rows[0][-5:] == ["op/s", "longest", "p50", "p99", "p99.9"]
    assert rows[1] == ["subject=noop", "123", "98.77k"]
    assert rows[2] == ["updaters", "1.5M", "2.5M", "765"]
    assert [row[0] for row in rows[3:]] == ["subject=std_map_mutex", "updaters"]
    assert text.index("Verdicts") < text.index("Roles and latency")
    assert max(map(len, text.splitlines())) <= 80


def test_pathological_outcomes_have_their_probability_where_the_experiment_names_a_bound() -> None:
    # one outcome of 12 is below a tenth of the median
    def throughput(trial: PlannedTrial) -> dict[str, float]:
        return {
            "throughput": 9.0
            if (trial.block, trial.levels["subject"]) == (3, "noop")
            else 100.0 + trial.block
        }

    asked = experiment_text(FACTORS, trial=MIX).replace("[comparison]", "[comparison]\npathological = 0.1")
    report = example_report(asked, throughput)
    text = StringIO()
    print_report(report, Console(width=120, file=text))
    assert "Pathological: throughput below 0.1 times the median of its condition" in text.getvalue()
    assert "subject=noop: 1 of 12 outcomes, 8.33% (95%: 0.211% to 38.5%)" in text.getvalue()
    assert "subject=std_map_mutex: 0 of 12 outcomes, 0% (95%: 0% to 26.5%)" in text.getvalue()
    assert "Pathological" not in printed()


def test_latencies_alone_are_a_row_for_each_condition() -> None:
    assert "Roles and latency" in printed(latency_p50_ns=7.0)


def test_without_them_there_is_no_such_table() -> None:
    assert "Roles and latency" not in printed()
    assert "Roles and latency" not in printed(probe_retries=3.0)
