"""The pages of a campaign: its report, and the page that shows any one trial."""

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.analysis import ConditionSummary
from assay.analysis.aa import false_alarms
from assay.audit import RULES
from assay.report import charts, sensitivity, words
from assay.report.gather import Report
from assay.report.headline import headline
from assay.report.hosts import disagreement, medians_of_hosts, rows_of_hosts
from assay.report.markdown import summary
from assay.report.meaning import section
from assay.report.metrics import anchor_of, measured, unit_in
from assay.report.picture import ladders, picture
from assay.report.records import chunks, record_files
from assay.report.render import render
from assay.report.trust import trust
from assay.report.verdicts import how_far
from assay.store import Store
from assay.words import condition_name, number

LISTED_AT_MOST = 50
"""Places, trials or decisions that a campaign's page names one by one; there may be thousands."""
UNFOLDED = ("hosts", "medians", "charts")
"""The sections of charts that are open from the start."""
PANELS_AT_MOST = 12
"""Contexts of the first picture that are open from the start."""
ENVIRONMENTS_AT_MOST = 5
"""Different environments that a campaign's page shows; each record has its own."""


def campaign_files(
    report: Report, store: Store, folder: Path, guide: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file of a campaign's report, index.html last.

    Args:
        report: the campaign.
        store: holds its raw records.
        folder: where the files will be.
        guide: the rules that have a page in the guide.
    """
    yield "experiment.toml", report.campaign.source
    yield "experiment.json", _with_seed(report)
    yield "summary.md", summary(report)
    drawn = [figure for figure in charts.figures(report) if figure.section != "ratios"]
    comparisons = report.analysis.comparisons
    environments = Counter(trial.environment for trial in report.trials if trial.environment is not None)
    conditions = sensitivity.measured(report) if report.experiment.varied else []
    content = render(
        "campaign.html",
        root="../",
        report=report,
        rules={rule.id: rule for rule in RULES},
        guide=guide,
        sections=[
            (name, *charts.SECTIONS[name][1:], list(figures))
            for name, figures in groupby(drawn, attrgetter("section"))
        ],
        **charts.page_content(drawn),
        headline=headline(report),
        disagreement=disagreement(report),
        by_host=list(rows_of_hosts(report)),
        host_medians=medians_of_hosts(report),
        sensitivity=[
            {
                "name": sensitivity.name_of(condition),
                "rows": list(sensitivity.rows(condition)),
                "about": sensitivity.about(condition, report.experiment),
            }
            for condition in conditions
        ],
        relations=sensitivity.relations(conditions, report.experiment),
        sensitivity_headings=sensitivity.HEADINGS,
        trust=trust(report),
        picture=picture(report),
        ladders=ladders(report),
        answers=report.answers,
        all_rows=[row for context in report.answers.contexts for row in context.rows],
        unit=unit_in(report.experiment, report.analysis.metric),
        anchor_of=anchor_of,
        unfolded=UNFOLDED,
        panels_at_most=PANELS_AT_MOST,
        measured={
            metric: measured(report.experiment, metric)
            for metric in (report.analysis.metric, *report.experiment.comparison.also)
        },
        failed=[trial for trial in report.trials if trial.status != "valid"],
        trials_of=_by_condition(report),
        listed_at_most=LISTED_AT_MOST,
        beside=any(answer.modes or answer.all_groups.pairs != answer.pairs for answer in comparisons),
        beside_differ=any(words.otherwise(answer) for answer in comparisons),
        beside_modes=[
            mode for mode in ("fast", "slow") if any(mode in answer.modes for answer in comparisons)
        ],
        false_alarms=false_alarms(report.analysis) if report.experiment.identical else None,
        meaning=section(report, how_far(report, store)),
        commands=_commands(report, store, folder / "experiment.json"),
        environments=_environments(report, store, environments.most_common(ENVIRONMENTS_AT_MOST)),
        more_environments=max(0, len(environments) - ENVIRONMENTS_AT_MOST),
    )
    yield "index.html", content


def trial_files(report: Report, store: Store) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of the page that shows any one trial, and of the records that it loads."""
    reported = sorted({name for trial in report.trials for name in trial.metrics})
    about = {
        "campaign": report.campaign.id,
        "conditions": [condition_name(condition.levels) for condition in report.analysis.conditions],
        "metrics": {name: (unit_in(report.experiment, name), anchor_of(name)) for name in reported},
        "chunks": [chunk[0].id for chunk in chunks(report)],
    }
    yield "trial.html", render("trial.html", root="../", report=report, about=about)
    yield from record_files(report, store)


def _by_condition(report: Report) -> list[tuple[ConditionSummary, list[tuple[int, str]]]]:
    """Return each condition with its trials: the number of each, and its value or why it does not count."""
    trials: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for trial in report.trials:
        value = number(trial.metrics.get(report.analysis.metric))
        told = value if trial.status == "valid" else trial.status.replace("_", " ")
        trials[report.number(trial)].append((trial.id, told))
    return [(condition, trials[report.number(condition)]) for condition in report.analysis.conditions]


def _with_seed(report: Report) -> str:
    """Return the resolved experiment with its text and the seed of its campaign, whose plan it gives."""
    resolved = report.experiment.altered(design={"seed": report.campaign.seed})
    whole = {**resolved.model_dump(mode="json"), "source": report.campaign.source}
    return json.dumps(whole, ensure_ascii=False, indent=1)


def _commands(report: Report, store: Store, resolved: Path) -> list[tuple[str, str]]:
    """Return what to type to get the campaign, this page and its numbers again, with what each gives."""
    campaign, analysis = report.campaign, report.analysis
    where = f" --store {shlex.quote(str(store.name.absolute()))}"
    select = ", ".join(
        [*(f'"{factor}"' for factor in report.experiment.factors), f'median("{analysis.metric}")']
    )
    group = ", ".join(str(i) for i in range(1, len(report.experiment.factors) + 1))
    query = shlex.quote(f"select {select} from trials group by {group}")  # noqa: S608 - shown, not run
    return [
        ("the same plan again", f"assay run {shlex.quote(str(resolved))}{where}"),
        ("this page", f"assay report --campaign {campaign.id}{where}"),
        ("the findings", f"assay report --campaign {campaign.id} --audit{where}"),
        ("the medians", f"assay store query {query} --campaign {campaign.id}{where}"),
    ]


def _environments(
    report: Report, store: Store, digests: list[tuple[str, int]]
) -> list[tuple[int, dict[str, Any]]]:
    """Return what trials reported of the machine and the program, with how many did, for (digest, count)."""
    first = {trial.environment: trial.id for trial in reversed(report.trials)}
    records = store.records_of([first[digest] for digest, _ in digests])
    return [
        (count, record["result"]["environment"]) for (_, count), record in zip(digests, records, strict=True)
    ]
