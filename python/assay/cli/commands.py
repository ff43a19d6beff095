"""The commands under their headings, gathered into one application.

Each lives in a module of its own group and imports what it needs when it is called, so that
`assay --help` and the browsing commands start quickly.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import typer

from assay import __version__
from assay.cli import (
    ab,
    bisect,
    browse,
    host,
    new,
    plan,
    race,
    replay,
    report,
    run,
    store,
)
from assay.cli.usage import HEADINGS, Command, Headed

MEASURE, VERSIONS, RESULTS, YOUR_CODE, MACHINE = HEADINGS

app = typer.Typer(
    name="assay",
    cls=Headed,
    help="A laboratory for honest performance experiments on concurrent software.",
    epilog="Example: `assay race 'gzip -6 <file' 'gzip -5 <file'`\n\n"
    "`assay COMMAND -h` explains a command. More: docs/reference/commands.md",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def group(name: str, heading: str, summary: str, example: str) -> typer.Typer:
    """Return a command that has commands of its own."""
    inner = typer.Typer(no_args_is_help=True, help=summary, epilog=f"Example: `{example}`")
    app.add_typer(inner, name=name, rich_help_panel=heading)
    return inner


app.command("race", cls=Command, rich_help_panel=MEASURE)(race.race)
app.command("run", cls=Command, rich_help_panel=MEASURE)(run.run)
app.command("resume", cls=Command, rich_help_panel=MEASURE)(run.resume)
app.command("plan", cls=Command, rich_help_panel=MEASURE)(plan.plan)
app.command("ab", cls=Command, rich_help_panel=VERSIONS)(ab.ab)
app.command("bisect", cls=Command, rich_help_panel=VERSIONS)(bisect.bisect)
app.command("report", cls=Command, rich_help_panel=RESULTS)(report.report)

in_store = group("store", RESULTS, "Stored results: list, show, query and more.", "assay store list")
in_store.command("list", cls=Command)(browse.list_)
in_store.command("show", cls=Command)(browse.show)
in_store.command("query", cls=Command)(browse.query)
in_store.command("replay", cls=Command)(replay.replay)
in_store.command("check", cls=Command)(store.check)
in_store.command("copy", cls=Command)(store.copy)
in_store.command("remove", cls=Command)(store.remove)

in_new = group(
    "new", YOUR_CODE, "Write a starting point for work of your own.", "assay new experiment my-question"
)
in_new.command("experiment", cls=Command)(new.experiment)
for kind in new.PROJECTS:
    in_new.command(kind, cls=Command)(new.project(kind))

in_host = group("host", MACHINE, "Judge, tune and restore this machine.", "assay host check")
in_host.command("check", cls=Command)(host.check)
in_host.command("tune", cls=Command)(host.tune)
in_host.command("restore", cls=Command)(host.restore)


def satellites() -> list[tuple[str, EntryPoint]]:
    """Return the commands of satellites, each with PLACE of its entry point, `assay.commands.PLACE`."""
    found = entry_points()
    return [
        (group.removeprefix("assay.commands").lstrip("."), point)
        for group in sorted(found.groups)
        if group.startswith("assay.commands")
        for point in sorted(found.select(group=group))
    ]


groups = {"store": in_store, "new": in_new, "host": in_host}
for place, satellite in satellites():
    command = satellite.load()
    heading = place.replace("_", " ").capitalize() or "More"  # `your_code` is `Your code`
    if place in groups:
        groups[place].command(satellite.name, cls=Command)(command)
    elif isinstance(command, typer.Typer):
        app.add_typer(command, name=satellite.name, rich_help_panel=heading)
    else:
        app.command(satellite.name, cls=Command, rich_help_panel=heading)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that stand before a command."""
