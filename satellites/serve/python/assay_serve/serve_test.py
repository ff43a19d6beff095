import asyncio
import re
import resource
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from socket import create_connection
from typing import Any
from urllib.parse import quote

import pytest
from datasette.app import Datasette  # type: ignore[import-untyped]

from assay.experiment.testing import experiment
from assay.findings import Finding
from assay.plan.types import Plan, PlannedTrial
from assay.runner.types import Outcome
from assay.store import Store
from assay_serve.connections import MOST_CONNECTIONS
from assay_serve.server import datasette

VERDICT = {
    **{"metric": "throughput", "context": "threads=2", "level": "<b>", "baseline": "c", "verdict": "faster"},
    **{"ratio": 1.5, "low": 1.25, "high": 1.75, "p": 0.01, "pairs": 9, "reason": ""},
}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Datasette:
    """A store of one trial as `command` has Datasette open it."""
    monkeypatch.setenv("ASSAY_SERVE_HOSTS", "lab.example")
    path = tmp_path / "assay.sqlite"
    trial = PlannedTrial(0, 0, 0, {"subject": "<b>"}, {"seed": 9}, "/bin/x", {}, 1.0, 512)
    with Store.open(path) as store:
        campaign = store.begin_campaign(experiment=experiment("maps"), plan=Plan(1, (trial,)), host={})
        store.record(campaign, 0, _valid({"throughput": 3.0}))
        store.write_verdicts(campaign, [VERDICT])
        store.write_findings(campaign, [Finding("Seen.", (), {}, "Do.", rule="drift")])
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("the report")
    return datasette(path, tmp_path / "site")


def _valid(metrics: dict[str, float]) -> Outcome:
    return Outcome(
        status="valid",
        reason="",
        exit_code=0,
        result={"protocol": 1, "status": "valid", "metrics": metrics},
        stdout="",
        stderr="",
        calibration_before=None,
        calibration_after=None,
        calibration_error="none",
        started_at=datetime(2025, 1, 31, tzinfo=UTC),
        wall_s=0.25,
    )


def get(served: Datasette, path: str, **headers: str) -> Any:
    async def answer() -> Any:
        await served.invoke_startup()
        return await served.client.get(path, follow_redirects=True, headers=headers)

    return asyncio.run(answer())


def test_a_trial_of_a_view_leads_to_its_record(served: Datasette) -> None:
    page = get(served, "/assay/maps").text
    assert 'href="/report/campaign-1/trial.html#1"' in page
    assert 'href="/report/campaign-1/index.html"' in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_a_table_leads_to_the_page_of_a_campaign(served: Datasette) -> None:
    assert 'href="/report/campaign-1/index.html"' in get(served, "/assay/trial").text


def test_a_query_of_ones_own_leads_to_the_pages_too(served: Datasette) -> None:
    page = get(served, "/assay?sql=select+trial,+campaign,+7+as+threads+from+maps").text
    assert 'href="/report/campaign-1/trial.html#1"' in page


def test_a_query_has_the_functions_of_assay_query(served: Datasette) -> None:
    answer = get(served, "/assay.json?sql=select+median(throughput)+as+m+from+maps&_shape=array")
    assert answer.json() == [{"m": 3.0}]


def test_the_first_page_shows_campaigns_and_verdicts(served: Datasette) -> None:
    page = get(served, "/").text
    assert 'href="/report/campaign-1/index.html"' in page
    assert "1 faster" in page
    assert "1 warning" in page
    assert "1.250 to 1.750" in page
    assert "<td>c</td>" in page  # what the ratio is over
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_a_sql_box_begins_with_a_query_on_verdicts(served: Datasette) -> None:
    for path in ("/", "/assay"):
        page = get(served, path).text
        (query,) = re.findall(r'<textarea id="sql-editor" name="sql"[^>]*>([^<]*)</textarea>', page)
        rows = get(served, f"/assay.json?sql={quote(query)}&_shape=array").json()
        assert [(row["level"], row["verdict"], row["ratio"]) for row in rows] == [("<b>", "faster", 1.5)]


def test_the_report_is_served_beside_the_store(served: Datasette) -> None:
    assert get(served, "/report/index.html").text == "the report"
    assert 'href="/report/index.html"' in get(served, "/").text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("localhost", 200), ("127.0.0.1:8001", 200), ("[::1]:8001", 200), ("LOCALHOST:1", 200)),
        *(
            ("elsewhere.example", 421),
            ("127.0.0.1.elsewhere.example:8001", 421),
            ("", 421),
            ("localhost\n", 421),
        ),
        ("lab.example", 200),
    ],
)
def test_only_names_of_this_host_are_answered(served: Datasette, host: str, status: int) -> None:
    assert get(served, "/", Host=host).status_code == status


def test_what_would_change_something_is_refused(served: Datasette) -> None:
    """Before its body is read, which may be as long as the memory."""

    async def answer() -> int:
        await served.invoke_startup()
        status: int = (await served.client.post("/-/messages", data={"message": "x"})).status_code
        return status

    assert asyncio.run(answer()) == 405


def test_a_value_that_is_too_long_is_an_error_page(served: Datasette) -> None:
    assert get(served, "/assay.json?sql=select+length(zeroblob(1000000000))").status_code == 400
    assert get(served, "/").status_code == 200


def test_a_server_that_is_asked_for_too_much_answers_on(tmp_path: Path) -> None:
    """A real server, asked through real sockets for more memory and connections than it may have."""
    Store.open(tmp_path / "assay.sqlite").close()
    words = [
        sys.executable,
        "-m",
        "assay",
        "store",
        "serve",
        "--port",
        "0",
        "--store",
        str(tmp_path / "assay.sqlite"),
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as server:
        assert server.stderr is not None
        try:
            port = next(
                found[1] for line in server.stderr if (found := re.search(r"127\.0\.0\.1:(\d+)", line))
            )

            limit, hard = resource.prlimit(server.pid, resource.RLIMIT_DATA)
            assert 0 < limit <= 2**31
            resource.prlimit(server.pid, resource.RLIMIT_DATA, (10**9, hard))  # less, to be quick

            def ask(path: str, host: str = "localhost") -> int:
                connection = HTTPConnection("127.0.0.1", int(port))
                connection.request("GET", path, headers={"Host": host})
                return connection.getresponse().status

            sql = f"select {','.join(['zeroblob(200000000)'] * 10)}"
            assert ask(f"/assay.json?sql={quote(sql)}") == 500
            assert ask("/") == 200
            assert ask("/", "elsewhere.example") == 421

            with ExitStack() as silent:
                opened = []
                for _ in range(MOST_CONNECTIONS + 1):
                    opened.append(silent.enter_context(create_connection(("127.0.0.1", int(port)))))
                    opened[-1].sendall(b"GET / HT")  # and no more
                assert not opened[0].recv(1)  # has given way
                assert ask("/") == 200
        finally:
            server.terminate()
            server.stderr.close()
