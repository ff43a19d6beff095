"""The page of a campaign: static files that open from disk, without a network and without fetch.

`index.html` holds the report, `condition-N.html` the records of a condition's trials, `vega.js` what draws
the charts. Whatever comes from outside (names, reasons, output of programs) is escaped: in HTML by Jinja's
autoescape, in scripts by its `tojson`, which also escapes `<`, `>`, `&` and `'`.
"""

import html
import json
import re
import shlex
from collections import defaultdict
from functools import cache
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
    source = _with_seed(report)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(directory / "vega.js", vl_convert.javascript_bundle(None))  # type: ignore[arg-type]
        _write(directory / "experiment.toml", source)
        for number, condition in enumerate(report.analysis.conditions, start=1):
            records = [(trial, store.record_of(trial.id)) for trial in trials[number]]
            page = _template("condition.html").render(
                report=report,
                number=number,
                condition=condition,
                records=[(trial, record, _source_text(record)) for trial, record in records],
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
            commands=_commands(report, store),
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
    return environment


def _template(name: str) -> Any:
    return _environment_of_templates().get_template(name)


def _write(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(text.encode("utf-8", errors="replace"))
    part.replace(path)


def _source_text(value: Any) -> Markup:
    """Return a record as JSON text for an HTML element: two levels broken into lines, the rest in one."""
    return Markup(html.escape(_json(value, levels=2), quote=False))  # noqa: S704 - escaped right here


def _json(value: Any, levels: int, indent: str = "") -> str:
    """Return JSON text; only the outer `levels` of objects have a line for each key."""
    if levels == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + "  "
    lines = (
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_json(each, levels - 1, inner)}"
        for key, each in value.items()
    )
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _with_seed(report: Report) -> str:
    """Return the experiment's text such that it gives this campaign's plan again: with its seed filled in."""
    source, seed = report.campaign.source, report.campaign.seed
    if report.experiment.design.seed is not None:
        return source
    text = re.sub(r"^(\s*\[\s*design\s*\].*)$", rf"\1\nseed = {seed}", source, count=1, flags=re.MULTILINE)
    try:
        if parse(text, report.experiment.path).design.seed == seed:
            return text
    except AssayError:
        pass
    return f"# Set seed = {seed} in the design to get this campaign's plan again.\n{source}"


def _commands(report: Report, store: Store) -> list[tuple[str, str]]:
    """Return what to type to get the campaign, this page and its numbers again, with what each gives."""
    campaign, analysis = report.campaign, report.analysis
    where = f" --store {shlex.quote(str(store.path))}"
    file = shlex.quote(f"{campaign.experiment}.toml")
    select = ", ".join(
        [*(f'"{factor}"' for factor in report.experiment.factors), f'median("{analysis.metric}")']
    )
    group = ", ".join(str(i) for i in range(1, len(report.experiment.factors) + 1))
    query = shlex.quote(f"select {select} from trials group by {group}")  # noqa: S608 - shown, not run
    return [
        ("the same plan again", f"cd {shlex.quote(campaign.directory)}\nassay run {file}"),
        ("this page", f"assay report {campaign.id}{where}"),
        ("the medians", f"assay query {query} --campaign {campaign.id}{where}"),
    ]


def _environment(report: Report, store: Store) -> dict[str, Any]:
    """Return what the first trial that tells reported of the machine and the program."""
    for trial in report.trials:
        if trial.status == "valid":
            result = store.record_of(trial.id)["result"] or {}
            return dict(result.get("environment") or {})
    return {}
