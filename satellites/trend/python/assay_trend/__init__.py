"""What became of an experiment over the commits of a project."""
