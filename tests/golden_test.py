"""What commands print and write for stored campaigns is what it was: the files in `golden/` hold it.

Each folder of `golden/` has a store, as text of SQL (`zcat store.sql.gz`), and a file for each command with
all that it printed and wrote. GOLDEN=write rewrites the files that differ: see `git diff` before you commit.

The campaigns were run once; their throughput is made up, with noise, so that every verdict occurs:

    maps 1      maps by threads and mixes: every verdict; a crashed, an invalid and a timed-out trial
    maps 2      roles, latencies and probes, ended early by a look; missing metrics, a slow trial
    maps 3      a sensitivity campaign of commands
    maps 4      commands on a host with two modes; repeated groups, a ladder, a rule, a reported ratio
    maps 5      identical code
    commands 1  a race
    commands 2  two revisions, with a gate that one benchmark fails, one passes and one leaves undecided
    history     one experiment at ten commits, whose pages are the satellite trend's
"""

import base64
import difflib
import gzip
import json
import os
import re
import shlex
import sqlite3
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.report import gather
from assay.report.ab import answer_of
from assay.report.ab_writers import comment, junit, screen
from assay.report.race import race_answer
from assay.store import Store
from conftest import ROOT, run_assay

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("GOLDEN") == "write"
SHOWN = 40
"""Lines of a difference that a failure shows."""
DIGITS = 8
"""How many digits of a number are compared: the next ones depend on the processor's vector instructions."""

NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{6,}(?:e-?\d+)?(?![\w.])")

OF_STORE = (
    "store list",
    "store list --json",
    "store check",
    "store check --json",
    "store query 'select * from campaigns'",
    "store query 'select * from findings' --json",
    "store query 'select * from verdicts' --json",
)
"""What is asked of every store."""
OF_CAMPAIGN = (
    "report --campaign {}",
    "report --campaign {} --verbose",
    "report --campaign {} --json",
    "report --campaign {} --audit",
    "report --campaign {} --audit --json",
    "store list trials --campaign {}",
)
COMMANDS = {
    "maps": [
        *OF_STORE,
        *(command.format(number) for number in range(1, 6) for command in OF_CAMPAIGN),
        "store list trials --campaign 1 --json",
        *(f"store show {trial}" for trial in (1, 16)),
        "store show 91",
        "report --campaign 1 --fail-on slower --fail-on warning",
        "store query 'select subject, threads, median(throughput) from trials group by 1, 2' --campaign 1",
    ],
    "commands": [
        *OF_STORE,
        *(command.format(number) for number in (1, 2) for command in OF_CAMPAIGN),
        "store show 1",
        "store show 1 --json",
    ],
    "history": ["store list", "store check"],
}
WITH_PAGES = ("maps", "commands")
CASES = [(store, command) for store, commands in COMMANDS.items() for command in commands]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in which commands print the same on every machine."""
    for name in ("ASSAY_STORE", "FORCE_COLOR", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "executable", "python")
    return tmp_path


@cache
def dump(store: str) -> str:
    return gzip.decompress((GOLDEN / store / "store.sql.gz").read_bytes()).decode()


def load(store: str, folder: Path) -> Path:
    """Make the store in a folder."""
    file = folder / "assay.sqlite"
    connection = sqlite3.connect(file)
    connection.executescript(dump(store))
    connection.close()
    return file


def save(file: Path, target: Path) -> None:
    """Write a store as text from which `load` makes it again: a tool for whoever records another one."""
    connection = sqlite3.connect(file)
    pragmas = [
        f"PRAGMA {name} = {connection.execute(f'PRAGMA {name}').fetchone()[0]};"
        for name in ("application_id", "user_version", "journal_mode")
    ]
    target.write_bytes(gzip.compress("\n".join([*connection.iterdump(), *pragmas, ""]).encode(), mtime=0))


@pytest.mark.parametrize(("store", "command"), CASES, ids=[f"{store}: {command}" for store, command in CASES])
@pytest.mark.usefixtures("no_pages")
def test_a_command_prints_what_it_did(folder: Path, store: str, command: str) -> None:
    load(store, folder)
    compare(folder, f"{store}/{name_of(command)}", printed(folder, command), f"assay {command}")


@pytest.mark.parametrize("store", WITH_PAGES)
def test_pages_are_what_they_were(folder: Path, store: str) -> None:
    load(store, folder)
    compare(folder, f"{store}/report.txt", printed(folder, "report"), "assay report")
    site = folder / "assay-report"
    files = [path for path in sorted(site.rglob("*")) if path.is_file() and path.parent.name != "guide"]
    names = "\n".join(str(path.relative_to(site)) for path in files)
    compare(folder, f"{store}/pages/files.txt", f"{names}\n", "the list of files that assay report writes")
    charts: dict[str, Any] = {}
    for path in files:
        if path.match("*.html") and path.name != "trial.html":
            name = str(path.relative_to(site)).replace("/", "-")
            page, charts[name] = without_charts(path.read_text())
            compare(folder, f"{store}/pages/{name}", page, f"the page {name} of assay report")
    assert {path.name for path in (GOLDEN / store / "pages").glob("*.html")} == {*charts}
    specifications = json.dumps(charts, indent=1, sort_keys=True)
    compare(
        folder, f"{store}/pages/charts.json.gz", specifications, "the charts on the pages of assay report"
    )
    lines = [f"{path.relative_to(site)}: {line}" for path in files for line in rows_of(path)]
    compare(
        folder,
        f"{store}/pages/rows.txt",
        "\n".join([*lines, ""]),
        "the data beside the pages of assay report",
    )


def test_the_answer_of_a_race_is_what_it_was(folder: Path) -> None:
    with Store.open(load("commands", folder), create=False) as store:
        lines = race_answer(gather(store, 1), 12.0)
        compare(folder, "commands/race.txt", "\n".join([*lines, ""]), "the answer of assay race")


def test_the_answer_of_ab_is_what_it_was(folder: Path) -> None:
    with Store.open(load("commands", folder), create=False) as store:
        answer = answer_of(gather(store, 2), 23.0, minutes_needed=12.0)
    for name, text in (
        ("ab.txt", "\n".join([*screen(answer, "assay report"), ""])),
        ("ab.md", comment(answer)),
        ("ab.xml", junit(answer)),
    ):
        compare(folder, f"commands/{name}", text, f"the answer of assay ab, {name}")


def test_no_file_is_left_over() -> None:
    used = {f"{store}/{name_of(command)}" for store, command in CASES}
    used |= {f"{store}/store.sql.gz" for store in COMMANDS} | {f"{store}/report.txt" for store in WITH_PAGES}
    used |= {f"commands/{name}" for name in ("race.txt", "ab.txt", "ab.md", "ab.xml")}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*.*")} == used


def name_of(command: str) -> str:
    """Return the name of the file that holds what a command printed."""
    return re.sub("[^a-z0-9]+", "-", command.lower()).strip("-") + ".txt"


def printed(folder: Path, command: str) -> str:
    """Run a command, and return what it prints and exports."""
    words = shlex.split(command)
    ended = run_assay(folder, *words, "--store", "assay.sqlite")
    text = ended.stdout
    if "--json" in words and text:
        text = json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    errors = f"(standard error)\n{ended.stderr}" * bool(ended.stderr)
    files = sorted((folder / "export").glob("*"))
    exported = [f"(file {file.name})\n{file.read_text()}" for file in files]
    return "".join([f"$ assay {command}\n", text, errors, f"(exit code {ended.returncode})\n", *exported])


def without_charts(page: str) -> tuple[str, Any]:
    """Return a page whose data are in lines and whose charts are taken out, and these."""
    parts = re.split(
        '(<script type="application/json" id="(specifications|data)">)(.*?)(?=</script>)', page, flags=re.S
    )
    charts: Any = None
    lines = [parts[0]]
    for opening, kind, content, rest in zip(*(parts[start::4] for start in (1, 2, 3, 4)), strict=True):
        lines.append(opening)
        if kind == "specifications":
            charts = json.loads(content)
        else:
            lines += [
                f"\n{line}" for name, figure in json.loads(content).items() for line in lines_of(name, figure)
            ]
        lines.append(rest)
    return "".join(lines), charts


def lines_of(name: str, figure: Any) -> Iterator[str]:
    """Yield the data of a figure, a row a line."""
    kind, columns, rows = figure
    yield f"{name} {kind} {json.dumps(columns)}"
    yield from (json.dumps(row, ensure_ascii=False) for row in rows)


def rows_of(file: Path) -> list[str]:
    """Return the first rows of data that pages load from a file beside them."""
    packed = (
        re.fullmatch(r'receive\("[^"]*", "([^"]*)"\);?\s*', file.read_text())
        if file.suffix == ".js"
        else None
    )
    if packed is None:
        return []
    return gzip.decompress(base64.b64decode(packed[1])).decode().splitlines()[:2]


def compare(folder: Path, name: str, text: str, what: str) -> None:
    """Compare a text with a golden file, or write it there."""
    text = normalised(text, folder)
    file = GOLDEN / name
    packed = file.suffix == ".gz"
    kept = (
        ""
        if not file.exists()
        else gzip.decompress(file.read_bytes()).decode()
        if packed
        else file.read_text()
    )
    if text == kept:
        return
    if WRITE:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())
        return
    lines = [*difflib.unified_diff(kept.splitlines(), text.splitlines(), name, "now", n=1, lineterm="")]
    more = f"\n({len(lines) - SHOWN} more lines)" if len(lines) > SHOWN else ""
    shown = "\n".join(line[:200] for line in lines[:SHOWN])
    pytest.fail(
        f"changed: {what}\n{shown}{more}\nIf it should be so: GOLDEN=write, then git diff", pytrace=False
    )


def normalised(text: str, folder: Path) -> str:
    """Return a text without what differs from machine to machine."""
    text = text.replace(str(folder), "/folder").replace(str(ROOT), "/checkout")
    text = re.sub(r"(?:'|&#39;)(/folder[^'&\s]*)(?:'|&#39;)", r"\1", text)  # quoted for a blank in its name
    text = re.sub(r"Guide: [\s\S]*?\.\s*m\s*d\s*\n", "Guide: a file of Assay's\n", text)
    text = re.sub(" +$", "", text, flags=re.MULTILINE)
    return NUMBER.sub(lambda number: f"{float(number[0]):.{DIGITS}g}", text)
