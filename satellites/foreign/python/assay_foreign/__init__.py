"""Other tools' results: imports of their files, and exports that their scripts read."""
