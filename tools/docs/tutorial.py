"""The tutorial's commands, run as they stand: `sh` blocks are commands, blocks with a title are files.

As a program (`make pictures`) it draws the pictures of the tutorial from a run of them.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = DOCS / "tutorial.md"
_BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL
)


def files() -> dict[str, str]:
    """Return the files that the tutorial has its reader write, with their texts."""
    return {
        found["title"]: found["text"] for found in _BLOCK.finditer(TUTORIAL.read_text()) if found["title"]
    }


def commands() -> Iterator[list[str]]:
    """Yield the words of each command, in order."""
    for found in _BLOCK.finditer(TUTORIAL.read_text()):
        if found["kind"] == "sh":
            yield from (shlex.split(line) for line in found["text"].splitlines())


def pictures() -> list[str]:
    """Return the pictures that the tutorial shows, as `assay store export svg` names them."""
    return re.findall(r"\(tutorial/([\w-]+\.svg)\)", TUTORIAL.read_text())


def main() -> None:
    """Run the tutorial in an empty folder, and keep the pictures that it shows."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files().items():
            Path(folder, name).write_text(text)
        for words in commands():
            print("$", shlex.join(words), flush=True)
            # A plan may have nothing to forecast from: the tutorial says so.
            subprocess.run(words, cwd=folder, env=environment, check=words[1] != "plan")
        for name in pictures():
            shutil.copy(Path(folder, "figures", name), DOCS / "tutorial" / name)


if __name__ == "__main__":
    main()
