"""Opens a store in Datasette, with the pages of its report linked from its rows.

Datasette has the tables, filters, queries and exports of a browser for SQLite; this package only adds a
first page of campaigns and verdicts, the links, the SQL functions of `assay query`, and a limit of
connections. `plugins/` and `templates/` are folders that Datasette loads by itself.
"""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasette.app import Datasette  # type: ignore[import-untyped]

_HERE = Path(__file__).parent


def datasette(store: Path, site: Path) -> "Datasette":
    """Return Datasette with a store.

    Args:
        store: the SQLite file.
        site: the folder of its report, which appears under /report.
    """
    from datasette.app import Datasette

    return Datasette(
        [str(store)],
        static_mounts=[("report", str(site))],
        plugins_dir=str(_HERE / "plugins"),
        template_dir=str(_HERE / "templates"),
        metadata=json.loads((_HERE / "metadata.json").read_text()),
        settings={"sql_time_limit_ms": 10000},
    )


def serve(store: Path, site: Path, port: int) -> None:
    """Serve a store until Ctrl-C.

    Args:
        store: the SQLite file.
        site: the folder of its report.
        port: of the local machine, where nobody else can reach it; 0 takes a free one.
    """
    import uvicorn

    from assay.serve.connections import ACCEPTED_AT_ONCE, Connection

    served = datasette(store, site)
    asyncio.run(served.invoke_startup())
    uvicorn.run(
        served.app(),
        host="127.0.0.1",
        port=port,
        http=Connection,
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
    )
