"""`assay serve`: browse a store."""

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
    that `assay query` has.

    Example: `assay serve --port 8080`
    """
    from assay import extras

    extras.require("datasette", "assay serve")
    from assay.report.site import write_site
    from assay.serve import command
    from assay.store import Store

    with Store.open(store, create=False) as opened:
        site = write_site(opened).parent
    words = command(store, site, port)
    typer.echo("The report is under /report/index.html, and in the menu of every page.")
    os.environ["ASSAY_SERVE_HOSTS"] = " ".join(allow_host or [])
    # A query that needs more gets a page that says so; without the limit the system would end the server.
    limit_memory()
    # Datasette takes this process's place, so that signals and exit codes are its own.
    os.execv(words[0], words)  # noqa: S606 - a list of words, no shell
