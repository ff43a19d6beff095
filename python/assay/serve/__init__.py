"""Opens a store in Datasette, with the pages of its report linked from its rows.

Datasette has the tables, filters, queries and exports of a browser for SQLite; this package only adds a
first page of campaigns and verdicts, the links, and the SQL functions of `assay query`. `plugins/` and
`templates/` are folders that Datasette loads by itself.
"""

import sys
from pathlib import Path

_HERE = Path(__file__).parent


def command(store: Path, site: Path, port: int) -> list[str]:
    """Return the command line that serves a store.

    Args:
        store: the SQLite file.
        site: the folder of its report, which appears under /report.
        port: of the local machine, where nobody else can reach it; 0 takes a free one.
    """
    return [
        *(sys.executable, "-m", "datasette", "serve", str(store)),
        *("--static", f"report:{site}"),
        *("--plugins-dir", str(_HERE / "plugins")),
        *("--template-dir", str(_HERE / "templates")),
        *("--metadata", str(_HERE / "metadata.json")),
        *("--setting", "sql_time_limit_ms", "10000"),
        *("--host", "127.0.0.1", "--port", str(port)),
    ]
