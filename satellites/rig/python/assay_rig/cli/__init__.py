"""The commands `assay check` and `assay inspect`."""
