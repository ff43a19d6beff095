"""A program whose output is lost has failed: a full disk, a closed output, a reader that has left."""

import pytest

from program_output import check_lost_output

COMMANDS = [
    "assay-trial --list",
    "assay-trial --version",
    "assay-pitfalls --help",
    "assay-clocks",
    "assay-calibrate --help",
    "assay-flawed-fixtures --list",
    "assay-flawed-fixtures sound --iterations 10",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_in_vain_is_an_error(command: str) -> None:
    check_lost_output(command)
