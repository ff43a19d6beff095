"""The commands, gathered into one application.

Each lives in a module of its own group and imports what it needs when it is called, so that
`assay --help` and the browsing commands start quickly.
"""

from typing import Annotated

import typer

from assay import __version__
from assay.cli import aa, audit, browse, compare, engines, export, new, plan, report, run, serve

app = typer.Typer(
    name="assay",
    help="A laboratory for honest performance experiments on concurrent software.",
    epilog="Example: `assay run experiments/quickstart.toml`\n\nExit codes: 0 fine; 1 findings or trials that"
    " deserve a look; 2 wrong usage, environment or experiment; 128 + signal when interrupted. More:"
    " docs/reference/commands.md",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("aa")(aa.aa)
app.command("plan")(plan.plan)
app.command("list")(browse.list_)
app.command("show")(browse.show)
app.command("report")(report.report)
app.command("audit")(audit.audit)
app.command("compare")(compare.compare)
app.command("engines")(engines.engines)
app.command("query")(browse.query)
app.command("export")(export.export)
app.command("serve")(serve.serve)
new_app = typer.Typer(
    no_args_is_help=True,
    help="Write a starting point for work of your own.",
    epilog="Example: `assay new subject my_map`",
)
new_app.command("subject")(new.subject)
app.add_typer(new_app, name="new")


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
