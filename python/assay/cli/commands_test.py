import re
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from assay.cli.commands import app, satellites


def paths(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words that lead to a command and to each one below it."""
    below: dict[str, Any] = getattr(command, "commands", {})
    return [path, *(longer for name, inner in below.items() for longer in paths(inner, (*path, name)))]


PATHS = paths(typer.main.get_command(app))


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_the_help_of_every_command_is_plain_and_shows_an_example(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}).output
    assert " ".join(("assay", *path)) in shown.split("Example: ")[1]
    assert "{" not in shown.replace("{seed}", "")
    assert not re.search("<=|range>|list\\[|<bool>|<int>|<path>", shown)
    assert not re.search(r"^  \w+ .*\.\.\.$", shown, re.MULTILINE)  # summaries that are cut


def test_no_command_is_missing() -> None:
    others = {found.name for _, found in satellites()}
    assert len([path for path in PATHS if not others.intersection(path[:1])]) == 34
