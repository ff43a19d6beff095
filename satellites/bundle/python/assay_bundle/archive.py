"""Writes a bundle as a zip whose bytes depend on nothing but its files."""

import zipfile
from pathlib import Path

from assay.files import whole_file
from assay_bundle.tree import Tree

_MOMENT = (1980, 1, 1, 0, 0, 0)  # the first that a zip can have
PACKED = 6
"""How hard files are packed, from 0 to 9."""
_REGULAR, _UNIX = 0o100000, 3


def write_zip(tree: Tree, file: Path) -> None:
    """Write a zip, whole or not at all.

    Raises:
        AssayError: it cannot be written.
    """
    with whole_file(file) as part, zipfile.ZipFile(part, "w") as packed:
        for path in sorted(tree):
            about = zipfile.ZipInfo(path, _MOMENT)
            about.create_system = _UNIX
            about.external_attr = (_REGULAR | (0o755 if tree[path].executable else 0o644)) << 16
            about.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(about, tree[path].read(), compresslevel=PACKED)
