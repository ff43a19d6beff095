"""The `assay` command as the user has typed it, so that a printed command can be typed as it stands."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import DEFAULT_STORE

if TYPE_CHECKING:
    from assay.store import StoreName


def invocation(*words: str | Path, store: "StoreName" = DEFAULT_STORE) -> str:
    """Return a command line of `assay` with these words, and `--store` where it is not the usual one."""
    called = sys.argv[0]
    if Path(called).name == "__main__.py":
        program = [sys.executable, "-m", "assay"]
    else:
        on_path = shutil.which("assay")
        program = ["assay" if on_path and Path(on_path).resolve() == Path(called).resolve() else called]
    options = [] if store.resolve() == DEFAULT_STORE.resolve() else ["--store", str(store)]
    return shlex.join([*program, *map(str, words), *options])
