"""The files of a site, from a real store: they are whole, load nothing, and let nothing be injected."""

import base64
import gzip
import html
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from assay import words
from assay.analysis import Comparison
from assay.analysis.types import Estimate
from assay.errors import AssayError
from assay.experiment import load, parse
from assay.plan.make_plan import make_plan
from assay.plan.types import PlannedTrial
from assay.report import Report, gather, records
from assay.report.site import guide_pages, write_page, write_site
from assay.report.terminal import print_report
from assay.report.words import interval
from assay.store import Store
from assay.store.types import Decision
from assay.words import printable
from conftest import assay_in, run_assay
from hostile import ATTACK, EXPERIMENT, LEVEL, fill, outcome
from sided import EXPERIMENT as SIDED
from sided import fill as fill_sided

CONDITIONS = 6


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return fill(tmp_path_factory.mktemp("page") / "results" / "assay.sqlite")


@pytest.fixture
def other_store(tmp_path: Path) -> Store:
    """Return one that a test may add to."""
    return fill(tmp_path / "assay.sqlite")


class Page(HTMLParser):
    """What a browser would make of a file: its elements, their attributes, and the text inside some."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")

    def handle_data(self, data: str) -> None:
        if self.elements:
            self.texts[self.elements[-1][0]][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment was injected: {data}")

    def attributes(self, name: str) -> list[str]:
        return [value for _, attributes in self.elements if (value := attributes.get(name)) is not None]

    def script(self, of: str) -> Any:
        scripts = [attributes for tag, attributes in self.elements if tag == "script"]
        (place,) = [place for place, attributes in enumerate(scripts) if attributes.get("id") == of]
        return json.loads(self.texts["script"][place])


@pytest.fixture(scope="module")
def site(store: Store) -> Path:
    return write_page(gather(store, 1), store).parents[1]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Path within the site -> page."""
    return {str(path.relative_to(site)): Page(path) for path in site.rglob("*.html")}


def unpacked(file: Path) -> list[Any]:
    """Return the lines of JSON of a packed file, read as a page reads them."""
    call = re.fullmatch(
        r'receive\("([a-z]+-[0-9]+)", "([A-Za-z0-9+/=]*)"\);\n', file.read_text(encoding="ascii")
    )
    assert call is not None
    assert call[1] == file.stem
    return [json.loads(line) for line in gzip.decompress(base64.b64decode(call[2])).decode().split("\n")]


def test_a_file_has_its_name_from_us_or_from_a_number(site: Path) -> None:
    campaign = site / "campaign-1"
    assert {path.name for path in campaign.iterdir()} == {
        *("index.html", "trial.html", "summary.json", "summary.md"),
        *("experiment.toml", "experiment.json"),
        *("records-1.js", "series-1.js"),
    }
    assert {path.name for path in site.iterdir()} == {
        *("site.json", "index.html", "guide", "campaign-1", "vega.js", "style.css"),
        *("tables.js", "charts.js", "campaign.js", "trial.js"),
    }
    assert {path.stem for path in (site / "guide").iterdir()} == {"index", "metrics", *guide_pages()}


def test_nothing_is_loaded_but_the_files_of_the_site(site: Path, pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        tags = {tag for tag, _ in page.elements}
        assert not tags & {"img", "iframe", "object", "embed", "base", "video", "audio", "form", "style"}
        for source in page.attributes("src"):
            assert ((site / name).parent / source).resolve().is_relative_to(site)
        for tag, attributes in page.elements:
            if tag in ("a", "link"):
                assert ":" not in (attributes["href"] or "").removeprefix("data:")
        assert "default-src 'none'" in (page.attributes("content")[2])
    assert "url(" not in (site / "style.css").read_text(encoding="utf-8")


def test_no_text_from_outside_becomes_an_element_or_a_handler(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        for tag, attributes in page.elements:
            assert not [attribute for attribute in attributes if attribute.startswith("on")]
            # A page has no script in its text, only data and files.
            assert tag != "script" or "src" in attributes or attributes["type"] == "application/json"
        assert len(page.texts["h1"]) == 1, name
    assert LEVEL in pages["campaign-1/index.html"].texts["h1"][0]  # it is there, as text


def test_every_link_leads_somewhere(pages: dict[str, Page], site: Path) -> None:
    for name, page in pages.items():
        for href in page.attributes("href"):
            file, _, anchor = href.partition("#")
            if href == "data:,":
                continue
            target = ((site / name).parent / file).resolve() if file else site / name
            assert target.is_file()
            if anchor and target.name != "trial.html":
                assert anchor in pages[str(target.relative_to(site))].attributes("id")


def test_every_trial_has_its_whole_record(site: Path, store: Store) -> None:
    head, *records = unpacked(site / "campaign-1" / "records-1.js")
    series = unpacked(site / "campaign-1" / "series-1.js")
    assert len(head["environments"]) == 2  # each kept once
    assert [trial for trial, _, _ in head["trials"]] == [trial.id for trial in store.trials(1)]
    for (trial, condition, environment), record, threads in zip(head["trials"], records, series, strict=True):
        if environment is not None:
            record["result"]["environment"] = head["environments"][environment]
        for number, counts in enumerate(threads):
            record["result"]["threads"][number]["series"] = counts
        expected = store.record_of(trial)
        assert record == json.loads(json.dumps(expected))
        levels = gather(store, 1).analysis.conditions[condition - 1].levels
        assert expected["levels"] == levels


def test_chunks_cover_every_trial_once(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "CHUNK", 7)
    site = write_page(gather(store, 1), store, tmp_path).parents[1]
    firsts = Page(site / "campaign-1" / "trial.html").script("about")["chunks"]
    heads = [
        unpacked(site / "campaign-1" / f"records-{k}.js")[0]["trials"] for k in range(1, len(firsts) + 1)
    ]
    assert [trials[0][0] for trials in heads] == firsts
    assert [trial for trials in heads for trial, _, _ in trials] == [trial.id for trial in store.trials(1)]
    assert not (site / "campaign-1" / f"records-{len(firsts) + 1}.js").exists()


def test_every_charted_mark_leads_to_a_trial_or_a_condition(pages: dict[str, Page], store: Store) -> None:
    index = pages["campaign-1/index.html"]
    specifications = index.script("specifications")
    trials = {trial.id for trial in store.trials(1)}
    charted = set()
    for kind, columns, rows in index.script("data").values():
        assert kind in specifications
        for row in rows:
            point = dict(zip(columns, row, strict=True))
            assert point.get("condition") in {None, *range(1, CONDITIONS + 1)}
            charted |= {point["trial"]} - {None} if "trial" in point else set()
    assert charted == trials


@pytest.fixture(scope="module")
def sided(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, str]:
    """Return a report that has every part, and its page."""
    with fill_sided(tmp_path_factory.mktemp("sided") / "assay.sqlite") as store:
        report = gather(store, 1)
        return report, write_page(report, store).read_text(encoding="utf-8")


def part(page: str, start: str, end: str) -> str:
    """Return the text of a part of a page without its elements."""
    rest = page[page.index(start) :]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", rest[: rest.index(end)])).split())


def line(of: Comparison | Estimate) -> str:
    """Return how a table shows an estimate."""
    return f"{of.verdict} {words.ratio(of.ratio)} {interval(of.interval)}"


def test_the_worst_findings_come_first_with_evidence_and_what_to_do(sided: tuple[Report, str]) -> None:
    report, page = sided
    findings = part(page, '<section id="findings"', "</section>")
    places = [findings.index(finding.message) for finding in report.findings]
    assert places == sorted(places)
    assert report.findings[0].severity == "error"
    for finding in report.findings:
        assert finding.remedy in findings
        for name, value in finding.evidence.items():
            assert " ".join(words.quantity(name, value)) in findings
        assert f'href="../guide/{finding.rule}.html"' in page


def test_the_verdicts_say_on_which_look_they_rest(sided: tuple[Report, str]) -> None:
    report, page = sided
    look = report.analysis.look
    assert look is not None
    heading = part(page, 'id="verdicts"><summary>', "<table")
    assert f"Look {look.number} of at most {look.of}, at {look.blocks} blocks; intervals of" in heading


def test_a_median_that_is_not_typical_is_not_shown(sided: tuple[Report, str]) -> None:
    report, page = sided
    table = part(page, '<caption id="verdicts-caption"', "</table>")
    assert all(condition.shape.clusters for condition in report.analysis.conditions)
    assert table.count("several clusters: ") == len(report.analysis.conditions)
    for condition in report.analysis.conditions:
        assert words.number(condition.median) not in table


def test_what_other_groups_say_is_visible_where_it_differs(sided: tuple[Report, str]) -> None:
    report, page = sided
    assert '<details id="beside" open><summary>Without exclusions' in page
    beside = part(page, "<summary>Without exclusions", "</details>")
    (contradicted, _) = [comparison for comparison in report.analysis.comparisons if comparison.level == "c"]
    assert (contradicted.modes["fast"].verdict, contradicted.modes["slow"].verdict) == ("faster", "slower")
    for estimate in (contradicted.all_groups, *contradicted.modes.values()):
        assert f"{estimate.verdict} {words.ratio(estimate.ratio)} {interval(estimate.interval)}" in beside


def test_a_workload_that_goes_the_other_way_stands_beside_the_whole(sided: tuple[Report, str]) -> None:
    report, page = sided
    whole = part(page, '<h3 id="over-workloads"', "</table>")
    assert report.analysis.aggregates[0].against == (({"mix": "updates"}, "slower"),)
    assert "mix=updates slower" in whole


def test_further_metrics_and_decisions_have_their_tables(sided: tuple[Report, str]) -> None:
    report, page = sided
    also = part(page, '<h3 id="also-1">', "</table>")
    assert "latency_ns (ns) of each subject over that of a" in also
    assert "lower is better" in also
    assert "The intervals of all comparisons of further metrics, a family of their own, hold together" in also
    for comparison in report.analysis.also:
        assert line(comparison) in also
    decided = part(page, '<h3 id="decisions">', '<details class="part"')
    for decision in report.decisions:
        assert f"{decision.kind} {decision.reason}" in decided


def test_trials_that_do_not_count_are_linked_above_the_verdicts(site: Path, store: Store) -> None:
    text = (site / "campaign-1" / "index.html").read_text(encoding="utf-8")
    failed = [trial.id for trial in store.trials(1) if trial.status == "crashed"]
    assert failed
    for trial in failed:
        assert 0 < text.index(f'"trial.html#{trial}"') < text.index('id="verdicts"')


def planned(store: Store, campaign: int) -> list[PlannedTrial]:
    return store.planned(campaign, [trial.ordinal for trial in store.trials(campaign)])


def test_a_page_has_the_text_as_it_was_and_what_gives_the_same_plan_again(site: Path, store: Store) -> None:
    assert (site / "campaign-1" / "experiment.toml").read_text(encoding="utf-8") == EXPERIMENT
    again = load(site / "campaign-1" / "experiment.json")
    assert (again.design.seed, again.source) == (77, EXPERIMENT)
    trials = sorted(planned(store, 1), key=lambda trial: trial.ordinal)
    assert list(make_plan(again, 77, lambda _: "/bin/true", 1000).trials) == trials


def test_the_same_plan_runs_again_in_the_folder_that_it_ran_in(tmp_path: Path) -> None:
    home = tmp_path / "at home"
    home.mkdir()
    (home / "commands.toml").write_text("""
name = "commands"
question = "?"
factors.subject = ["one", "two"]
subjects.one = { program = "./one.sh", extract = "lines", build = "cp echo.sh one.sh; chmod +x one.sh" }
subjects.two = { program = "sh", arguments = ["one.sh"], extract = "lines" }
design.blocks = 1
comparison = { metric = "value_ms", factor = "subject", baseline = "one", smallest_effect_percent = 5 }
""")
    (home / "echo.sh").write_text("#!/bin/sh\necho value_ms=1\n")
    assay_in(home)("run", "commands.toml", "--anyway")
    (home / "commands.toml").unlink()
    site = home / "results" / "assay-report"
    (run, *_) = [text for text in Page(site / "campaign-1" / "index.html").texts["pre"] if "assay" in text]
    assay_in(tmp_path)(*shlex.split(run)[1:])
    with Store.open(home / "results" / "assay.sqlite") as store:
        assert [trial.status for trial in store.trials(2)] == ["valid", "valid"]
        assert planned(store, 2) == planned(store, 1)
        assert store.campaign(1).seed == store.campaign(2).seed
    toml = [site / f"campaign-{number}" / "experiment.toml" for number in (1, 2)]
    assert toml[0].read_text() == toml[1].read_text() != ""


def test_the_commands_work_from_any_folder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(str(store.name)).parent)
    with Store.open(Path(str(store.name)).name) as relative:
        index = write_page(gather(relative, 1), relative, Path("site"))
        assert index == Path(str(store.name)).parent / "site" / "campaign-1" / "index.html"
    for command in Page(index).texts["pre"]:
        if command.startswith("assay "):
            words = shlex.split(command)
            assert words[words.index("--store") + 1] == str(Path(str(store.name)))
            assert words[1] != "run" or words[2] == str(index.parent / "experiment.json")


def begun(path: Path, source: str, directory: Path, *, identical: bool = False) -> str:
    """Begin a campaign in which nothing has run, in a store of its own, and return the text of its page."""
    experiment = parse(source, directory / "example.toml", identical=identical)
    plan = make_plan(experiment, 3, lambda _: "/bin/true", 1000)
    with Store.open(path / "assay.sqlite") as store:
        campaign = store.begin_campaign(
            experiment=experiment,
            plan=plan,
            host={},
        )
        return write_page(gather(store, campaign), store).read_text(encoding="utf-8")


def test_identical_code_comes_with_its_false_alarms(tmp_path: Path) -> None:
    page = begun(tmp_path, EXPERIMENT, tmp_path, identical=True)
    alarms = part(page, "<strong>Identical code", "<table")
    assert alarms.startswith("Identical code under two names. No comparison of identical code has enough")
    assert "0 of 10 blocks have ended, and verdicts rest on all of them" in alarms


def test_every_environment_that_trials_told_is_shown(pages: dict[str, Page], store: Store) -> None:
    index = pages["campaign-1/index.html"]
    cells = [text.rstrip("\n") for text in index.texts["td"]]
    reasons = sum(trial.reason == ATTACK for trial in store.trials(1))
    # Those, the host's name, and one of each environment.
    assert cells.count(printable(ATTACK)) == reasons + 1 + 2
    assert [text.strip() for text in index.texts["h3"] if text.startswith("Reported by ")] == [
        "Reported by 40 trials",
        "Reported by 13 trials",
    ]


def test_a_remedy_shows_commands_as_code(pages: dict[str, Page]) -> None:
    index = pages["campaign-1/index.html"]
    assert any(text.startswith("assay store show") for text in index.texts["code"])
    assert not [text for text in index.texts["p"] if "`assay" in text]


def test_the_page_quotes_its_commands(pages: dict[str, Page], store: Store) -> None:
    page = pages["campaign-1/index.html"]
    commands = [text for text in page.texts["pre"] if text.startswith("assay ")]
    run, report, audited, query = (shlex.split(command) for command in commands)
    assert audited == ["assay", "report", "--campaign", "1", "--audit", "--store", str(Path(str(store.name)))]
    written = Path(str(store.name)).parent / "assay-report" / "campaign-1" / "experiment.json"
    assert run == ["assay", "run", str(written), "--store", str(Path(str(store.name)))]
    assert report == ["assay", "report", "--campaign", "1", "--store", str(Path(str(store.name)))]
    _, rows = store.query(query[3], campaign=1)
    assert len(rows) == CONDITIONS
    medians = sorted(row[-1] for row in rows)
    assert medians == sorted(condition.median or 0 for condition in gather(store, 1).analysis.conditions)


def test_a_second_writing_replaces_the_first(site: Path, store: Store) -> None:
    first = {path: path.read_bytes() for path in site.rglob("*.*")}
    write_page(gather(store, 1), store)
    assert {path: path.read_bytes() for path in site.rglob("*.*")} == first


def test_a_folder_that_cannot_be_written_is_named(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AssayError, match=r"cannot write .*file/page.*--output"):
        write_page(gather(store, 1), store, tmp_path / "file" / "page")


def test_the_terminal_shows_findings_first_within_80_columns_and_nothing_of_others_making(
    store: Store,
) -> None:
    printed = StringIO()
    print_report(gather(store, 1), Console(width=80, file=printed))
    text = printed.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert text.index("invalid-trials") < text.index("environment-changed") < text.index("Verdicts")
    assert "crashed" in text[text.index("Verdicts") :]
    assert "\x1b" not in text


def test_the_command_prints_verdicts_and_where_the_page_is(store: Store, tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = run_assay(
        Path(), "report", "--campaign", "1", "--store", str(Path(str(store.name))), "--output", str(site)
    )
    assert (done.returncode, done.stderr) == (0, "")
    page, following = done.stdout.splitlines()[-2:]
    assert page == f"page: {site / 'campaign-1' / 'index.html'}"
    assert following.startswith("next: ")
    assert (site / "campaign-1" / "index.html").is_file()


def second_campaign(store: Store) -> int:
    """Begin another campaign of the same experiment, in which nothing has run."""
    experiment = store.experiment(1).model_copy(update={"question": "Again?"})
    plan = make_plan(experiment, 78, lambda _: "/bin/true", 1000)
    return store.begin_campaign(experiment=experiment, plan=plan, host={})


def test_without_a_number_the_command_writes_the_pages_of_every_campaign(other_store: Store) -> None:
    second_campaign(other_store)
    done = run_assay(Path(), "report", "--store", str(Path(str(other_store.name))))
    assert (done.returncode, done.stderr) == (0, "")
    site = Path(str(other_store.name)).parent / "assay-report"
    assert ": 0 of 60 trials " in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[-2] == f"page: {site / 'index.html'}"
    links = [href for href in Page(site / "index.html").attributes("href") if "campaign" in href]
    assert links == ["campaign-2/index.html", "campaign-1/index.html"]  # the newest first
    for link in links:
        assert (site / link).is_file()


def test_the_index_lists_a_campaign_that_is_not_written_without_a_link(other_store: Store) -> None:
    second_campaign(other_store)
    site = write_page(gather(other_store, 1), other_store).parents[1]
    index = Page(site / "index.html")
    assert [href for href in index.attributes("href") if "campaign" in href] == ["campaign-1/index.html"]
    assert "assay report --campaign 2" in [text.strip() for text in index.texts["code"]]


def test_the_index_says_what_is_worst_and_what_was_decided(site: Path, store: Store) -> None:
    report = gather(store, 1)
    index = (site / "index.html").read_text(encoding="utf-8")
    for word, count in report.answers.counts.items():
        assert f">{count} {word}<" in index
    worst = [finding for finding in report.findings if finding.severity == report.findings[0].severity]
    assert re.search(rf">{len(worst)} {worst[0].severity}s?<", index)


@pytest.mark.parametrize("summary", ["", "[]", "{}", '{"begun": 1}'])
def test_a_damaged_summary_is_not_believed(other_store: Store, summary: str) -> None:
    second_campaign(other_store)
    site = write_page(gather(other_store, 1), other_store).parents[1]
    (site / "campaign-1" / "summary.json").write_text(summary, encoding="utf-8")
    write_page(gather(other_store, 2), other_store)
    index = Page(site / "index.html")
    assert [href for href in index.attributes("href") if "campaign" in href] == ["campaign-2/index.html"]


def contents(site: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in site.rglob("*.*") if path.is_file()}


def test_two_stores_in_one_folder_have_a_site_each(tmp_path: Path) -> None:
    with fill(tmp_path / "one.sqlite") as store, fill(tmp_path / "two.sqlite") as other:
        first = write_site(store).parent
        before = contents(first)
        second = write_site(other).parent
    assert (first, second) == (tmp_path / "one-report", tmp_path / "two-report")
    assert contents(first) == before


def test_a_store_whose_name_has_another_end_keeps_it_in_that_of_its_site(tmp_path: Path) -> None:
    with Store.open(tmp_path / "trials.db") as store:
        assert write_site(store) == tmp_path / "trials.db-report" / "index.html"


@pytest.mark.parametrize("mark", ["", "{}", '{"store": "../another.sqlite"}'])
def test_a_folder_that_holds_something_else_is_left_as_it_is(store: Store, tmp_path: Path, mark: str) -> None:
    (tmp_path / "index.html").write_text("somebody's")
    (tmp_path / "site.json").write_text(mark)
    before = contents(tmp_path)
    writes: list[Callable[[], object]] = [
        lambda: write_page(gather(store, 1), store, tmp_path),
        lambda: write_site(store, tmp_path),
    ]
    for write in writes:
        with pytest.raises(AssayError, match=rf"{tmp_path} is not the site of .*--output"):
            write()
    assert contents(tmp_path) == before


def test_a_site_moves_with_its_store(tmp_path: Path) -> None:
    with fill(tmp_path / "here" / "assay.sqlite") as store:
        write_site(store)
    (tmp_path / "here").rename(tmp_path / "there")
    with Store.open(tmp_path / "there" / "assay.sqlite") as moved:
        index = write_site(moved)
    assert str(moved.name) in index.read_text(encoding="utf-8")
    assert str(moved.name) in (index.parent / "campaign-1" / "index.html").read_text(encoding="utf-8")


def test_only_what_has_changed_is_written_again(other_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    site = write_site(other_store).parent
    (site / "campaign-1" / "index.html").write_text("not drawn again")
    (site / "guide" / "index.html").write_text("not drawn again")
    bundle = (site / "vega.js").stat().st_mtime_ns
    second_campaign(other_store)
    write_site(other_store)
    assert (site / "campaign-1" / "index.html").read_text() == "not drawn again"
    assert (site / "guide" / "index.html").read_text() == "not drawn again"
    assert (site / "vega.js").stat().st_mtime_ns == bundle
    assert (site / "campaign-2" / "index.html").is_file()
    (pending, *_) = other_store.pending(2)
    other_store.record(2, pending.ordinal, outcome(0, pending.levels))
    decided = Decision("stop", 0, datetime(2024, 1, 1, tzinfo=UTC), "enough", {})
    other_store.decide(1, decided)
    write_site(other_store)
    assert "enough" in (site / "campaign-1" / "index.html").read_text(encoding="utf-8")
    assert json.loads((site / "campaign-2" / "summary.json").read_text())["ended"] == 1
    (site / "campaign-1" / "index.html").write_text("of another Assay")
    (site / "vega.js").write_text("of another version")
    monkeypatch.setattr("assay.report.site._version", lambda: "another")
    write_site(other_store)
    for page in ("campaign-1", "guide"):
        assert "<!doctype html>" in (site / page / "index.html").read_text(encoding="utf-8")
    assert (site / "vega.js").stat().st_size > 100_000


def test_a_page_tells_what_other_campaigns_say_of_its_verdicts(tmp_path: Path) -> None:
    with fill_sided(tmp_path / "assay.sqlite") as store:
        site = write_site(store).parent
        page, table = site / "campaign-1" / "index.html", site / "campaign-1" / "records-1.js"
        assert "other campaign agrees" not in page.read_text(encoding="utf-8")
        compared = gather(store, 1).analysis.comparisons[0]
        verdict = {
            "metric": compared.metric,
            "context": words.condition_name(compared.context),
            "level": str(compared.level),
            "baseline": str(compared.baseline),
            "verdict": compared.verdict,
            "ratio": compared.ratio,
        }
        store.write_verdicts(second_campaign(store), [verdict])
        table.write_text("not written again", encoding="utf-8")
        write_site(store)
    assert "1 of 1 other campaign agrees" in page.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8") == "not written again"


def test_what_has_not_been_measured_of_verdicts_is_said_with_a_command(sided: tuple[Report, str]) -> None:
    report, page = sided
    shown = part(page, 'id="meaning"', "</details>")
    rows = len(report.analysis.comparisons)
    table = shown.partition(" predictive ")[2]
    assert table.count("not measured") == 2 * rows  # nothing ran twice, and there is no other campaign
    for command in ("assay store replay TRIAL", "assay run FILE --sensitivity"):
        assert command in shown
    assert shown.count("pairs agree") + shown.count(" pairs; spread") == rows


def test_pages_of_a_store_that_was_deleted_are_not_listed(tmp_path: Path) -> None:
    with fill(tmp_path / "assay.sqlite") as old:
        write_site(old)
    for file in tmp_path.glob("assay.sqlite*"):
        file.unlink()
    with fill(tmp_path / "assay.sqlite") as new:
        second_campaign(new)
        site = write_page(gather(new, 2), new).parents[1]
    index = Page(site / "index.html")
    assert [href for href in index.attributes("href") if "campaign" in href] == ["campaign-2/index.html"]


def test_a_site_without_campaigns_says_so(tmp_path: Path) -> None:
    with Store.open(tmp_path / "assay.sqlite") as empty:
        index = write_site(empty)
    assert "no campaign has begun" in index.read_text(encoding="utf-8")


def test_the_command_gives_programs_the_analysis_and_the_findings(other_store: Store) -> None:
    store = other_store
    done = run_assay(Path(), "report", "--campaign", "1", "--json", "--store", str(Path(str(store.name))))
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    expected = gather(store, 1)
    assert [finding["rule"] for finding in answer["findings"]] == [
        finding.rule for finding in expected.findings
    ]
    for shown, comparison in zip(
        answer["analysis"]["comparisons"], expected.analysis.comparisons, strict=True
    ):
        assert (shown["verdict"], shown["ratio"]) == (comparison.verdict, comparison.ratio)
    for shown, condition in zip(answer["analysis"]["conditions"], expected.analysis.conditions, strict=True):
        assert shown["counts"] == condition.counts
    assert not (Path(str(store.name)).parent / "assay-report").exists()


def test_the_analysis_is_json_for_metrics_near_the_largest_double(tmp_path: Path) -> None:
    source = EXPERIMENT.replace(
        "smallest_effect_percent = 5", "smallest_effect_percent = 5\nbetter = 'lower'"
    )
    experiment = parse(source, tmp_path / "example.toml")
    plan = make_plan(experiment, 77, lambda _: "/bin/true", 1000)
    path = tmp_path / "assay.sqlite"
    names = ("throughput", "generation_share", "throughput_drift", "throughput_variation")
    with Store.open(path) as store:
        campaign = store.begin_campaign(experiment=experiment, plan=plan, host={})
        for trial in plan.trials:
            result = {"protocol": 1, "status": "valid", "metrics": dict.fromkeys(names, 1.7e308)}
            base = outcome(0, trial.levels)
            store.record(campaign, trial.ordinal, replace(base, result=result))
    done = run_assay(Path(), "report", "--json", "--store", str(path))
    assert (done.returncode, done.stderr) == (0, "")

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is not JSON")

    answer = json.loads(done.stdout, parse_constant=refuse)
    assert answer["analysis"]["conditions"][0]["median"] == 1.7e308
    assert "inf%" not in done.stdout


def test_a_campaign_that_does_not_exist_is_one_message(store: Store) -> None:
    done = run_assay(Path(), "report", "--campaign", "9", "--store", str(Path(str(store.name))))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "no campaign 9" in done.stderr


def test_p_values_that_are_not_corrected_are_not_said_to_be(tmp_path: Path) -> None:
    source = EXPERIMENT.replace("[comparison]", '[comparison]\ncorrection = "none"')
    assert source != EXPERIMENT
    assert "p, corrected" in begun(tmp_path / "family", EXPERIMENT, tmp_path)
    page = begun(tmp_path / "none", source, tmp_path)
    assert "p, corrected" not in page
    assert "p, not corrected" in page
    assert "Each interval holds by itself, uncorrected for the number of comparisons" in page


def test_several_baselines_are_named_and_each_stands_where_it_is_one(tmp_path: Path) -> None:
    several = SIDED.replace('baseline = "a"', 'baseline = ["a", "c"]').replace('across = ["mix"]', "")
    several = several.replace("[design]", '[design]\nexclude = [{ subject = "a", mix = "updates" }]')
    page = begun(tmp_path, several, tmp_path)
    assert " by subject, each against a or c; higher is better" in page
    assert page.count(" of each subject over that of a or c<") == 2  # of throughput and of latency_ns
    verdicts = page[page.index('<table class="verdicts">') :].partition("</table>")[0]
    searches, updates = verdicts.split('<tr class="context">')[1:]
    for rows, baseline in ((searches, "a"), (updates, "c")):
        (row,) = (row for row in rows.split("<tr>") if 'class="verdict baseline"' in row)
        assert f">{baseline}</a></th>" in row
