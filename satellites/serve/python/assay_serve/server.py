"""Opens a store in Datasette, with the pages of its report linked from its rows.

Datasette has the tables, filters, queries and exports of a browser for SQLite; this package only adds a
first page of campaigns and verdicts, the links, the SQL functions of `assay store query`, and a limit of
connections. `plugins/` and `templates/` are folders that Datasette loads by itself.
"""

import asyncio
import json
import signal
from pathlib import Path

import uvicorn
from datasette.app import Datasette  # type: ignore[import-untyped]

from assay_serve.connections import ACCEPTED_AT_ONCE, Connection

_HERE = Path(__file__).parent


def datasette(store: Path, site: Path) -> Datasette:
    """Return Datasette with a store.

    Args:
        store: the SQLite file.
        site: the folder of its report, which appears under /report.
    """
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
    served = datasette(store, site)
    asyncio.run(served.invoke_startup())
    # With which uvicorn ends at Ctrl-C, and with 0; Assay's commands have the system's handler instead.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    uvicorn.run(
        served.app(),
        host="127.0.0.1",
        port=port,
        http=Connection,
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
    )
