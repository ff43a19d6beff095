"""What the documentation shows holds: the tutorial's commands run, notebooks run, each page has its place.

`make docs` builds the site with --strict, which follows every link and anchor.
"""

import re
from collections import Counter
from pathlib import Path

import markdown
import nbformat
import pytest
from markdown_it import MarkdownIt
from mkdocs.config import load_config

import notebooks
import pages
import tutorial
from assay.campaign import time_budget
from assay.satellites import added
from conftest import ROOT, Assay

FOLDERS = {"": ROOT / "docs", **pages.SATELLITES}
NOTEBOOKS = sorted(path for docs in FOLDERS.values() for path in docs.rglob("*.ipynb"))
MARKDOWN = sorted(
    {
        *ROOT.glob("*.md"),
        ROOT / "concurrent/README.md",
        *(ROOT / "docs").rglob("*.md"),
        # Links, which rglob does not follow.
        *(ROOT / "docs/guide/audit").glob("*.md"),
        *(path for docs in pages.SATELLITES.values() for path in docs.glob("**/*.md")),
    }
)
EXPORTS = "export" in added("assay.commands.store")
SHOWN = {
    "campaign": ["p_adjusted", "std_map_shared_mutex", "![svg]"],
    "repetitions": ["differ 'significantly'", "b is ", "![svg]"],
    "foreign": ["one-process", "![svg]", "it has no verdict"],
}
SMALLER = {
    "duration_ms = 100": "duration_ms = 2",
    ', "tbb_hash_map"]': "]",
    "blocks = 20": "blocks = 8",
}
"""Lines of the tutorial's experiment, and what a smaller one has in their place."""


@pytest.mark.usefixtures("steady_host", "no_pages")
def test_the_tutorials_commands_run(tmp_path: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch) -> None:
    # A race of fewer than 10 blocks would use all the time that it is given.
    monkeypatch.setattr(time_budget, "MOST_BLOCKS", 10)
    for name, text in tutorial.files().items():
        smaller = text
        for usual, small in SMALLER.items():
            assert usual in smaller
            smaller = smaller.replace(usual, small)
        (tmp_path / name).write_text(smaller)
    names = []
    for words in tutorial.commands():
        assert words[0] == "assay"
        names += words[1:3]
        if words[1:3] != ["store", "export"] or EXPORTS:
            assay(*words[1:])
    assert {"race", "plan", "run", "report", "export", "replay"} <= set(names)
    for picture in tutorial.pictures():
        assert (ROOT / "docs/tutorial" / picture).is_file(), "run: make pictures"
        assert not EXPORTS or (tmp_path / "figures" / picture).stat().st_size > 1000
    if EXPORTS:
        assert "std_map_shared_mutex" in (tmp_path / "figures/summary.md").read_text()


@pytest.mark.usefixtures("steady_host")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows(path: Path) -> None:
    shown = notebooks.run(path)
    for text in SHOWN[path.stem]:
        assert text in shown.markdown
    assert all(content.startswith(b"<svg") for content in shown.pictures.values())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.outputs for cell in notebook.cells if cell.cell_type == "code")


def test_every_page_is_in_the_navigation_once() -> None:
    listed = Counter(pages.pages_of(pages.navigation()))
    written = {
        (Path(name) / path.relative_to(folder)).as_posix()
        for name, folder in FOLDERS.items()
        for path in [*MARKDOWN, *(notebook.with_suffix(".md") for notebook in NOTEBOOKS)]
        if folder in path.parents
    }
    assert set(listed) == written | set(pages.PAGES.values()) | set(pages.header_pages())
    assert [page for page, times in listed.items() if times > 1] == []


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_site_reads_markdown_as_others_do(path: Path) -> None:
    """GitHub and our reports read CommonMark; MkDocs reads an older dialect, in which some lists are none."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    text = path.read_text()
    site = markdown.markdown(
        text, extensions=config.markdown_extensions, extension_configs=config.mdx_configs
    )
    others = MarkdownIt("commonmark").enable("table").render(text)
    assert _elements(site) == _elements(others)


def test_a_link_to_a_satellite_that_is_not_there_is_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[A course](satellites/course/docs/a.md) of [`a`](satellites/lab/docs/a.md) and [b](docs/b.md#c)"
    monkeypatch.setattr(pages, "SATELLITES", {})
    assert pages.rewritten(text, "index.md") == "A course of `a` and [b](docs/b.md#c)"


def _elements(html: str) -> Counter[str]:
    return Counter(re.findall(r"<(ul|ol|li|table|tr|h\d|em|strong|img|blockquote)\b", html))


def test_headers_are_shown_with_what_they_promise() -> None:
    shown = pages.header_pages()
    assert len(shown) > 50
    tree = shown["cpp/maps/ticket_bst.md"]
    assert "### class handle\n" in tree
    assert "bool insert(parameter<K> key, parameter<V> value);" in tree
    assert "Adds the element if no element has its key" in tree
    assert "std::unique_ptr<leaf> fresh" not in tree  # no bodies
    assert "struct internal" not in tree  # nothing private
    assert "TICKET" not in tree  # no guards
    assert not tree.rstrip().endswith("namespace assay")
    assert "[external\\_tree.h](external_tree.md)" in tree
    assert all(text.strip() for text in shown.values())


def test_the_site_fetches_nothing() -> None:
    config = load_config(str(ROOT / "mkdocs.yml"))
    assert config.theme["font"] is False
    assert {"search", "material/offline"} <= {
        name.replace("material/search", "search") for name in config.plugins
    }
    assert [script for script in config.extra_javascript if "//" in str(script)] == []
