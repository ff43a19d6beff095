"""The page of a campaign, from a real store: it is whole, loads nothing, and lets nothing be injected."""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from assay.errors import AssayError
from assay.experiment import parse
from assay.plan.make_plan import make_plan
from assay.report import gather, print_verdicts, write_page
from assay.runner.types import Outcome
from assay.store import Store

ATTACK = "</script></pre></style><!--<script>alert(1)</script><img src=http://a.b onerror=alert(2)>{{7*7}}"
CALIBRATION = {
    "protocol": 1,
    "cpus": [0],
    "metrics": {"memory_ns": 90.5},
    "unavailable": {},
    "elapsed_ms": 20,
}

THREADS = [
    {
        "seed": f"0x{number:016x}",
        "bound_to": [0],
        "last_ran_on": 0,
        "measured_ns": 30,
        "operations": {
            kind: {"attempted": 1, "succeeded": 1, "work_ns": 1} for kind in ("insert", "erase", "find")
        },
        "series": series,
    }
    for number, series in enumerate([[10, 20, 40], [10, 0, 0, 10]])
]

EXPERIMENT = f"""
name = "example"
question = '''Is it faster? {ATTACK}'''
[factors]
threads = [1, 2]
[factors.variant]
base = {{}}
'{ATTACK}' = {{ keys = "sparse" }}
[trial]
subject = "noop"
key_range = 100
mix = {{ insert = 10, erase = 10, find = 80 }}
[design]
blocks = 6
[comparison]
metric = "throughput"
factor = "variant"
baseline = "base"
smallest_effect_percent = 5
"""


def outcome(ordinal: int, levels: Mapping[str, Any]) -> Outcome:
    """Most trials are valid; every ninth crashes."""
    crashed = ordinal % 9 == 4
    metrics = {"throughput": (1e6 if levels["variant"] == "base" else 2e6) + ordinal}
    valid = {"protocol": 1, "status": "valid", "metrics": metrics, "threads": THREADS}
    if ordinal > 2:
        valid["environment"] = {"processor": f"{ATTACK} told"}
    return Outcome(
        status="crashed" if crashed else "valid",
        reason=ATTACK if crashed else "",
        exit_code=-11 if crashed else 0,
        result=None if crashed else valid | {"details": {"note": ATTACK, "half": "\ud800"}},
        stdout="",
        stderr=ATTACK if crashed else "",
        calibration_before=CALIBRATION,
        calibration_after=CALIBRATION,
        calibration_error="",
        started_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=ordinal),
        wall_s=0.5,
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    experiment = parse(EXPERIMENT, tmp_path / "example.toml")
    plan = make_plan(experiment, 77, lambda _: "/bin/true", 1000)
    opened = Store.open(tmp_path / "results" / "assay.sqlite")
    campaign = opened.begin_campaign(
        experiment=experiment.name,
        question=experiment.question,
        source=EXPERIMENT,
        directory=str(tmp_path),
        plan=plan,
        host={"name": ATTACK, "processors": 2},
    )
    for trial in plan.trials:
        opened.record(campaign, trial.ordinal, outcome(trial.ordinal, trial.levels))
    return opened


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


@pytest.fixture
def pages(store: Store) -> dict[str, Page]:
    index = write_page(gather(store, 1), store)
    return {path.name: Page(path) for path in index.parent.glob("*.html")}


def test_the_page_stands_beside_the_store_with_one_file_for_each_condition(store: Store) -> None:
    index = write_page(gather(store, 1), store)
    assert index == store.path.parent / "report" / "campaign-1" / "index.html"
    assert {path.name for path in index.parent.iterdir()} == {
        "index.html",
        "vega.js",
        "experiment.toml",
        *(f"condition-{number}.html" for number in (1, 2, 3, 4)),
    }


def test_nothing_is_loaded_but_the_files_beside_it(pages: dict[str, Page]) -> None:
    for page in pages.values():
        tags = {tag for tag, _ in page.elements}
        assert not tags & {"img", "iframe", "link", "object", "embed", "base", "video", "audio", "form"}
        assert page.attributes("src") in ([], ["vega.js"])
        for style in page.texts["style"]:
            assert "url(" not in style
            assert "@import" not in style
        for script in page.texts["script"]:
            assert "fetch(" not in script
        for href in page.attributes("href"):
            assert ":" not in href


def test_no_text_from_outside_becomes_an_element_or_a_handler(pages: dict[str, Page]) -> None:
    assert len(pages["index.html"].texts["script"]) == 4
    for name, page in pages.items():
        assert name == "index.html" or len(page.texts["script"]) == 1
        assert len(page.texts["style"]) == 1
        for _, attributes in page.elements:
            assert not [attribute for attribute in attributes if attribute.startswith("on")]
    assert ATTACK in pages["index.html"].texts["h1"][0]  # it is there, as text


def test_every_link_leads_somewhere(pages: dict[str, Page], store: Store) -> None:
    directory = store.path.parent / "report" / "campaign-1"
    for page in pages.values():
        for href in page.attributes("href"):
            file, _, anchor = href.partition("#")
            assert (directory / file).is_file()
            assert not anchor or anchor in pages[file].attributes("id")


def test_every_trial_has_its_whole_record(pages: dict[str, Page], store: Store) -> None:
    for trial in store.trials(1):
        (page,) = [page for page in pages.values() if f"trial-{trial.id}" in page.attributes("id")]
        records = [json.loads(text) for text in page.texts["pre"] if text.startswith('{\n  "trial"')]
        (record,) = [record for record in records if record["trial"] == trial.id]
        expected = json.dumps(store.record_of(trial.id)).replace(
            "\\ud800", "?"
        )  # no file can hold half a pair
        assert record == json.loads(expected)


def test_every_charted_trial_leads_to_its_record(pages: dict[str, Page], store: Store) -> None:
    index = pages["index.html"]
    specifications = index.script("specifications")
    charted: dict[str, list[int]] = {}
    for kind, columns, rows in index.script("data"):
        assert kind in specifications
        for row in rows:
            point = dict(zip(columns, row, strict=True))
            page = pages[f"condition-{point['condition']}.html"]
            if "trial" in point:
                charted.setdefault(kind, []).append(point["trial"])
                assert f"trial-{point['trial']}" in page.attributes("id")
    trials = store.trials(1)
    assert sorted(charted["trials"]) == [trial.id for trial in trials if trial.status == "valid"]
    assert sorted(charted["memory_ns"]) == sorted(2 * [trial.id for trial in trials])
    assert len(index.attributes("data-figure")) == len(index.script("data"))


def test_small_changes_of_the_host_can_be_seen(pages: dict[str, Page]) -> None:
    scale = pages["index.html"].script("specifications")["memory_ns"]["encoding"]["y"]["scale"]
    assert scale["nice"] is False  # else the axis would reach to whole powers of ten


def test_trials_that_do_not_count_are_linked_above_the_verdicts(store: Store) -> None:
    text = write_page(gather(store, 1), store).read_text(encoding="utf-8")
    failed = [trial.id for trial in store.trials(1) if trial.status == "crashed"]
    assert failed
    for trial in failed:
        assert 0 < text.index(f"#trial-{trial}") < text.index('id="verdicts"')


def test_the_experiment_shown_gives_the_same_plan_again(store: Store) -> None:
    source = (write_page(gather(store, 1), store).parent / "experiment.toml").read_text(encoding="utf-8")
    again = parse(source, Path("example.toml"))
    assert again.design.seed == 77
    planned = make_plan(again, again.design.seed, lambda _: "/bin/true", 1000)
    assert [dict(trial.levels) for trial in planned.trials] == [
        dict(trial.levels) for trial in store.trials(1)
    ]


def test_the_commands_work_from_any_folder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(store.path.parent)
    with Store.open(Path(store.path.name)) as relative:
        index = write_page(gather(relative, 1), relative, Path("page"))
    for command in Page(index).texts["pre"]:
        if command.startswith("assay "):
            words = shlex.split(command)
            assert words[words.index("--store") + 1] == str(store.path)
            assert words[1] != "run" or words[2] == str(store.path.parent / "page" / "experiment.toml")


@pytest.mark.parametrize(
    "program", ['"build/my map"', "'build/my map'", r'"build/my\u0020map"', '"/opt/my map"', '"../my map"']
)
def test_the_experiment_shown_finds_the_programs_of_ones_own(tmp_path: Path, program: str) -> None:
    source = f"""
name = "own"
question = "Is program = 'build/x' a program?"
factors.subject = ["mine", "noop"]
[subjects.mine]
program = {program}
[trial]
threads = 1
key_range = 100
mix = {{ insert = 10, erase = 10, find = 80 }}
[design]
blocks = 6
seed = 3
[comparison]
metric = "throughput"
factor = "subject"
baseline = "noop"
smallest_effect_percent = 5
""".replace("program = 'build/x'", "program")
    experiment = parse(source, tmp_path / "here" / "own.toml")
    plan = make_plan(experiment, 3, lambda _: "/bin/true", 1000)
    with Store.open(tmp_path / "assay.sqlite") as store:
        campaign = store.begin_campaign(
            experiment="own",
            question="?",
            source=source,
            directory=str(tmp_path / "here"),
            plan=plan,
            host={},
        )
        page = write_page(gather(store, campaign), store, tmp_path / "page")
    again = page.parent / "experiment.toml"
    assert parse(again.read_text(encoding="utf-8"), again).programs == experiment.programs
    assert f"assay run {again}" in page.read_text(encoding="utf-8")


def test_the_environment_is_that_of_the_first_trial_that_tells(pages: dict[str, Page]) -> None:
    assert any(f"{ATTACK} told" in text for text in pages["index.html"].texts["td"])


def test_a_remedy_shows_commands_as_code(pages: dict[str, Page]) -> None:
    index = pages["index.html"]
    assert any(text.startswith("assay show") for text in index.texts["code"])
    assert not [text for text in index.texts["p"] if "`" in text]


def test_every_trial_that_tells_has_its_series_drawn(pages: dict[str, Page], store: Store) -> None:
    drawn = [points for page in pages.values() for points in page.attributes("points")]
    assert len(drawn) == sum(trial.status == "valid" for trial in store.trials(1))
    assert set(drawn) == {"0,50 33.33,50 66.67,0 100,75"}


def test_a_seed_that_cannot_be_filled_in_is_named(tmp_path: Path) -> None:
    source = EXPERIMENT.replace("[design]\nblocks = 6\n", "").replace(
        "[factors]", "design.blocks = 6\n[factors]", 1
    )
    experiment = parse(source, tmp_path / "example.toml")
    plan = make_plan(experiment, 77, lambda _: "/bin/true", 1000)
    with Store.open(tmp_path / "assay.sqlite") as store:
        campaign = store.begin_campaign(
            experiment="example", question="?", source=source, directory="/", plan=plan, host={}
        )
        page = write_page(gather(store, campaign), store, tmp_path / "page")
    assert "seed = 77" in (page.parent / "experiment.toml").read_text(encoding="utf-8")
    assert "assay run" not in page.read_text(encoding="utf-8")
    assert "no trial has ended" in (page.parent / "condition-1.html").read_text(encoding="utf-8")


def test_the_page_quotes_its_commands(store: Store) -> None:
    page = Page(write_page(gather(store, 1), store))
    commands = [text for text in page.texts["pre"] if text.startswith("assay ")]
    run, report, query = (shlex.split(command) for command in commands)
    written = store.path.parent / "report" / "campaign-1" / "experiment.toml"
    assert run == ["assay", "run", str(written), "--store", str(store.path)]
    assert report == ["assay", "report", "1", "--store", str(store.path)]
    _, rows = store.query(query[2], campaign=1)
    assert len(rows) == 4
    medians = sorted(row[-1] for row in rows)
    assert medians == sorted(condition.median or 0 for condition in gather(store, 1).analysis.conditions)


def test_a_second_writing_replaces_the_first(store: Store) -> None:
    first = write_page(gather(store, 1), store).read_text(encoding="utf-8")
    index = write_page(gather(store, 1), store)
    assert index.read_text(encoding="utf-8") == first
    assert not list(index.parent.glob("*.part"))


def test_a_folder_that_cannot_be_written_is_named(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AssayError, match=r"cannot write the page in .*file/page.*--output"):
        write_page(gather(store, 1), store, tmp_path / "file" / "page")


def test_the_terminal_shows_findings_first_within_80_columns_and_nothing_of_others_making(
    store: Store,
) -> None:
    printed = StringIO()
    print_verdicts(gather(store, 1), Console(width=80, file=printed))
    text = printed.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert text.index("invalid-trials") < text.index("too-few-blocks") < text.index("Verdicts")
    assert "crashed" in text[text.index("Verdicts") :]
    assert "\x1b" not in text


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_prints_verdicts_and_where_the_page_is(store: Store, tmp_path: Path) -> None:
    done = assay("report", "--store", str(store.path), "--output", str(tmp_path / "page"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"page: {tmp_path / 'page' / 'index.html'}"
    assert (tmp_path / "page" / "index.html").is_file()


def test_the_command_gives_programs_the_analysis_and_the_findings(store: Store) -> None:
    done = assay("report", "1", "--json", "--store", str(store.path))
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    expected = gather(store, 1)
    assert [finding["rule"] for finding in answer["findings"]] == [one.rule for one in expected.findings]
    for shown, comparison in zip(
        answer["analysis"]["comparisons"], expected.analysis.comparisons, strict=True
    ):
        assert (shown["verdict"], shown["ratio"]) == (comparison.verdict, comparison.ratio)
    for shown, condition in zip(answer["analysis"]["conditions"], expected.analysis.conditions, strict=True):
        assert shown["counts"] == condition.counts
    assert not (store.path.parent / "report").exists()


def test_the_analysis_is_json_for_metrics_near_the_largest_double(tmp_path: Path) -> None:
    source = EXPERIMENT.replace(
        "smallest_effect_percent = 5", "smallest_effect_percent = 5\nbetter = 'lower'"
    )
    experiment = parse(source, tmp_path / "example.toml")
    plan = make_plan(experiment, 77, lambda _: "/bin/true", 1000)
    path = tmp_path / "assay.sqlite"
    names = ("throughput", "generation_share", "throughput_drift", "throughput_variation")
    with Store.open(path) as store:
        campaign = store.begin_campaign(
            experiment="example", question="?", source=source, directory="/", plan=plan, host={}
        )
        for trial in plan.trials:
            told = {"protocol": 1, "status": "valid", "metrics": dict.fromkeys(names, 1.7e308)}
            base = outcome(0, trial.levels)
            store.record(campaign, trial.ordinal, replace(base, result=told))
    done = assay("report", "--json", "--store", str(path))
    assert (done.returncode, done.stderr) == (0, "")

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is not JSON")

    answer = json.loads(done.stdout, parse_constant=refuse)
    assert answer["analysis"]["conditions"][0]["median"] == 1.7e308
    assert "inf%" not in done.stdout


def test_a_campaign_that_does_not_exist_is_one_message(store: Store) -> None:
    done = assay("report", "9", "--store", str(store.path))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "no campaign 9" in done.stderr
