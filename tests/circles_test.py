"""No package imports a module that leads back to it; import-linter compares only what stands side by side."""

import grimp

from satellites_test import SATELLITES


def circles(graph: grimp.ImportGraph) -> list[str]:
    """Return each import of a module's own package that leads to the module."""
    return [
        f"{module} -> {package}"
        for module in sorted(graph.modules)
        for package in sorted(graph.find_modules_directly_imported_by(module))
        if module.startswith(f"{package}.") and graph.chain_exists(importer=package, imported=module)
    ]


def test_no_package_imports_what_imports_it() -> None:
    graph = grimp.build_graph("assay", *SATELLITES, cache_dir=None)
    assert circles(graph) == []
    graph.add_import(importer="assay.report.charts.panels", imported="assay.report.charts")
    assert circles(graph) == ["assay.report.charts.panels -> assay.report.charts"]
