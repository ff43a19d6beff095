"""What the tests of this satellite share: programs with OpenMP, compiled by gcc or clang."""

import subprocess
from pathlib import Path

GREETING = """
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  int threads = 0;
#pragma omp parallel num_threads(2)
#pragma omp task
  __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
  printf("%d %s %s\\n", threads, words[count - 1], getenv("LD_PRELOAD"));
}
"""
"""It prints how many of two threads ran a task, its last argument, and what was preloaded."""


def compiled(folder: Path, name: str, source: str, *options: object, compiler: str = "gcc") -> Path:
    """Compile a program in C, and return its path."""
    (folder / f"{name}.c").write_text(source)
    command = [compiler, f"{name}.c", "-o", name, *map(str, options)]
    subprocess.run(  # noqa: S603
        command, cwd=folder, check=True, capture_output=True
    )
    return folder / name
