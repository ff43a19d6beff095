"""What tests of the whole path share: the `assay` command as a user types it, in an empty folder."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Assay = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[1]


def small_experiment(name: str, blocks: int) -> str:
    """Return the text of an experiment of two real subjects whose trials take milliseconds."""
    return f"""
name = "{name}"
question = "Is it there?"
[factors]
subject = ["noop", "std_map_mutex"]
[trial]
key_range = 100
duration_ms = 5
mix = {{ insert = 10, erase = 10, find = 80 }}
[design]
blocks = {blocks}
[comparison]
metric = "throughput"
factor = "subject"
baseline = "noop"
smallest_effect_percent = 3
"""


def verdicts_of_all_groups(printed: str) -> list[str]:
    """Return each comparison's verdict in what `--json` printed, over every group that is valid.

    A difference that no host can hide is found here on any host. The verdict itself leaves out the groups in
    which the host changed its mode, and on a busy host those may be most.
    """
    whole = json.loads(printed)
    return [each["all_groups"]["verdict"] for each in whole.get("analysis", whole)["comparisons"]]


def assay_in(folder: Path) -> Assay:
    """Return a function that runs `assay` with the given words in `folder` and expects an exit code."""

    def command(*words: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [sys.executable, "-m", "assay", *map(str, words)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == expect, ended.stdout + ended.stderr
        return ended

    return command


@pytest.fixture
def assay(tmp_path: Path) -> Assay:
    """Return `assay_in` a folder of the test's own."""
    return assay_in(tmp_path)
