"""`assay store serve`: browse a store."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from assay.cli.browse import limit_memory
from assay.cli.options import DEFAULT_STORE, StoreOption, whole_option


def serve(
    store: StoreOption = DEFAULT_STORE,
    port: Annotated[int, whole_option("Port on this machine; 0 takes a free one.", 0, 65535)] = 8001,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Answer also where a browser asks for this name, as behind a proxy. May be repeated.",
        ),
    ] = None,
) -> None:
    """Browse the store and its report until Ctrl-C.

    The store is opened in Datasette, with the report's pages beside it. It listens on 127.0.0.1, where only
    this machine reaches it, and reads only: a campaign may run meanwhile. Of a store on a server it shows a
    copy as of its start. A query has 10 s, and the memory
    that `assay store query` has. Of more than 100 connections those that were silent longest are closed.

    Example: `assay store serve --port 8080`
    """
    from assay import extras

    extras.require("datasette", "assay store serve")
    from assay.report.site import write_site
    from assay.report.verdicts import gather_and_record
    from assay.store import Server, Store
    from assay.store.copy import copy_store
    from assay_serve.server import serve as serve_store

    with Store.open(store, create=False) as opened:
        site = write_site(opened, gather=gather_and_record).parent
    typer.echo("The report is under /report/index.html, and in the menu of every page.")
    os.environ["ASSAY_SERVE_HOSTS"] = " ".join(allow_host or [])
    # A query that needs more gets a page that says so; without the limit the system would end the server.
    limit_memory()
    if not isinstance(store, Server):
        serve_store(store, site, port)
        return
    with TemporaryDirectory(prefix="assay-serve-") as folder:  # Datasette reads SQLite alone
        file = Path(folder) / f"{store.database}.sqlite"
        copy_store(store, file)
        typer.echo(f"These are the trials that {store} has now: start again to see later ones.")
        serve_store(file, site, port)
