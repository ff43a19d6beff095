"""The Python of a bundle: this interpreter, its library, and the packages that Assay needs."""

import re
import sys
import sysconfig
from importlib import metadata, util
from importlib.metadata import Distribution
from pathlib import Path

from assay_bundle.libraries import libraries_of
from assay_bundle.tree import Entry, Tree, added, files_below

PYTHON = "python/bin/python3"
PACKAGES = "python/packages"
_NOT_OF_LIBRARY = (
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data"),
    *("site-packages", "dist-packages"),
)
_LEFT_OUT = re.compile(
    r"/assay(/bin|\.libs)/|/assay\w*/(.*/)?(\w+_test|testing)\.py$|/tests?/|\.(pyi|pyx|pxd|a|h|hpp|c)$"
    r"|/_?tkinter\.|/_test\w*\.\S*so$"
)
_ABOUT_INSTALLATION = {
    *("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_build.json", "uv_cache.json"),
}


def interpreter() -> Tree:
    """Return the interpreter with its library, as PYTHONHOME=/python expects them."""
    base, library = Path(sys.base_prefix), Path(sysconfig.get_path("stdlib"))
    program = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    tree = {PYTHON: Entry(program, executable=True)}
    below = files_below(library, f"python/{library.relative_to(base)}", _NOT_OF_LIBRARY)
    tree |= {path: entry for path, entry in below.items() if not _left_out(path) and "/config-" not in path}
    return tree


def packages() -> tuple[Tree, list[Distribution]]:
    """Return Assay, this satellite and the packages that Assay needs, and their distributions."""
    found = _needed("assay", {"assay-bundle": metadata.distribution("assay-bundle")})
    tree: Tree = {}
    for distribution in found:
        added(tree, _files_of(distribution))
    return tree, found


def libraries(tree: Tree) -> Tree:
    """Return the libraries that an interpreter and its packages need."""
    files = [entry.content for entry in tree.values() if isinstance(entry.content, Path)]
    needing = [file for file in files if file == tree[PYTHON].content or ".so" in file.name]
    return libraries_of(needing, Path(sysconfig.get_path("platlib")))


def _needed(name: str, known: dict[str, Distribution]) -> list[Distribution]:
    """Return an installed package and, of those that it requires outside extras, all that are installed."""
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        try:
            known[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system or Python
        waiting += [_name(text) for text in known[name].requires or () if "extra ==" not in text]
    return sorted(known.values(), key=lambda of: _name(of.metadata["Name"]))


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def _files_of(distribution: Distribution) -> Tree:
    tree: Tree = {}
    for file in distribution.files or ():
        path = file.as_posix()
        if not path.startswith("..") and not path.endswith((".pth", ".pyc")) and not _left_out(f"/{path}"):
            tree[f"{PACKAGES}/{path}"] = Entry(Path(str(file.locate())))
    own = _name(distribution.metadata["Name"]).replace("-", "_")
    spec = util.find_spec(own)
    if (
        spec
        and spec.origin
        and spec.submodule_search_locations
        and f"{PACKAGES}/{own}/__init__.py" not in tree
    ):
        here = files_below(Path(spec.origin).parent, f"{PACKAGES}/{own}", ("bin",))  # of a checkout
        tree = {path: entry for path, entry in tree.items() if ".dist-info/" in path}
        tree |= {path: entry for path, entry in here.items() if not _left_out(path)}
    return {path: entry for path, entry in tree.items() if Path(path).name not in _ABOUT_INSTALLATION}


def _left_out(path: str) -> bool:
    return _LEFT_OUT.search(path) is not None
