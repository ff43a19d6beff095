"""Programs with OpenMP, under their own runtime and under Assay's."""
