"""The commands `assay lab ...`, and `assay-governor`."""

import typer

from assay.cli.usage import Command
from assay_lab.cli import advise, energy, engines, explore

app = typer.Typer(
    no_args_is_help=True,
    help="Random numbers, energy, transactions, and interactions.",
    epilog="Example: `assay lab engines`",
)
_WORDS_OF_A_PROGRAM = {"allow_interspersed_args": False}
app.command("engines", cls=Command)(engines.engines)
app.command("energy", cls=Command, context_settings=_WORDS_OF_A_PROGRAM)(energy.energy)
app.command("explore", cls=Command)(explore.explore)
app.command("advise", cls=Command, context_settings=_WORDS_OF_A_PROGRAM)(advise.advise)


def governor() -> None:
    """Run the command line of `assay-governor`, which ends as that of `assay` does."""
    from assay.cli import main

    main("assay-governor", "assay_lab.cli.governor")
