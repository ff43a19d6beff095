"""The site of a store: static files that open from disk, without a network and without fetch.

    site.json                        which store's site this is
    index.html                       the experiments and their campaigns
    style.css, vega.js, *.js         what every page shares
    guide/index.html, guide/RULE.html    what the findings mean, a page for each rule of the audit
    guide/metrics.html               what the metrics mean, with a place for each
    PAGE-EXPERIMENT.html             a page of a satellite, such as history-EXPERIMENT.html
    campaign-N/index.html            findings, verdicts, charts, how to get it again
    campaign-N/experiment.toml       the experiment's text as it was
    campaign-N/experiment.json       the resolved experiment with the campaign's seed
    campaign-N/summary.md            question, headline, verdicts and findings, for a pull request
    campaign-N/summary.json          what index.html says of it, and what its pages were made from
    campaign-N/trial.html#ID         the whole record of a trial, from records-K.js and series-K.js

A campaign that was imported has index.html and summary.json alone; its satellite writes the first.

A file has its name from us or from a number, never from what a subject is called; only a satellite's page
has the name of its experiment, which is made of letters, digits, `_` and `-`.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from assay.audit import GUIDE, known_rules
from assay.errors import AssayError
from assay.files import write
from assay.report import metrics, words
from assay.report.gather import Report
from assay.report.imported import ImportedReport
from assay.report.render import render, write_scripts
from assay.report.verdicts import about_sensitivity, asked_otherwise, elsewhere, gather_any
from assay.satellites import added
from assay.store import Server, Store, StoreName, UnreadableError
from assay.store.types import READ_BY, CampaignSummary

SHARED = ("style.css", "tables.js", "charts.js", "campaign.js", "trial.js")


def site_of(store: Store) -> Path:
    """Return the folder of a store's site: for `assay.sqlite` it is `assay-report` next to it.

    Of a store on a server it is `results/DATABASE-report`.
    """
    return _site_of(store.name)


def _site_of(name: StoreName) -> Path:
    if isinstance(name, Server):
        return Path("results", f"{name.database}-report").absolute()
    return name.with_name(f"{name.name.removesuffix('.sqlite')}-report").absolute()


def write_site(
    store: Store,
    directory: Path | None = None,
    gather: Callable[[Store, int], Report | ImportedReport] = gather_any,
) -> Path:
    """Write the index of a store and the pages of campaigns that have none up to date; return the index.

    Args:
        store: what the site shows.
        directory: the site's folder, made where it is missing; by default what `site_of` returns.
        gather: returns the report of a campaign that has changed.

    Raises:
        AssayError: the folder cannot be written, or holds something else.
    """
    directory = _prepared(store, directory)
    for campaign in store.campaigns():
        with suppress(UnreadableError):  # the index shows it without pages, and the others have theirs
            written = _summary(directory, campaign) or {}
            changed = written.get("made_from") != _made_from(campaign, store, directory)
            if changed or written.get("beside") != _beside(campaign, store):
                _write_campaign(gather(store, campaign.id), store, directory, page_alone=not changed)
    _write_further(store, directory)
    return _write_index(store, directory)


def write_page(report: Report | ImportedReport, store: Store, directory: Path | None = None) -> Path:
    """Write the pages of one campaign and the index, as `write_site` does; return its index.html."""
    directory = _prepared(store, directory)
    written = _write_campaign(report, store, directory)
    _write_further(store, directory, report.campaign.experiment)
    _write_index(store, directory)
    return written


def check_folder(name: StoreName, directory: Path | None = None) -> None:
    """Check that a folder can hold the site of a store; by default the folder of `site_of`.

    Raises:
        AssayError: it holds something else, or is not a folder.
    """
    directory = (directory or _site_of(name)).absolute()
    mine = _read(directory / "site.json").get("store") == _owner(name, directory)
    if not mine and (any(directory.glob("*")) or (directory.exists() and not directory.is_dir())):
        raise AssayError(
            f"{directory} is not the site of {name} and not empty, so it was left as it is; "
            "move it away, or write the site elsewhere: assay report --output FOLDER"
        )


def _owner(name: StoreName, directory: Path) -> str:
    """Return how a site names its store: by its path relative to the site's folder, or by its URL."""
    if isinstance(name, Server):
        return str(name)
    return os.path.relpath(name.resolve(), directory.resolve())


def _prepared(store: Store, directory: Path | None) -> Path:
    """Take a folder for the site of a store, write what its pages share, and return it."""
    check_folder(store.name, directory)
    directory = (directory or site_of(store)).absolute()
    mark = directory / "site.json"
    owner = {"store": _owner(store.name, directory)}
    whole = {**owner, "assay": _version()}
    if _read(mark) != whole:
        write(mark, json.dumps(owner))
        _write_guide(directory / "guide")
        write(mark, json.dumps(whole))
    write_scripts(directory, *SHARED)
    return directory


def _write_campaign(
    report: Report | ImportedReport, store: Store, directory: Path, *, page_alone: bool = False
) -> Path:
    """Write the pages of a campaign; `page_alone` if the pages of its trials are up to date."""
    from assay.report import page  # noqa: PLC0415 - slow to load, and unchanged pages need none of it

    folder = directory / f"campaign-{report.campaign.id}"
    summary = {
        "begun": report.campaign.started_at.isoformat(),
        "made_from": _made_from(report.campaign, store, directory),
        "beside": _beside(report.campaign, store),
        "ended": report.campaign.ended,
        "findings": words.severities(report.findings),
        "verdicts": report.answers.counts if isinstance(report, Report) else {},
    }
    pages: list[Iterable[tuple[str, str]]] = []
    if not isinstance(report, Report):
        pages.append([("index.html", report.page(guide_pages()))])
    else:
        if not page_alone:
            pages.append(page.trial_files(report, store))
        pages.append(page.campaign_files(report, store, folder, guide_pages()))
    for name, text in (*chain.from_iterable(pages), ("summary.json", json.dumps(summary))):
        write(folder / name, text)
    return folder / "index.html"


def _write_further(store: Store, directory: Path, only: str | None = None) -> None:
    """Write the pages that satellites have of experiments, of those that have new trials."""
    by_experiment: dict[str, list[CampaignSummary]] = {}
    for campaign in store.campaigns():
        by_experiment.setdefault(campaign.experiment, []).append(campaign)
    for (kind, point), (name, campaigns) in product(added("assay.pages").items(), by_experiment.items()):
        mark = directory / f"{kind}-{name}.json"
        made_from = {"made_from": _digest((_version(), *((of.id, of.ended) for of in campaigns)))}
        if only in (None, name) and _read(mark) != made_from and (page := point.load()(store, name)):
            write(directory / f"{kind}-{name}.html", page)
            write(mark, json.dumps(made_from))


def _made_from(campaign: CampaignSummary, store: Store, directory: Path) -> str:
    """Return a digest of all that a campaign's pages depend on: trials and decisions are only ever added.

    What its page says of other campaigns is in `_beside`.
    """
    decisions = store.decisions(campaign.id)
    return _digest(
        (
            _version(),
            *(directory, store.name.absolute(), campaign.started_at, campaign.seed),
            *(campaign.planned, campaign.ended, len(decisions)),
        )
    )


def _beside(campaign: CampaignSummary, store: Store) -> str:
    """Return a digest of what a campaign's page says of other campaigns."""
    if campaign.imported:
        return _digest((ours.id, ours.ended) for ours in store.campaigns() if not ours.imported)
    replicated = about_sensitivity(campaign, store)
    others = [*elsewhere(campaign, store), asked_otherwise(campaign, store)]
    return _digest([*others, *((replicated.id, replicated.ended) if replicated else ())])


def _digest(parts: Iterable[object]) -> str:
    return hashlib.sha256(repr([str(part) for part in parts]).encode()).hexdigest()


@cache
def _version() -> str:
    """Return a digest of the files of Assay and of satellites with pages; others' pages are written again."""
    points = (*added("assay.campaigns").values(), *added("assay.pages").values())
    readers = sorted({point.module.split(".")[0] for point in points})
    digest = hashlib.sha256()
    for package in ("assay", *readers):
        for file in sorted(Path(str(files(package))).rglob("*.*")):
            if file.is_file() and file.suffix != ".pyc":
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _read(file: Path) -> dict[str, Any]:
    """Return a JSON object of a site; an empty one where there is none to believe."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _summary(directory: Path, campaign: CampaignSummary) -> dict[str, Any] | None:
    """Return what the index says of a campaign; None where a site does not have its pages."""
    summary = _read(directory / f"campaign-{campaign.id}" / "summary.json")
    return summary if summary.get("begun") == campaign.started_at.isoformat() else None


def _write_index(store: Store, directory: Path) -> Path:
    experiments: dict[str, list[tuple[CampaignSummary, dict[str, Any] | None]]] = {}
    for campaign in reversed(store.campaigns(damaged=True)):
        experiments.setdefault(campaign.experiment, []).append((campaign, _summary(directory, campaign)))
    content = render(
        "index.html",
        experiments=experiments,
        further={
            name: [kind for kind in added("assay.pages") if (directory / f"{kind}-{name}.html").exists()]
            for name in experiments
        },
        store=str(store.name.absolute()),
        read_by=READ_BY,
        root="",
    )
    return write(directory / "index.html", content)


_OVERVIEW = "README"  # what a folder's overview is called in Markdown; in a site it is the index


def guide_pages() -> dict[str, Path]:
    """Return rule -> its page in the guide, of the rules that have one."""
    folders = {GUIDE, *(rule.guide for rule in known_rules().values())}
    pages = {page.stem: page for folder in folders for page in folder.glob("*.md")}
    return {name: page for name, page in pages.items() if name != _OVERVIEW}


def _write_guide(folder: Path) -> None:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    sources = {**guide_pages(), _OVERVIEW: GUIDE / f"{_OVERVIEW}.md"}
    pages = {name: "index" if name == _OVERVIEW else name for name in sources}
    rules = known_rules()
    for name, source in sources.items():
        tokens = markdown.parse(source.read_text(encoding="utf-8"))
        for inner in (inner for token in tokens for inner in token.children or ()):
            if inner.type == "link_open":
                inner.attrs["href"] = _guide_link(str(inner.attrs["href"]), pages)
        body = Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704 - of our own files
        title = rules[name].title if name in rules else "The audit"
        write(folder / f"{pages[name]}.html", render("guide.html", title=title, body=body, root="../"))
    body = Markup(_metrics(markdown))  # noqa: S704 - of a file of our own
    write(folder / "metrics.html", render("guide.html", title="Metrics", body=body, root="../"))


def _metrics(markdown: MarkdownIt) -> str:
    """Return the reference of metrics as HTML, with a place for each metric; other files are not linked."""
    tokens = markdown.parse(metrics.REFERENCE.read_text(encoding="utf-8"))
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open":
            opened.attrSet("id", inline.content.lower().replace("'", "").replace(" ", "-"))
        if inline.children:
            inline.children = list(_without_files(inline.children))
    text = str(markdown.renderer.render(tokens, markdown.options, {}))

    def placed(row: re.Match[str]) -> str:
        return re.sub("<code>(.*?)</code>", rf'<code id="{metrics.anchor("")}\1">\1</code>', row[0])

    return re.sub("<tr>\n<td>.*?</td>", placed, text)


def _without_files(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens of a paragraph, without links that lead out of the page."""
    out = False
    for token in tokens:
        if token.type == "link_open" and not str(token.attrs["href"]).startswith("#"):
            out = True
        elif token.type == "link_close" and out:
            out = False
        else:
            yield token


def _guide_link(href: str, pages: Mapping[str, str]) -> str:
    """Return where a link of a guide's page leads in the site."""
    stem, _, anchor = href.partition(".md")
    return f"{pages[stem]}.html{anchor}" if stem in pages else href
