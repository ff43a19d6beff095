from typing import Any

import typer
from typer.testing import CliRunner

from assay.cli.commands import app


def paths(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words that lead to a command and to each one below it."""
    below: dict[str, Any] = getattr(command, "commands", {})
    return [path, *(each for name, inner in below.items() for each in paths(inner, (*path, name)))]


def test_the_help_of_every_command_shows_an_example() -> None:
    found = paths(typer.main.get_command(app))
    assert len(found) == 16
    for path in found:
        shown = CliRunner().invoke(app, [*path, "--help"]).output
        assert "Example: " in shown, path
        assert " ".join(("assay", *path)) in shown.split("Example: ")[1]
