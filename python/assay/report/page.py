"""The page of a campaign: static files that open from disk, without a network and without fetch.

`index.html` holds the report, `condition-N.html` the records of a condition's trials, `vega.js` what draws
the charts. Whatever comes from outside (names, reasons, output of programs) is escaped: in HTML by Jinja's
autoescape, in scripts by its `tojson`, which also escapes `<`, `>`, `&` and `'`.
"""

import html
import json
import re
import shlex
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.audit import RULES, condition_name
from assay.errors import AssayError
from assay.experiment import parse
from assay.report import words
from assay.report.charts import by_threads, figures, specifications
from assay.report.gather import Report
from assay.store import Store
from assay.store.types import StoredTrial


def write(report: Report, store: Store, directory: Path) -> Path:
    """Write a campaign's page into a folder, index.html last, and return the path of that.

    Raises:
        AssayError: the folder cannot be written.
    """
    trials: dict[int, list[StoredTrial]] = defaultdict(list)
    for trial in report.trials:
        trials[report.number(trial)].append(trial)
    directory = directory.absolute()
    source, same_plan = _again(report, directory / "experiment.toml")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(directory / "vega.js", vl_convert.javascript_bundle(None))  # type: ignore[arg-type]
        _write(directory / "experiment.toml", source)
        for number, condition in enumerate(report.analysis.conditions, start=1):
            records = store.records_of([trial.id for trial in trials[number]])
            page = _template("condition.html").render(
                report=report,
                condition=condition,
                records=(
                    (trial, record, _source_text(record), _series(record))
                    for trial, record in zip(trials[number], records, strict=True)
                ),
            )
            _write(directory / f"condition-{number}.html", page)
        drawn = list(figures(report))
        page = _template("index.html").render(
            report=report,
            rules={rule.id: rule for rule in RULES},
            figures=drawn,
            specifications=specifications(report),
            data=[[figure.kind, figure.columns, figure.rows] for figure in drawn],
            by_threads=by_threads(report),
            failed=[trial for trial in report.trials if trial.status != "valid"],
            source=source,
            commands=_commands(report, store, directory if same_plan else None),
            environment=_environment(report, store),
        )
        _write(directory / "index.html", page)
    except OSError as error:
        raise AssayError(
            f"cannot write the page in {directory}: {error.strerror}; choose another folder with --output"
        ) from error
    return directory / "index.html"


@cache
def _environment_of_templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"words": words, "condition_name": condition_name}
    environment.filters |= {"code": _code, "points": _points}
    return environment


def _template(name: str) -> Any:
    return _environment_of_templates().get_template(name)


def _write(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(text.encode("utf-8", errors="replace"))
    part.replace(path)


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _series(record: dict[str, Any]) -> list[int]:
    """Return how many operations all threads completed in each interval; empty if the trial does not say."""
    threads = (record["result"] or {}).get("threads", [])
    return [sum(counts) for counts in zip_longest(*(thread["series"] for thread in threads), fillvalue=0)]


def _code(text: str) -> Markup:
    """Return text as HTML in which what stands between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text)))  # noqa: S704 - escaped right here


def _points(series: Sequence[int]) -> str:
    """Return a series as points of an SVG polyline, from 0 below to its largest above, in 100 by 100."""
    across, up = max(len(series) - 1, 1), max(*series, 1)
    return " ".join(
        f"{100 * place / across:.4g},{100 - 100 * value / up:.4g}" for place, value in enumerate(series)
    )


def _source_text(value: Any) -> Markup:
    """Return a record as JSON text for an HTML element: two levels broken into lines, the rest in one."""
    return Markup(html.escape(_json(value, levels=2), quote=False))  # noqa: S704 - escaped right here


def _json(value: Any, levels: int, indent: str = "") -> str:
    """Return JSON text; only the outer `levels` of objects have a line for each key."""
    if levels == 0 or not isinstance(value, dict) or not value:
        return _encode(value)
    inner = indent + "  "
    lines = (f"{inner}{_encode(key)}: {_json(each, levels - 1, inner)}" for key, each in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _again(report: Report, path: Path) -> tuple[str, bool]:
    """Return the experiment's text as it is to stand at `path`, and whether that gives the same plan again.

    To do so it has the campaign's seed, and names programs of one's own by absolute paths.
    """
    asked, seed = report.experiment, report.campaign.seed
    wanted = replace(asked, path=path, source="", design=replace(asked.design, seed=seed))
    text = _PROGRAM.sub(
        lambda found: found[1] + _absolute(found[2], Path(report.campaign.directory)), report.campaign.source
    )
    if asked.design.seed is None:
        text = re.sub(r"^(\s*\[\s*design\s*\].*)$", rf"\1\nseed = {seed}", text, count=1, flags=re.MULTILINE)
    try:
        if replace(parse(text, path), source="") == wanted:
            return text, True
    except AssayError:
        pass
    return (
        f"# Set seed = {seed} in the design to get this campaign's plan again.\n{report.campaign.source}",
        False,
    )


_PROGRAM = re.compile(r"""(\bprogram\s*=\s*)("(?:[^"\\\n]|\\.)+"|'[^'\n]+')""")


def _absolute(literal: str, directory: Path) -> str:
    """Return a TOML string that holds a path as one that holds it from the root."""
    path: str = tomllib.loads(f"path = {literal}")["path"]
    return json.dumps(str(directory / path), ensure_ascii=False)


def _commands(report: Report, store: Store, again: Path | None) -> list[tuple[str, str]]:
    """Return what to type to get the campaign, this page and its numbers again, with what each gives.

    `again` is the folder whose experiment.toml gives the same plan, if it does.
    """
    campaign, analysis = report.campaign, report.analysis
    where = f" --store {shlex.quote(str(store.path.absolute()))}"
    select = ", ".join(
        [*(f'"{factor}"' for factor in report.experiment.factors), f'median("{analysis.metric}")']
    )
    group = ", ".join(str(i) for i in range(1, len(report.experiment.factors) + 1))
    query = shlex.quote(f"select {select} from trials group by {group}")  # noqa: S608 - shown, not run
    commands = (
        []
        if again is None
        else [("the same plan again", f"assay run {shlex.quote(str(again / 'experiment.toml'))}{where}")]
    )
    return [
        *commands,
        ("this page", f"assay report {campaign.id}{where}"),
        ("the medians", f"assay query {query} --campaign {campaign.id}{where}"),
    ]


def _environment(report: Report, store: Store) -> dict[str, Any]:
    """Return what the first trial that tells reported of the machine and the program."""
    for trial in report.trials:
        if trial.environment is not None:
            return dict(store.record_of(trial.id)["result"]["environment"])
    return {}
