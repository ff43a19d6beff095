"""A notebook as a page: run in an empty folder, and shown with what it prints.

As a program it runs the notebooks that it is given and writes their pages below build/notebooks, from which
pages.py takes them: `make docs` runs a notebook again only when it has changed.
"""

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbconvert.filters import strip_ansi

WRITTEN = Path(__file__).parents[2] / "build" / "notebooks"
# Charts as pictures, which need no script on the page. Not a part of the notebook: Jupyter draws them itself.
_SETTINGS = "import altair\n_ = altair.renderers.enable('svg')"


@dataclass
class Shown:
    """A page, and the pictures that it shows, by their paths from the page."""

    markdown: str
    pictures: dict[str, bytes]

    def write(self, folder: Path) -> None:
        """Write it where `read` finds it."""
        for name, content in {"page.md": self.markdown.encode(), **self.pictures}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def run(path: Path) -> Shown:
    """Run a notebook and return its page; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_SETTINGS))  # type: ignore[no-untyped-call]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_COLOR": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=240, resources={"metadata": {"path": folder}}).execute(
            env=environment
        )
    del notebook.cells[0]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = strip_ansi(output["text"])  # type: ignore[no-untyped-call]
    resources = {"output_files_dir": "pictures", "unique_key": path.stem}
    markdown, written = MarkdownExporter().from_notebook_node(notebook, resources=resources)  # type: ignore[no-untyped-call]
    # Styles of data frames go: the theme has its own.
    markdown = re.sub(r"<style scoped>.*?</style>\n", "", markdown, flags=re.DOTALL)
    markdown = markdown.replace(' border="1" class="dataframe"', "").replace(
        ' style="text-align: right;"', ""
    )
    return Shown(
        f"{markdown}\n\nThis page is [{path.name}]({path.name}) as it ran when the site was built.\n",
        dict(written["outputs"]),
    )


def read(path: Path) -> Shown:
    """Return the page of a notebook that was run before.

    Raises:
        FileNotFoundError: it was not.
    """
    folder = WRITTEN / path.stem
    return Shown(
        (folder / "page.md").read_text(),
        {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.svg")},
    )


def main() -> None:
    """Run the notebooks named on the command line."""
    for path in map(Path, sys.argv[1:]):
        run(path).write(WRITTEN / path.stem)


if __name__ == "__main__":
    main()
