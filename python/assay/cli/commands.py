"""The commands, gathered into one application.

Each lives in a module of its own group and imports what it needs when it is called, so that
`assay --help` and the browsing commands start quickly.
"""

from importlib.metadata import entry_points
from typing import Annotated

import typer

from assay import __version__
from assay.cli import (
    aa,
    ab,
    audit,
    bisect,
    browse,
    clocks,
    compare,
    explore,
    export,
    host,
    import_,
    new,
    plan,
    race,
    replay,
    report,
    run,
    sensitivity,
    serve,
    store,
    trend,
)
from assay.cli.usage import Command

app = typer.Typer(
    name="assay",
    help="A laboratory for honest performance experiments on concurrent software.",
    epilog="Example: `assay run experiments/quickstart.toml`\n\nExit codes: 0 fine; 1 findings or trials that"
    " deserve a look; 2 wrong usage, environment or experiment; 128 + signal when interrupted. More:"
    " docs/reference/commands.md",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("race", cls=Command)(race.race)
app.command("ab", cls=Command)(ab.ab)
app.command("bisect", cls=Command)(bisect.bisect)
app.command("run", cls=Command)(run.run)
app.command("resume", cls=Command)(run.resume)
app.command("aa", cls=Command)(aa.aa)
app.command("plan", cls=Command)(plan.plan)
app.command("sensitivity", cls=Command)(sensitivity.sensitivity)
app.command("list", cls=Command)(browse.list_)
app.command("show", cls=Command)(browse.show)
app.command("replay", cls=Command)(replay.replay)
app.command("report", cls=Command)(report.report)
app.command("audit", cls=Command)(audit.audit)
app.command("compare", cls=Command)(compare.compare)
app.command("trend", cls=Command)(trend.trend)
app.command("explore", cls=Command)(explore.explore)
app.command("clocks", cls=Command)(clocks.clocks)
app.command("query", cls=Command)(browse.query)
app.command("export", cls=Command)(export.export)
app.command("import", cls=Command)(import_.import_)
app.command("serve", cls=Command)(serve.serve)
new_app = typer.Typer(
    no_args_is_help=True,
    help="Write a starting point for work of your own.",
    epilog="Example: `assay new experiment my-question`",
)
new_app.command("experiment", cls=Command)(new.experiment)
new_app.command("subject", cls=Command)(new.subject)
new_app.command("fixture", cls=Command)(new.fixture)
new_app.command("function", cls=Command)(new.function)
app.add_typer(new_app, name="new")
store_app = typer.Typer(
    no_args_is_help=True,
    help="Check a store, or remove a campaign from it.",
    epilog="Example: `assay store check`",
)
store_app.command("check", cls=Command)(store.check)
store_app.command("remove", cls=Command)(store.remove)
app.add_typer(store_app, name="store")
host_app = typer.Typer(
    no_args_is_help=True,
    help="Judge, tune and restore this machine.",
    epilog="Example: `assay host check`",
)
host_app.command("check", cls=Command)(host.check)
host_app.command("tune", cls=Command)(host.tune)
host_app.command("restore", cls=Command)(host.restore)
app.add_typer(host_app, name="host")
for satellite in entry_points(group="assay.commands"):
    command = satellite.load()
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=satellite.name)
    else:
        app.command(satellite.name, cls=Command)(command)


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
