"""`assay store serve`: browse a store."""

import os
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
    this machine reaches it, and reads only: a campaign may run meanwhile. A query has 10 s, and the memory
    that `assay store query` has. Of more than 100 connections those that were silent longest are closed.

    Example: `assay store serve --port 8080`
    """
    from assay import extras

    extras.require("datasette", "assay store serve")
    from assay.report.site import write_site
    from assay.report.verdicts import gather_and_record
    from assay.store import Store
    from assay_serve.server import serve as serve_store

    with Store.open(store, create=False) as opened:
        site = write_site(opened, gather=gather_and_record).parent
    typer.echo("The report is under /report/index.html, and in the menu of every page.")
    os.environ["ASSAY_SERVE_HOSTS"] = " ".join(allow_host or [])
    # A query that needs more gets a page that says so; without the limit the system would end the server.
    limit_memory()
    serve_store(store, site, port)
