"""Every command on a store that is on a PostgreSQL server, as a user types it."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from assay.store import Server, Store, runner_lock, store_name
from assay.store.testing import TestServer
from conftest import Assay, assay_in, small_experiment

PASSWORD = "to%21psecret"


@pytest.fixture(scope="module")
def url(postgresql: TestServer, tmp_path_factory: pytest.TempPathFactory, constant_programs: Path) -> str:
    """A store with two campaigns of one experiment; its URL has a password, which this server ignores."""
    url = postgresql.create().replace("@", f":{PASSWORD}@")
    folder = tmp_path_factory.mktemp("server")
    (folder / "maps.toml").write_text(small_experiment("maps", 8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_PROGRAMS", str(constant_programs))
        for _ in range(2):
            ran = assay_in(folder)("run", "maps.toml", "--store", url, "--quiet", "--anyway")
            assert f"--store '{shown(url)}'" in ran.stdout
            assert "psecret" not in ran.stdout + ran.stderr
    assert (folder / "results" / f"{database(url)}-report" / "index.html").exists()
    for file in folder.rglob("*"):
        assert not file.is_file() or b"psecret" not in file.read_bytes(), file
    return url


def shown(url: str) -> str:
    return str(store_name(url))


def database(url: str) -> str:
    server = store_name(url)
    assert isinstance(server, Server)
    return server.database


@pytest.fixture
def assay(tmp_path: Path) -> Assay:
    return assay_in(tmp_path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["store", "list"], "maps"),
        (["store", "list", "trials"], "valid"),
        (["store", "show", "1"], "store show 1 --verbose --store 'postgresql://"),
        (["store", "query", "select subject, median(throughput) from trials group by 1 order by 1"], "noop"),
        (["store", "query", "select level, verdict from verdicts"], "slower"),
        (["store", "query", "select rule from findings", "--json"], "rows"),
        (["store", "check"], "nothing is damaged in 2 campaigns"),
        (["report"], "slower"),
        (["report", "--campaign", "1", "--json"], '"store": "postgresql://'),
        (["report", "--audit", "--campaign", "1"], "Campaign 1"),
        (["store", "compare", "1", "2"], "campaign"),
        (["store", "export", "csv", "--output", "out"], "out"),
    ],
)
def test_a_command_reads_a_server_as_it_reads_a_file(
    assay: Assay, url: str, words: list[str], expected: str
) -> None:
    ended = assay(*words, "--store", url)
    assert expected in ended.stdout
    assert "psecret" not in ended.stdout + ended.stderr


def test_the_store_that_the_environment_names_may_be_on_a_server(
    assay: Assay, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_STORE", url)
    assert len(json.loads(assay("store", "list", "--json").stdout)["campaigns"]) == 2


def test_a_copy_in_a_file_answers_as_the_server_does(assay: Assay, url: str, tmp_path: Path) -> None:
    copied = assay("store", "copy", url, "copy.sqlite").stdout
    assert copied == f"copied 2 campaigns with 32 trials from {shown(url)} to copy.sqlite\n"
    for words in (
        ["store", "list"],
        ["report", "--campaign", "1", "--json"],
        ["store", "show", "3", "--json"],
    ):
        answers = [assay(*words, "--store", store).stdout for store in (url, tmp_path / "copy.sqlite")]
        if "report" in words:
            wholes = [json.loads(answer) for answer in answers]
            for whole in wholes:
                del whole["store"], whole["page"]
            assert wholes[0] == wholes[1]
        else:
            assert answers[0] == answers[1]
    again = assay("store", "copy", url, "copy.sqlite", expect=2)
    assert "copy.sqlite holds campaigns already" in again.stderr


def test_what_other_tools_measured_is_imported_into_a_server(
    assay: Assay, postgresql: TestServer, tmp_path: Path
) -> None:
    (tmp_path / "results.json").write_text(
        json.dumps(
            {
                "context": {"host_name": "lab"},
                "benchmarks": [
                    {
                        "name": f"sort/{size}",
                        "run_name": f"sort/{size}",
                        "run_type": "iteration",
                        "iterations": 9,
                    }
                    | {"real_time": 12.5 + size, "cpu_time": 12.0, "time_unit": "ns"}
                    for size in range(3)
                ],
            }
        )
    )
    url = postgresql.create()
    assay("store", "import", "results.json", "--store", url)
    rows = json.loads(
        assay(
            "store", "query", "select count(*), max(real_time_ns) from trials", "--store", url, "--json"
        ).stdout
    )["rows"]
    assert rows == [[3, 14.5]]
    assert "nothing is damaged" in assay("store", "check", "--store", url).stdout
    with Store.open(url) as store:
        assert [trial.id for trial in store.trials(1)] == [1, 2, 3]


def test_a_campaign_is_removed_and_a_wrong_query_is_one_line(
    assay: Assay, postgresql: TestServer, url: str
) -> None:
    other = postgresql.create()
    assay("store", "copy", url, other)
    assert "removed campaign 1" in assay("store", "remove", "1", "--yes", "--store", other).stdout
    wrong = assay("store", "query", "select threds from trials", "--store", other, expect=2)
    assert wrong.stderr.count("\n") == 1
    assert "threds" in wrong.stderr


def test_a_second_leader_is_refused(assay: Assay, url: str, tmp_path: Path) -> None:
    (tmp_path / "maps.toml").write_text(small_experiment("maps", 2))
    with runner_lock(url):
        ended = assay("run", "maps.toml", "--store", url, "--quiet", "--anyway", expect=2)
    assert "another process (process " in ended.stderr
    assert "psecret" not in ended.stderr


def test_a_server_without_its_package_says_what_to_install(
    assay: Assay, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.extras.available", lambda module: module != "psycopg")
    ended = assay("store", "list", "--store", url, expect=2)
    assert "needs psycopg, which is not installed: pip install 'assay[postgresql]'" in ended.stderr
    assert "psecret" not in ended.stderr


def test_serve_shows_a_copy_and_a_role_that_reads_suffices(
    postgresql: TestServer, url: str, tmp_path: Path
) -> None:
    name = database(url)
    postgresql.run(f"CREATE ROLE serve_{name} LOGIN")
    postgresql.run(f"GRANT pg_read_all_data TO serve_{name}")
    words = [sys.executable, "-m", "assay", "store", "serve", "--port", "0"]
    words += ["--store", postgresql.url(name, f"serve_{name}")]
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as server:
        assert server.stderr is not None
        assert server.stdout is not None
        try:
            port = next(
                found[1] for line in server.stderr if (found := re.search(r"127\.0\.0\.1:(\d+)", line))
            )
            with urlopen(f"http://127.0.0.1:{port}/{name}/maps.json?_shape=array") as answer:
                assert len(json.loads(answer.read())) == 32
            with urlopen(f"http://127.0.0.1:{port}/report/index.html") as answer:
                assert b"maps" in answer.read()
        finally:
            server.send_signal(signal.SIGINT)
            assert "start again to see later ones" in server.stdout.read()
            server.stderr.read()
