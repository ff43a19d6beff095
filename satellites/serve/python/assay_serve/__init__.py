"""A store in the browser: `assay store serve`."""
