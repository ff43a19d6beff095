"""Links from the rows of a store to the pages of its report, and the functions of `assay query`."""

import sqlite3
from typing import TYPE_CHECKING, Any

from datasette import hookimpl  # type: ignore[import-untyped]  # nor are its decorators typed
from markupsafe import Markup

from assay.store.query import add_aggregates
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
    """Add `median(x)` and `quantile(x, p)`."""
    add_aggregates(conn, [])


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
