"""Alembic's folder: `versions` has one module for each version of the tables."""
