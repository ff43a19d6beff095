"""Plants a slowdown of 3% in a real repository with a real build, for `assay ab` and `assay bisect` to find.

Prints what each says, and ends with 1 where another commit is named than the planted one, or one that changes
nothing is called slower. Takes some minutes.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from assay.versions.testing import ExampleRepository

COMMITS = 16
CULPRIT = 11
SLOWDOWN_PERCENT = 3

PROGRAM = r"""
#include <stdio.h>
#include <time.h>
#include "work.h"
int main(void) {
  struct timespec from, to;
  volatile unsigned x = 1;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
  for (unsigned long i = 0; i < WORK * 20000UL; ++i) x = x * 31 + 7;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
  printf("loop_ns=%.0f\n", (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec));
}
"""
MAKEFILE = "bench: bench.c work.h\n\tcc -O2 -o $@ bench.c\n"
EXPERIMENT = """
name = "loop"
[factors]
subject = ["bench"]
[design]
blocks = 8
busy = "count"  # processor time is measured, which other work takes little of
[comparison]
metric = "loop_ns"
[subjects.bench]
program = "./bench"
extract = "lines"
[ab]
build = "make"
"""


def main() -> None:
    """Plant, search, and say what was found."""
    with tempfile.TemporaryDirectory() as folder:
        project, planted = _planted(Path(folder) / "project")
        slower = _assay(project, "ab", "--base", "v1", "--head", "main", "--gate", "1.5%", "loop.toml")
        same = _assay(project, "ab", "--base", planted, "--head", "main", "--gate", "1.5%", "loop.toml")
        found = _assay(project, "bisect", "--good", "v1", "--within", "20m", "loop.toml")
    named = [suspect["revision"]["commit"] for suspect in found["suspects"]]
    wrong = {
        f"a slowdown of {SLOWDOWN_PERCENT}% is not shown": slower["exit_code"] != 1,
        "commits without a difference are called slower": same["exit_code"] == 1,
        "bisect names another commit": named != [planted],
    }
    if any(wrong.values()):
        sys.exit("\n".join(f"error: {message}" for message, holds in wrong.items() if holds))
    print(f"{planted[:10]} was planted, and found.")


def _planted(root: Path) -> tuple[ExampleRepository, str]:
    """Return a repository in which one commit slows the benchmark, and that commit."""
    project = ExampleRepository(root)
    files = {"bench.c": PROGRAM, "Makefile": MAKEFILE, ".gitignore": "bench\n", "loop.toml": EXPERIMENT}
    project.commit("With a benchmark", **files, **{"work.h": "#define WORK 1000\n"})
    project.git("tag", "v1")
    commits = [
        project.commit(
            f"Change {number}",
            notes=f"{number}\n",
            **{"work.h": f"#define WORK {1000 + 10 * SLOWDOWN_PERCENT * (number >= CULPRIT)}\n"},
        )
        for number in range(1, COMMITS + 1)
    ]
    return project, commits[CULPRIT - 1]


def _assay(project: ExampleRepository, *words: str) -> dict[str, Any]:
    """Run a command, and show what it answers."""
    began = time.monotonic()
    command = [sys.executable, "-m", "assay", *words, "--json", "--quiet"]
    ended = subprocess.run(command, cwd=project.root, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if ended.returncode not in {0, 1, 3}:
        sys.exit(ended.returncode)
    told: dict[str, Any] = json.loads(ended.stdout)
    print(f"assay {' '.join(words)}\n  {told['answer']}; {time.monotonic() - began:.0f} s", flush=True)
    return told


if __name__ == "__main__":
    main()
