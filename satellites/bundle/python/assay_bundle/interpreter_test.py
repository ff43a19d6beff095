"""The Python of a bundle lacks nothing that Assay imports, also not what it imports late."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import assay
from assay_bundle.interpreter import PACKAGES, packages
from assay_bundle.tree import Entry


def imported() -> Iterator[str]:
    """Yield the modules that Assay imports, at its start or later."""
    for file in Path(assay.__file__).parent.rglob("*.py"):
        if not file.name.endswith(("_test.py", "testing.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    yield from (name.name for name in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module


def test_what_assay_imports_is_in_a_bundle(tmp_path: Path) -> None:
    tree, _ = packages()
    for path, entry in tree.items():
        place = tmp_path / path
        assert isinstance(entry, Entry)
        assert isinstance(entry.content, Path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(entry.content)
    carried = {path.relative_to(tmp_path / PACKAGES).parts[0] for path in (tmp_path / PACKAGES).glob("*")} - {
        "assay"
    }
    names = sorted({name for name in imported() if name.partition(".")[0] in carried})
    assert "scipy.special" in names
    script = f"import sys; sys.path.insert(0, {str(tmp_path / PACKAGES)!r}); import {', '.join(names)}"
    done = subprocess.run([sys.executable, "-ISc", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
