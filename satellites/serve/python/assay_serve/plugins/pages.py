"""Links from rows of a store to pages of its report, with the functions and limits of `assay store query`."""

import os
import re
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from datasette import hookimpl  # type: ignore[import-untyped]  # nor are its decorators typed
from markupsafe import Markup

from assay.store.query import LONGEST_BYTES, add_aggregates
from assay.words import ratio

if TYPE_CHECKING:
    from datasette.app import Datasette  # type: ignore[import-untyped]


USEFUL_QUERY = (
    "select campaign, context, level, verdict, ratio, low, high from verdicts order by campaign desc"
)
"""What a SQL box begins with."""
CAMPAIGNS = "select * from campaigns order by campaign desc limit 100"
LATEST_VERDICTS = "select * from verdicts where campaign = (select max(campaign) from verdicts) limit 100"


@hookimpl  # type: ignore[untyped-decorator]
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Add `median(x)` and `quantile(x, p)`, and limit what a query puts on disk and into one value."""
    conn.execute("PRAGMA temp_store = MEMORY")
    conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_BYTES)
    add_aggregates(conn, [])


@hookimpl  # type: ignore[untyped-decorator]
def asgi_wrapper() -> Callable[[Any], Any]:
    """Refuse requests to a host that is not this one, and those that would change something.

    A page elsewhere whose name leads to 127.0.0.1 could else read the store through a browser here.
    """
    allowed = {"localhost", "127.0.0.1", "[::1]", *os.environ.get("ASSAY_SERVE_HOSTS", "").lower().split()}

    def wrap(app: Any) -> Any:
        async def checked(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                hosts = [
                    value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"
                ]
                if len(hosts) != 1 or re.sub(r":[0-9]*\Z", "", hosts[0]) not in allowed:
                    said = "this name is not allowed; use 127.0.0.1, or allow it with --allow-host"
                    await _refuse(send, 421, said)
                    return
                # Datasette reads the body of a POST into memory, whatever its length.
                if scope["method"] not in {"GET", "HEAD", "OPTIONS"}:
                    await _refuse(send, 405, "the store is only read; ask with GET")
                    return
            await app(scope, receive, send)

        return checked

    return wrap


async def _refuse(send: Any, status: int, why: str) -> None:
    said = f"{status}: {why}\n".encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(said))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": said})


@hookimpl  # type: ignore[untyped-decorator]
def extra_template_vars(view_name: str, datasette: "Datasette") -> Any:
    """Give a SQL box the query that it begins with, and the first page its campaigns and verdicts."""

    async def variables() -> dict[str, Any]:
        stores = [
            {
                "name": name,
                "campaigns": await _rows(database, CAMPAIGNS),
                "verdicts": await _rows(database, LATEST_VERDICTS),
                "views": await database.view_names(),
            }
            for name, database in datasette.databases.items()
            if view_name == "index" and name != "_internal"
        ]
        return {"useful_query": USEFUL_QUERY, "stores": stores, "ratio": ratio}

    return variables


async def _rows(database: Any, sql: str) -> list[dict[str, Any]]:
    return [dict(row) for row in (await database.execute(sql)).rows]


@hookimpl  # type: ignore[untyped-decorator]
def menu_links(datasette: "Datasette") -> list[dict[str, str]]:
    """Put the report into the menu of every page."""
    return [{"href": datasette.urls.path("/report/index.html"), "label": "Report"}]


@hookimpl  # type: ignore[untyped-decorator]
def render_cell(
    row: sqlite3.Row, value: Any, column: str, table: str | None, datasette: "Datasette"
) -> Markup | None:
    """Link a campaign's number to its page, and a trial's to its record; foreign trials have no page."""
    names = row.keys()
    if column in {"campaign", "campaign_id"} and isinstance(value, int):
        page = f"campaign-{value}/index.html"
    elif (
        column == "trial"
        and ":" not in (table or "")
        and "campaign" in names
        and all(isinstance(number, int) for number in (value, row["campaign"]))
    ):
        page = f"campaign-{row['campaign']}/trial.html#{value}"
    else:
        return None
    return Markup('<a href="{}">{}</a>').format(datasette.urls.path(f"/report/{page}"), value)
