"""The core stands alone: it imports no satellite, and no satellite imports another."""

import grimp
import pytest

from assay.cli.commands import satellites

SATELLITES = sorted({found.module.split(".")[0] for _, found in satellites()})


@pytest.mark.parametrize("package", ["assay", *SATELLITES])
def test_a_package_imports_no_satellite(package: str) -> None:
    graph = grimp.build_graph("assay", *SATELLITES)
    others = {name for name in SATELLITES if name != package}
    imported = {
        (importer, target)
        for other in others
        for target in {other, *graph.find_descendants(other)}
        for importer in graph.find_modules_that_directly_import(target)
        if importer.split(".")[0] == package
    }
    assert imported == set()
