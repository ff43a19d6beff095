"""The first version that can be migrated; it had no migration."""

revision = "8"
down_revision = None


def upgrade() -> None:
    """Do nothing: only SQLite has stores of this version, and they are complete."""
