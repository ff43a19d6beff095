"""Columns of views know the type of their values."""

import json

from alembic import op
from sqlalchemy import Column, String, text

revision = "9"
down_revision = "8"

_TYPES = text(
    "SELECT DISTINCT CASE WHEN json_valid(levels) THEN json_type(levels, :path) END FROM planned_trial"
    " JOIN campaign ON campaign.id = campaign_id WHERE experiment_id = :experiment"
)


def upgrade() -> None:
    """Add `view_column.type`; for factors, find it in their levels."""
    op.add_column("view_column", Column("type", String(16), nullable=False, server_default="real"))
    connection = op.get_bind()
    factors = connection.execute(
        text("SELECT id, experiment_id, name FROM view_column WHERE kind = 'factor'")
    )
    for number, experiment, name in factors.all():
        path = f"$.{json.dumps(name, ensure_ascii=False)}"
        found = {*connection.execute(_TYPES, {"path": path, "experiment": experiment}).scalars()} - {None}
        known = "whole" if found <= {"integer"} else "real" if found <= {"integer", "real"} else "text"
        connection.execute(
            text("UPDATE view_column SET type = :type WHERE id = :id"), {"type": known, "id": number}
        )
