"""What MkDocs does not do by itself: pages from outside docs/, and a navigation that nobody keeps.

- The README is the start page, as it stands. The library's README, CONTRIBUTING and CHANGELOG are pages too.
- A folder's navigation is what its README.md links to, in its order; a heading `## ...` begins a section.
  MkDocs warns of pages that no README names, and `--strict` makes that an error.
- A link to a file of the repository that is not a page leads to a page that shows the file.
- Each public C++ header is a page (headers.py).
- Notebooks are shown with what they printed when notebooks.py ran them.
- Each satellite's docs/ is a folder of the site, whose pages show the pictures that `make pictures` drew.
  A link to a satellite that is not there is its text alone.
"""

import posixpath
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

import headers
import notebooks

ROOT = Path(__file__).parents[2]
SATELLITES = {docs.parent.name: docs for docs in sorted(ROOT.glob("satellites/*/docs"))}
PAGES = {
    "README.md": "index.md",
    "concurrent/README.md": "concurrent.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
GROUPS = {  # of public headers: what `cmake --install` installs
    "maps": "Maps",
    "locks": "Locks",
    "reclaim": "Reclamation",
    "base": "What they rest on",
    "random": "Random numbers",
    "probe": "Probes",
    "subject": "For authors of subjects",
    "fixture": "For authors of fixtures",
}
INTERNAL = re.compile(r"_test_|^test_|model")
FIXTURE = {"fixture.h", "keep.h"}
LANGUAGES = {
    "py": "python",
    "toml": "toml",
    "json": "json",
    "sh": "sh",
    "txt": "text",
    "cpp": "cpp",
    "h": "cpp",
}
_LINK = re.compile(r"(?<=\]\()([^)#\s]+)(#[^)\s]*)?(?=\))")
_WHOLE_LINK = re.compile(r"\[([^]]+)\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

Navigation = list[Any]  # pages, and dicts of a title to a page or to a navigation


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not below docs/, and make the navigation."""
    for source, name in PAGES.items():
        files.append(_generated(config, name, (ROOT / source).read_text()))
    for name, text in header_pages().items():
        files.append(_generated(config, name, text))
    for name, docs in SATELLITES.items():
        for path in [*docs.glob("**/*"), *docs.parent.glob("pictures/*.svg")]:
            if path.is_file():
                inside = path.relative_to(docs if docs in path.parents else docs.parent)
                files.append(File.generated(config, f"{name}/{inside}", abs_src_path=str(path)))
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        shown = notebooks.read(_source(notebook.src_uri))
        page = _generated(config, notebook.src_uri.removesuffix("ipynb") + "md", shown.markdown)
        files.append(page)
        for name, content in shown.pictures.items():
            files.append(File.generated(config, f"{posixpath.dirname(page.src_uri)}/{name}", content=content))
    for source in sorted({source for file in files.documentation_pages() for source in _shown_by(file)}):
        page = _generated(config, _page_of(source), source_page(source))
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    config.nav = navigation()
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages."""
    del config
    path = page.file.src_uri
    picture = f"pictures/{Path(path).stem}.svg"
    if files.get_file_from_path(f"{posixpath.dirname(path)}/{picture}"):
        head, _, rest = markdown.partition("\n")
        markdown = f"{head}\n\n![What was measured]({picture})\n{rest}"
    return rewritten(markdown, path)


def navigation() -> Navigation:
    """Return the site's navigation, titles taken from the pages."""
    return [
        {"Start": ["index.md"]},
        {"Tutorial": ["tutorial.md"]},
        *({_title((docs / "README.md").read_text()): listed(name)} for name, docs in SATELLITES.items()),
        {"Guide": listed("guide")},
        {"Library": ["concurrent.md"]},
        {"Reference": [*listed("reference"), {"C++ headers": _headers_navigation()}]},
        {"Inside": ["architecture.md", "trial.md", "statistics.md", "builds.md", *[*PAGES.values()][2:]]},
    ]


def listed(folder: str) -> Navigation:
    """Return what the README of a folder of the site links to within that folder, by its sections."""
    index = f"{folder}/README.md"
    whole: Navigation = [index]
    section = whole
    seen = {index}
    for line in _FENCE.sub("", _source(index).read_text()).splitlines():
        if heading := re.fullmatch(r"## (.+)", line):
            section = []
            whole.append({heading[1]: section})
        for found in _LINK.finditer(line):
            page = posixpath.normpath(f"{folder}/{found[1]}").removesuffix(".ipynb")
            page = page if page.endswith(".md") else f"{page}.md" if found[1].endswith(".ipynb") else ""
            if not page.startswith(f"{folder}/") or page in seen:
                continue
            seen.add(page)
            inner = posixpath.dirname(page)
            if page.endswith("/README.md") and inner != folder:
                title = _title(_source(page).read_text())
                section.append({title: listed(inner)})
                seen.update(pages_of(section[-1:]))
            else:
                section.append(page)
    return [item for item in whole if isinstance(item, str) or all(item.values())]


def header_pages() -> dict[str, str]:
    """Return the Markdown of each public header, and of the page that lists them."""
    public = _public_headers()
    by_name = {
        f"assay/{group}/{path.name}": _header_page(group, path) for group in public for path in public[group]
    }
    pages = {}
    index = [
        "# C++ headers",
        "What `cmake --install` installs for your own programs, from the comments of the headers.",
    ]
    for group, paths in public.items():
        index.append(f"## {GROUPS[group]}")
        rows = ["| header | |", "|---|---|"]
        for path in paths:
            text = path.read_text()

            def link(name: str, group: str = group) -> str | None:
                for candidate in (name, f"assay/{name}", f"assay/{group}/{name}"):
                    if candidate in by_name:
                        return posixpath.relpath(by_name[candidate], f"cpp/{group}")
                return f"../../{_in_site(name)}" if _in_site(name) and (ROOT / name).is_file() else None

            pages[_header_page(group, path)] = headers.page(f"assay/{group}/{path.name}", text, link)
            rows.append(f"| [{path.name}]({group}/{path.stem}.md) | {headers.first_sentence(text)} |")
        index.append("\n".join(rows))
    return {"cpp/README.md": "\n\n".join(index) + "\n", **pages}


def source_page(source: str) -> str:
    """Return a page that shows a file of the repository, or the files of a folder."""
    path = ROOT / source
    if path.is_file():
        return f"# {source}\n\n{_code(path)}"
    listing = subprocess.run(
        ["git", "ls-files", "--", source], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return f"# {source}\n\n" + "\n\n".join(
        f"## {Path(name).relative_to(source)}\n\n{_code(ROOT / name)}" for name in listing
    )


def rewritten(markdown: str, page: str) -> str:
    """Return a page's Markdown with links that hold in the site, where `page` is its path in the site."""

    def replaced(found: re.Match[str]) -> str:
        target = _target(found[1], page)
        if target is None:
            return found[0]
        address = PAGES.get(target) or _in_site(target) or _page_of(target)
        address = address.replace(".ipynb", ".md")
        return posixpath.relpath(address, posixpath.dirname(page) or ".") + (found[2] or "")

    def without_absent(found: re.Match[str]) -> str:
        satellite = re.match(r"satellites/(\w+)/", _path(found[2], page))
        return found[1] if satellite and satellite[1] not in SATELLITES else found[0]

    return _LINK.sub(replaced, _WHOLE_LINK.sub(without_absent, markdown))


def _path(link: str, page: str) -> str:
    """Return the path in the repository that a link of a page names; "" where it leads elsewhere."""
    if re.match(r"[a-z]+:|/", link):
        return ""
    return posixpath.normpath(posixpath.join(_source(page).relative_to(ROOT).parent, link))


def _target(link: str, page: str) -> str | None:
    """Return the file of the repository that a link leads to, if it does."""
    target = _path(link, page)
    if not target or not (ROOT / target).exists() or target.startswith(".."):
        return None
    return f"{target}/README.md" if (ROOT / target / "README.md").exists() and _in_site(target) else target


def _source(page: str) -> Path:
    """Return the file of the repository that a page of the site shows."""
    folder, _, inside = page.partition("/")
    if folder in SATELLITES:
        return SATELLITES[folder] / inside
    written = {site: source for source, site in PAGES.items()}
    return ROOT / written.get(page, f"docs/{page}")


def _in_site(target: str) -> str:
    """Return where the site has a file of the repository; nowhere if it is in no folder of documentation."""
    found = re.fullmatch(r"docs/(.*)|satellites/(\w+)/docs/(.*)", target)
    return "" if found is None else found[1] or f"{found[2]}/{found[3]}"


def _shown_by(file: File) -> Iterator[str]:
    """Yield the files of the repository that a page links to and that are no pages."""
    for found in _LINK.finditer(file.content_string):
        target = _target(found[1], file.src_uri)
        if target and not _in_site(target) and target not in PAGES:
            yield target


def _page_of(source: str) -> str:
    return f"source/{source}.md"


def _code(path: Path) -> str:
    language = LANGUAGES.get(path.suffix[1:], "text")
    return f"``````{language}\n{path.read_text().rstrip()}\n``````"


def _generated(config: MkDocsConfig, page: str, text: str) -> File:
    return File.generated(config, page, content=text)


def _title(markdown: str) -> str:
    return markdown.split("\n", 1)[0].removeprefix("# ")


def pages_of(navigation: Navigation) -> Iterator[str]:
    """Yield the pages of a navigation, in order."""
    for item in navigation:
        if isinstance(item, str):
            yield item
        else:
            for inner in item.values():
                yield from pages_of(inner if isinstance(inner, list) else [inner])


def _public_headers() -> dict[str, list[Path]]:
    return {
        group: [
            path
            for root in ("concurrent/include", "native")
            for path in sorted((ROOT / root / "assay" / group).glob("*.h"))
            if not INTERNAL.search(path.name) and (group != "fixture" or path.name in FIXTURE)
        ]
        for group in GROUPS
    }


def _header_page(group: str, path: Path) -> str:
    return f"cpp/{group}/{path.stem}.md"


def _headers_navigation() -> Navigation:
    return [
        "cpp/README.md",
        *(
            {GROUPS[group]: [{path.name: _header_page(group, path)} for path in paths]}
            for group, paths in _public_headers().items()
        ),
    ]
