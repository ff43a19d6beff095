"""Shows a person how far the work is."""

import sys

from rich.console import Console


class Reporter:
    """Writes to standard error, where nothing disturbs a command's answer.

    Attributes:
        console: for progress; with `quiet` it shows nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet)

    def show(self, line: str) -> None:
        """Show how far the work is; nothing with `quiet`."""
        self.console.print(line, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def say(self, line: str) -> None:
        """Say what a person must know, with `quiet` too."""
        print(line, file=sys.stderr, flush=True)
