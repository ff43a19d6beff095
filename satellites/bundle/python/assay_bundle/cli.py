"""`assay bundle` and `assay replay`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.completion import complete_campaigns
from assay.cli.options import DEFAULT_STORE, JsonOption, QuietOption, StoreOption, whole
from assay.files import STANDARD_OUTPUT


def _file(name: str) -> Path:
    if name == str(STANDARD_OUTPUT):
        raise ValueError("- is standard output, and this is a file of its own; name it")
    return Path(name)


def bundle(
    campaign: Annotated[
        int, typer.Argument(parser=whole(), metavar="N", hidden=True, autocompletion=complete_campaigns)
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", parser=_file, metavar="FILE", help="The bundle. Default: EXPERIMENT-N.zip."),
    ] = None,
    image: Annotated[
        bool, typer.Option("--image", help="Write an OCI image instead of a zip: EXPERIMENT-N.oci.tar.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write a campaign with all that it needs into one file.

    N is the campaign's number, as `assay store list` shows it. The file holds its results and report, its
    programs with their libraries, Python and Assay, the sources and the licences, so that `assay replay` or
    two lines of its README run it again elsewhere. The same campaign gives the same bytes.

    With --image it is an image that `podman run oci-archive:FILE` runs, and `docker load` takes.

    Example: `assay bundle 3`
    """
    import platform

    from assay.files import check_writable
    from assay.runner.temporary import Temporary
    from assay.store import Store
    from assay_bundle.archive import write_zip
    from assay_bundle.contents import contents
    from assay_bundle.image import write_image

    with (
        Store.open(store, create=False) as opened,
        _stoppable("no bundle was written"),
        Temporary("assay-bundle-") as temporary,
    ):
        name = f"{opened.campaign(campaign).experiment}-{campaign}"
        file = output or Path(f"{name}.oci.tar" if image else f"{name}.zip")
        check_writable(file, "--output")
        tree, lacking = contents(opened, campaign, temporary.folder)
        if image:
            write_image(tree, file, name, platform.machine(), temporary.folder)
        else:
            write_zip(tree, file)
    for line in lacking:
        typer.echo(f"not in the bundle: {line}", err=True)
    typer.echo(f"bundle: {file}")


def replay(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", hidden=True)],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            parser=_file,
            metavar="FILE",
            help="Store for the results of the replay. Default: BUNDLE-replay.sqlite.",
        ),
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a bundle's campaign again on this machine, and compare.

    BUNDLE is a file of `assay bundle`. Its own programs run, with every draw of then, in a file system of
    their own without root and network. It says what differs on this machine, and of each verdict: confirmed,
    if both are the same; contradicted, if both are decided and differ; undecided, if one is. It refuses a
    bundle that was changed. The programs run as you: replay what you trust.

    The exit code is 0 if all verdicts are confirmed, 1 if one is contradicted, 3 if one is undecided.

    Example: `assay replay quickstart-3.zip`
    """
    from assay.files import check_writable
    from assay.runner.process import Interrupted
    from assay_bundle.replay import replay_bundle

    options = ["--quiet"] * quiet + ["--json"] * as_json
    store = output or bundle.with_name(f"{bundle.stem}-replay.sqlite")
    check_writable(store, "--output")
    try:
        code = replay_bundle(bundle, store, options)
    except Interrupted as interrupted:
        typer.echo("stopped; nothing was written", err=True)
        raise typer.Exit(128 + interrupted.signum) from None
    if store.exists() and not as_json:
        typer.echo(f"results: {store}")
    raise typer.Exit(code)


@contextmanager
def _stoppable(why: str) -> Iterator[None]:
    """Let a signal end the command at once, with all that has to be put in order, and a message."""
    from assay.runner.process import Interrupted, StopSignals

    with StopSignals() as stop:
        try:
            stop.act_at_once()
            yield
        except Interrupted as interrupted:
            typer.echo(f"stopped; {why}", err=True)
            raise typer.Exit(128 + interrupted.signum) from None
