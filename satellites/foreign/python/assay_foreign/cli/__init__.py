"""Commands: `assay store import`, `assay store export`."""
