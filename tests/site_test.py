"""The site in a browser: everything is drawn, leads on, loads nothing, and stays text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Route, sync_playwright

from assay.report import gather
from assay.report.site import write_page
from assay.store import Store
from conftest import Assay
from hostile import ATTACK, LEVEL, fill

CAMPAIGN = "campaign-1/index.html"
MARKS = "canvas, svg.marks :is(.mark-symbol, .mark-rect, .mark-line, .mark-rule) :is(path, line)"


THROUGHPUT = "figure:has([aria-label='Throughput over the time of the trial'])"


@dataclass
class Visitor:
    """Opens pages of a site, and writes down what must not happen."""

    browser: BrowserContext
    site: Path
    faults: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)

    def open(
        self, path: str, ready: str = "h1", scheme: Literal["light", "dark"] = "light", width: int = 1280
    ) -> Page:
        """Return a page once `ready` is on it."""
        page = self.browser.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        self.pages.append(page)
        page.route("**/*", self._let_through)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on("console", self._listen)
        page.goto(f"{self.site.as_uri()}/{path}")
        page.wait_for_selector(ready)
        return page

    def campaign(self, scheme: Literal["light", "dark"] = "light", width: int = 1280) -> Page:
        """Return the page of campaign 1, unfolded, once every chart is drawn."""
        page = self.open(CAMPAIGN, "body[data-drawn=all]", scheme, width)
        if not page.locator("details.part[open]").count():
            page.locator("#unfold").click()
            page.wait_for_selector("body[data-drawn=all]")
        return page

    def shown(self, path: str, scheme: Literal["light", "dark"] = "light", width: int = 1280) -> Page:
        """Return a page about trials once it shows what its address asks for."""
        return self.open(f"campaign-1/{path}", "body[data-shown]", scheme, width)

    def leave(self) -> None:
        """Close every page; nothing may have happened that must not."""
        for page in self.pages:
            page.close()
        assert self.faults == []

    def _dismiss(self, dialog: Dialog) -> None:
        self.faults.append("a dialog")
        dialog.dismiss()

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(message.text)

    def _let_through(self, route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self.faults.append(f"asked for {route.request.url}")
            route.abort()


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserContext]:
    """Yield a browser whose pages share a process, in which what they all load is compiled once."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            chromium_sandbox=False,
            args=["--process-per-site", "--renderer-process-limit=1"],
        )
        context = launched.new_context()
        context.set_default_timeout(0)  # pytest has one for what never comes
        yield context
        launched.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return fill(tmp_path_factory.mktemp("site") / "assay.sqlite")


@pytest.fixture(scope="module")
def site(store: Store) -> Path:
    return write_page(gather(store, 1), store).parents[1]


@pytest.fixture
def visitor(browser: BrowserContext, site: Path) -> Iterator[Visitor]:
    yield (visitor := Visitor(browser, site))
    visitor.leave()


class Sharing(Visitor):
    """Opens every page once, for tests that leave it as it is."""

    def open(
        self, path: str, ready: str = "h1", scheme: Literal["light", "dark"] = "light", width: int = 1280
    ) -> Page:
        """Return a page as it was opened before."""
        opened = {page.url: page for page in self.pages}
        return opened.get(f"{self.site.as_uri()}/{path}") or super().open(path, ready, scheme, width)


@pytest.fixture(scope="module")
def shared(browser: BrowserContext, site: Path) -> Iterator[Visitor]:
    yield (visitor := Sharing(browser, site))
    visitor.leave()


@pytest.fixture(scope="module")
def campaign(shared: Visitor) -> Page:
    """Return the page of the campaign with every chart drawn."""
    return shared.campaign()


def failed(store: Store) -> int:
    return next(trial.id for trial in store.trials(1) if trial.status == "crashed")


def valid(store: Store, threads: int) -> int:
    return next(
        trial.id
        for trial in store.trials(1)
        if trial.status == "valid" and trial.levels["threads"] == threads
    )


def data(page: Page) -> dict[str, tuple[str, list[str], list[Any]]]:
    """Return name of figure -> its kind, columns and rows."""
    return json.loads(page.locator("#data").inner_text())  # type: ignore[no-any-return]


def test_every_chart_is_drawn_and_not_empty(campaign: Page) -> None:
    charts = campaign.locator(".chart").all()
    assert len(charts) == len(data(campaign)) > 0
    for chart in charts:
        assert chart.locator(MARKS).count(), chart.get_attribute("aria-label")


def test_what_is_folded_is_drawn_once_it_is_unfolded(visitor: Visitor) -> None:
    page = visitor.open(CAMPAIGN, "body[data-drawn=all]")
    folded = page.locator("details.part#trials")
    assert page.locator("#medians svg.marks").count() == page.locator("#medians .chart").count() > 0
    assert folded.locator("svg.marks").count() == 0
    folded.locator("summary").click()
    for chart in folded.locator(".chart").all():
        chart.locator("svg.marks").wait_for()


def test_an_address_unfolds_what_it_names(visitor: Visitor) -> None:
    page = visitor.open(f"{CAMPAIGN}#trials", "details.part#trials[open]")
    assert page.locator("details.part[open]").count() == 1


def test_the_first_screen_has_the_answer_and_how_far_to_trust_it(visitor: Visitor) -> None:
    page = visitor.open(CAMPAIGN, ".picture")
    for part in ("h1", ".headline", ".trust", ".picture >> nth=0"):
        box = page.locator(part).first.bounding_box()
        assert box
        assert box["y"] + box["height"] < 800, part


def test_a_metric_leads_to_its_definition(visitor: Visitor) -> None:
    page = visitor.open(CAMPAIGN)
    page.locator("#picture-title a").click()
    page.wait_for_url("**/guide/metrics.html#metric-throughput")
    assert page.locator("code[id='metric-throughput']").is_visible()
    assert page.locator("a[href$='.md']").count() == 0


def test_from_the_index_over_a_point_to_its_trial_and_its_whole_record(
    visitor: Visitor, store: Store
) -> None:
    page = visitor.open("index.html")
    page.get_by_role("link", name="Campaign 1").click()
    page.wait_for_selector("body[data-drawn=all]")
    page.locator("#unfold").click()
    page.wait_for_selector("body[data-drawn=all]")
    name = next(name for name, (_, columns, _) in data(page).items() if "trial" in columns)
    page.locator(f"[data-figure='{name}'] .mark-symbol path").first.click()
    page.wait_for_url("**/campaign-1/trial.html#*")
    page.wait_for_selector("body[data-shown]")
    trial = int(page.url.split("#")[1])
    assert page.locator("h1").inner_text().startswith(f"Trial {trial}: ")
    page.locator("#raw summary").click()
    assert json.loads(page.locator("#raw pre").inner_text()) == store.record_of(trial)


def test_a_condition_and_its_median_lead_to_its_trials(visitor: Visitor, store: Store) -> None:
    page = visitor.campaign()
    name, (_, columns, rows) = next(of for of in data(page).items() if of[0].startswith("estimates"))
    page.locator(f"[data-figure='{name}'] .mark-symbol path").first.click()
    page.wait_for_url("**/index.html#condition-*")
    condition = int(page.url.split("#condition-")[1])
    assert condition in [row[columns.index("condition")] for row in rows]
    links = page.locator("#verdicts a[href^='#condition-']")
    assert links.count() == page.locator("[id^='condition-']").count()
    links.first.click()
    page.wait_for_url("**/index.html#condition-1")
    trial = page.locator("tr:target a").first
    assert trial.is_visible()
    trial.click()
    page.wait_for_selector("body[data-shown]")
    page.locator("#facts a").click()
    page.wait_for_url("**/index.html#condition-1")


def test_a_record_is_whole_to_the_last_digit(shared: Visitor, store: Store) -> None:
    page = shared.shown(f"trial.html#{valid(store, 2)}")
    page.locator("#raw summary").click()
    raw = page.locator("#raw pre").inner_text()
    assert str(2**63 - 1) in raw  # JavaScript's own numbers end at 2^53
    expected = store.record_of(valid(store, 2))
    assert json.loads(raw) == expected
    assert set(expected) <= set(json.loads(raw))


def test_the_series_of_a_trial_is_drawn_by_thread_and_summed(shared: Visitor, store: Store) -> None:
    page = shared.shown(f"trial.html#{valid(store, 2)}")
    page.wait_for_selector(f"{THROUGHPUT} svg.marks")
    assert page.locator(f"{THROUGHPUT} .mark-line path").count() == 3
    assert (
        page.locator(f"{THROUGHPUT} .mark-symbol.role-mark path").count() == 3 * 23
    )  # less what was cut short
    assert page.locator(f"{THROUGHPUT} .mark-rule.role-mark line").count() == 1
    assert "Steady after 40 ms" in page.locator(f"{THROUGHPUT} figcaption").inner_text()
    single = shared.shown(f"trial.html#{valid(store, 1)}")
    single.wait_for_selector(f"{THROUGHPUT} svg.marks")
    assert single.locator(f"{THROUGHPUT} .mark-line path").count() == 1


def test_a_trial_shows_every_part_of_its_result(shared: Visitor, store: Store) -> None:
    page = shared.shown(f"trial.html#{valid(store, 2)}")
    for caption, words in {
        "Metrics": ("probe_retries", "op/s"),
        "Threads": ("bound to", "succeeded", "232,000,000"),
        "Roles": ("scanners", "500,000", "2,500,000"),
        "histograms": ("p99 99", "constructor", "2,009"),
    }.items():
        table = page.get_by_role("table", name=caption, exact=True)
        for word in words:
            assert word in table.inner_text()
    for heading, words in {"Probes": ("retries", "6.5", "resizes"), "Memory": ("local", "MiB")}.items():
        part = page.locator("section", has=page.get_by_role("heading", name=heading, exact=True))
        for word in words:
            assert word in (part.text_content() or "")
    for list_name, marks in {"buckets": "rect", "resident": "line"}.items():
        page.wait_for_selector(f".chart[aria-label='{list_name}'] .mark-{marks} path")


def test_a_trial_that_failed_shows_why_and_what_it_printed(shared: Visitor, store: Store) -> None:
    page = shared.shown(f"trial.html#{failed(store)}")
    assert page.locator(".reason").inner_text().startswith(LEVEL)
    for heading in ("Standard error", "Standard output"):
        printed = page.locator("section", has=page.get_by_role("heading", name=heading)).locator("pre")
        assert printed.text_content() == ATTACK


def test_a_trial_that_is_not_there_is_one_message(visitor: Visitor) -> None:
    page = visitor.shown("trial.html")
    assert "No trial is named" in page.get_by_role("alert").inner_text()
    for anchor, message in (
        ("#x", "No trial is named"),
        ("#0", "has no trial 0"),
        ("#99999999999999999999", "has no trial"),
    ):
        page.evaluate("anchor => { location.hash = anchor; }", anchor)
        page.wait_for_selector(f"body[data-shown='{anchor}']")
        assert message in page.get_by_role("alert").inner_text()


def test_the_page_follows_its_address(visitor: Visitor, store: Store) -> None:
    first, second = (trial.id for trial in store.trials(1)[:2])
    page = visitor.shown(f"trial.html#{first}")
    page.get_by_role("link", name=f"Trial {second}").click()
    page.wait_for_selector(f"body[data-shown='#{second}']")
    assert page.locator("h1").inner_text().startswith(f"Trial {second}: ")


def test_a_table_sorts_within_its_contexts(visitor: Visitor) -> None:
    page = visitor.campaign()
    region = page.locator("#verdicts .wide").first

    def ratios() -> list[list[float]]:
        cells = (
            "body => [...body.querySelectorAll('tr:not(.context, .note)')].map(row => row.cells[2].innerText)"
        )
        return [
            [float(text) for text in body.evaluate(cells) if text != "-"]
            for body in region.locator("tbody").all()
        ]

    before = ratios()
    heading = region.get_by_role("columnheader", name="ratio")
    heading.get_by_role("button").click()
    assert ratios() == [sorted(of_context) for of_context in before]
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert ratios() == [sorted(of_context, reverse=True) for of_context in before]


def test_a_table_can_be_filtered(visitor: Visitor) -> None:
    page = visitor.campaign()
    rows = page.locator("#verdicts .wide").first.locator("tbody tr:visible")
    every = rows.count()
    page.evaluate("filter_by(document.querySelector('#verdicts table'), 'baseline')")
    assert 0 < rows.count() < every
    page.evaluate("filter_by(document.querySelector('#verdicts table'), '')")
    assert rows.count() == every


def test_a_table_that_is_wider_than_a_phone_says_so(visitor: Visitor) -> None:
    page = visitor.campaign(width=390)
    assert page.locator("#verdicts .cue").first.is_visible()
    page.set_viewport_size({"width": 1800, "height": 900})
    page.locator("#verdicts .cue").first.wait_for(state="hidden")


def test_no_page_is_wider_than_a_narrow_screen(visitor: Visitor, shared: Visitor, store: Store) -> None:
    for page in (
        visitor.campaign("dark", 360),
        visitor.shown(f"trial.html#{valid(store, 2)}", "dark", 360),
        shared.open("index.html"),
        shared.shown(f"trial.html#{failed(store)}"),
        shared.open("guide/host-changed.html"),
    ):
        size = page.viewport_size
        assert size
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 360, page.url
        page.set_viewport_size(size)


def test_charts_take_the_colours_of_the_page(shared: Visitor, store: Store) -> None:
    def ink(page: Page) -> Any:
        label = page.locator("svg.marks .role-axis-label text").first
        return label.evaluate("label => getComputedStyle(label).fill")

    page = shared.campaign()
    light = ink(page)
    page.emulate_media(color_scheme="dark")
    label = "document.querySelector('svg.marks .role-axis-label text')"
    page.wait_for_function(f"light => getComputedStyle({label}).fill !== light", arg=light)
    assert ink(page) != light
    page.emulate_media(media="print")  # of the same dark page, on white paper
    assert ink(page) == "rgb(0, 0, 0)"
    page.emulate_media(media="screen", color_scheme="light")
    page.wait_for_function(f"light => getComputedStyle({label}).fill === light", arg=light)


@pytest.mark.parametrize("form", ["SVG", "PNG"])
def test_a_chart_can_be_saved(campaign: Page, form: str) -> None:
    name = next(iter(data(campaign)))
    chart = campaign.locator(f"[data-figure='{name}']")
    chart.locator("details").evaluate("details => { details.open = true; }")
    link = chart.get_by_text(f"Save as {form}")
    link.dispatch_event("mousedown")  # at which the picture is made
    campaign.wait_for_function("link => /^(data|blob):/.test(link.href)", arg=link.element_handle())
    with campaign.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == f"{name}.{form.lower()}"
    saved = download.value.path().read_bytes()
    assert saved.startswith(b"<svg" if form == "SVG" else b"\x89PNG")


def test_nothing_from_outside_becomes_an_element(shared: Visitor, campaign: Page, store: Store) -> None:
    for page in (
        shared.open("index.html"),
        campaign,
        shared.shown(f"trial.html#{failed(store)}"),
        shared.shown(f"trial.html#{valid(store, 1)}"),
    ):
        assert page.locator("img, iframe, object, embed, form:not(.vega-bindings)").count() == 0
        assert page.locator("script:not([src]):not([type='application/json'])").count() == 0
        assert "49" not in page.locator("h1").inner_text()
    # The faults of the visitor tell of scripts that ran and of requests.


def test_a_tooltip_is_text(campaign: Page) -> None:
    tooltips = []
    campaign.bring_to_front()  # one behind is drawn once a second
    for chart in campaign.locator(".chart").all():
        mark = chart.locator(":is(.mark-symbol, .mark-rect).role-mark path").first
        if mark.count():
            mark.hover(force=True)
            tooltip = campaign.locator("#vg-tooltip-element.visible")
            tooltips += tooltip.all_inner_texts()
            assert tooltip.locator("img, script").count() == 0
    assert any("<img src=http://a.b" in text or "http://a.b/picture.png" in text for text in tooltips)


def test_headings_regions_and_charts_have_names(shared: Visitor, campaign: Page, store: Store) -> None:
    named = """all => all.filter(
        element => !element.ariaLabel && !document.getElementById(element.getAttribute('aria-labelledby'))
    ).length"""
    for page in (
        shared.open("index.html"),
        campaign,
        shared.shown(f"trial.html#{valid(store, 2)}"),
    ):
        levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(h => Number(h.tagName[1]))")
        assert levels.count(1) == 1
        assert all(below - above <= 1 for above, below in pairwise(levels))
        assert page.eval_on_selector_all("[role=region], .chart, section[aria-labelledby], nav", named) == 0
        ids = page.eval_on_selector_all("[id]", "all => all.map(element => element.id)")
        ours = [name for name in ids if not name.startswith(("gradient", "clip"))]
        assert len(ours) == len(set(ours))


def test_the_keyboard_reaches_the_content_first(visitor: Visitor) -> None:
    page = visitor.open("index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_finding_leads_to_its_page_in_the_guide(visitor: Visitor, campaign: Page) -> None:
    link = campaign.locator(".finding a[href^='../guide/']").first
    assert link.get_attribute("href") == f"../guide/{link.inner_text()}.html"
    visitor.open(f"guide/{link.inner_text()}.html", "article.prose h1")


@pytest.mark.usefixtures("steady_host")
def test_the_site_of_a_real_campaign(browser: BrowserContext, assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(
        """
name = "real"
question = "Does a map do more than nothing?"
factors.subject = ["noop", "std_map_mutex"]
factors.threads = [1, 2]
trial = { key_range = 100, duration_ms = 20, interval_ms = 1, mix = { insert = 10, erase = 10, find = 80 } }
design.blocks = 6
comparison = { metric = "throughput", factor = "subject", baseline = "noop", smallest_effect_percent = 5 }
""",
        encoding="utf-8",
    )
    ran = assay("run", "real.toml", "--anyway")
    index = tmp_path / "results" / "assay-report" / CAMPAIGN
    assert ran.stdout.splitlines()[-2] == f"page: {index}"
    visitor = Visitor(browser, index.parents[1])
    page = visitor.campaign()
    for chart in page.locator(".chart").all():
        assert chart.locator(MARKS).count(), chart.get_attribute("aria-label")
    trial = visitor.shown("trial.html#1")
    trial.wait_for_selector(".series svg.marks")
    assert trial.locator(f"{THROUGHPUT} .mark-line path").count() in (1, 3)
    visitor.leave()
