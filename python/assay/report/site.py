"""The site of a store: static files that open from disk, without a network and without fetch.

    index.html                       the experiments and their campaigns
    style.css, vega.js, *.js         what every page shares
    guide/index.html, guide/RULE.html    what the findings mean, a page for each rule of the audit
    campaign-N/index.html            findings, verdicts, charts, how to get it again
    campaign-N/experiment.toml       the experiment with the campaign's seed
    campaign-N/summary.json          what index.html says of it
    campaign-N/trials.html#condition-K    the trials of a condition, from trials-K.js
    campaign-N/trial.html#ID         the whole record of a trial, from records-K.js and series-K.js

A file has its name from us or from a number, never from what a subject or an experiment is called.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import vl_convert
from markdown_it import MarkdownIt
from markupsafe import Markup

from assay import audit
from assay.audit import RULES
from assay.errors import AssayError
from assay.report import page, words
from assay.report.gather import Report, gather
from assay.report.records import record_files
from assay.report.render import asset, render, write, writing
from assay.store import Store
from assay.store.types import CampaignSummary

SHARED = ("style.css", "charts.js", "campaign.js", "page.js", "trials.js", "trial.js")


def write_site(store: Store, directory: Path, gathered: Iterable[Report] = ()) -> Path:
    """Write the pages of every campaign into a folder, and return the path of their index.

    Args:
        store: what the site shows.
        directory: the site's folder, made where it is missing.
        gathered: campaigns that need not be gathered again.
    """
    directory = directory.absolute()
    known = {report.campaign.id: report for report in gathered}
    _refuse_anothers(store, directory)
    with writing(directory):
        _write_shared(directory)
        for campaign in store.campaigns():
            _write_campaign(known.get(campaign.id) or gather(store, campaign.id), store, directory)
        return _write_index(store, directory)


def write_campaign(report: Report, store: Store, directory: Path) -> Path:
    """Write the pages of one campaign into a site's folder, and the index; return its index.html."""
    directory = directory.absolute()
    _refuse_anothers(store, directory)
    with writing(directory):
        _write_shared(directory)
        written = _write_campaign(report, store, directory)
        _write_index(store, directory)
        return written


def _write_shared(directory: Path) -> None:
    write(directory / "vega.js", vl_convert.javascript_bundle(None))  # type: ignore[arg-type]
    for name in SHARED:
        write(directory / name, asset(name))
    _write_guide(directory / "guide")


def _write_campaign(report: Report, store: Store, directory: Path) -> Path:
    folder = directory / f"campaign-{report.campaign.id}"
    folder.mkdir(exist_ok=True)
    for files in (
        record_files(report, store),
        page.trial_files(report),
        page.campaign_files(report, store, folder, guide_pages()),
        [("summary.json", json.dumps(_summary(report, store)))],
    ):
        for name, text in files:
            write(folder / name, text)
    return folder / "index.html"


def _summary(report: Report, store: Store) -> dict[str, Any]:
    """Return what the index says of a campaign."""
    return {
        "key": _key(report.campaign),
        "store": str(store.path.absolute()),
        "ended": report.campaign.ended,
        "findings": words.severities(report.findings),
        "verdicts": words.verdicts(report),
    }


def _key(campaign: CampaignSummary) -> str:
    """Return what tells a campaign from one with the same number in another store."""
    return f"{campaign.started_at.isoformat()} {campaign.seed}"


def _written(directory: Path, number: int) -> dict[str, Any] | None:
    """Return the summary of the campaign of this number in a site; None where there is none to believe."""
    try:
        text = (directory / f"campaign-{number}" / "summary.json").read_text(encoding="utf-8")
        summary = json.loads(text)
    except (OSError, ValueError):
        return None
    return summary if isinstance(summary, dict) and isinstance(summary.get("key"), str) else None


def _refuse_anothers(store: Store, directory: Path) -> None:
    """Raise AssayError where a folder has pages of another store that still exists: they would be lost."""
    here = store.path.absolute()
    for campaign in store.campaigns():
        summary = _written(directory, campaign.id)
        if summary is None or summary["key"] == _key(campaign):
            continue
        other = Path(str(summary.get("store", "")))
        if other != here and other.is_file():
            raise AssayError(
                f"{directory} is the site of another store, {other}, whose campaign {campaign.id} is another "
                f"one; write that of {here} elsewhere: assay report --output FOLDER"
            )


def _write_index(store: Store, directory: Path) -> Path:
    experiments: dict[str, list[tuple[CampaignSummary, dict[str, Any] | None]]] = {}
    for campaign in reversed(store.campaigns()):
        experiments.setdefault(campaign.experiment, []).append((campaign, _written(directory, campaign.id)))
    write(
        directory / "index.html",
        render("index.html", experiments=experiments, store=str(store.path.absolute()), root=""),
    )
    return directory / "index.html"


GUIDE = Path(audit.__file__).parent / "guide"
_OVERVIEW = "README"  # what a folder's overview is called in Markdown; in a site it is the index


def guide_pages() -> frozenset[str]:
    """Return the rules that have a page in the guide."""
    return frozenset(path.stem for path in GUIDE.glob("*.md")) - {_OVERVIEW}


def _write_guide(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    pages = {name: name for name in guide_pages()} | {_OVERVIEW: "index"}
    titles = {rule.id: rule.title for rule in RULES}
    for name, page_name in pages.items():
        tokens = markdown.parse((GUIDE / f"{name}.md").read_text(encoding="utf-8"))
        for inner in (inner for token in tokens for inner in token.children or ()):
            if inner.type == "link_open":
                inner.attrs["href"] = _guide_link(str(inner.attrs["href"]), pages)
        body = Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704 - of our own files
        title = titles.get(name, "The audit")
        write(folder / f"{page_name}.html", render("guide.html", title=title, body=body, root="../"))


def _guide_link(href: str, pages: Mapping[str, str]) -> str:
    """Return where a link of a guide's page leads in the site."""
    stem, _, anchor = href.partition(".md")
    return f"{pages[stem]}.html{anchor}" if stem in pages else href
