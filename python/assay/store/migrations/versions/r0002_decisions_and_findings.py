"""Decisions of the runner, stored audits, and programs of any kind."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NEW_NAMES = ("decision", "audit", "finding", "findings")


def upgrade() -> None:
    """Add the tables of decisions and audits, and what a plan says of programs and repetitions."""
    _free_names()
    op.add_column("planned_trial", sa.Column("arguments", sa.JSON, nullable=False, server_default="[]"))
    op.add_column("planned_trial", sa.Column("extract", sa.JSON, nullable=False, server_default='"protocol"'))
    op.add_column("planned_trial", sa.Column("repeats", sa.Integer, nullable=True))
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
    )
    op.create_index("decision_by_campaign", "decision", ["campaign_id"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("audited_at", sa.DateTime, nullable=False),
    )
    op.create_index("audit_by_campaign", "audit", ["campaign_id"])
    op.create_table(
        "finding",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("audit_id", sa.Integer, sa.ForeignKey("audit.id"), nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("severity", sa.String(16), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("places", sa.JSON, nullable=False),
        sa.Column("evidence", sa.JSON, nullable=False),
        sa.Column("remedy", sa.Text, nullable=False),
        sa.Column("trials", sa.JSON, nullable=False),
    )
    op.create_index("finding_by_audit", "finding", ["audit_id"])
    op.execute(
        "CREATE VIEW findings AS SELECT a.campaign_id AS campaign, a.audited_at, f.rule, f.severity, "
        "f.message, f.places, f.evidence, f.remedy, f.trials "
        "FROM audit AS a JOIN finding AS f ON f.audit_id = a.id "
        "WHERE a.id IN (SELECT max(id) FROM audit GROUP BY campaign_id)"
    )
    for table in ("decision", "audit", "finding"):
        for event in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_refuses_{event.lower()} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'a store only grows: {table} rows are never changed'); END"
            )


def _free_names() -> None:
    """Give the view of an experiment that is called like one of the new names a name with a number."""
    connection = op.get_bind()
    taken = {name.lower() for (name,) in connection.execute(sa.text("SELECT name FROM sqlite_master"))}
    taken |= {*_NEW_NAMES, "trials"}
    for new_name in _NEW_NAMES:
        found = connection.execute(
            sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'view' AND lower(name) = :name"),
            {"name": new_name},
        ).one_or_none()
        if found is None:
            continue
        number = 2
        while f"{new_name}_{number}" in taken:
            number += 1
        renamed = f"{found.name}_{number}"
        taken.add(renamed.lower())
        connection.exec_driver_sql(f'DROP VIEW "{found.name}"')
        connection.exec_driver_sql(
            found.sql.replace(f'CREATE VIEW "{found.name}"', f'CREATE VIEW "{renamed}"', 1)
        )
        connection.execute(
            sa.text("UPDATE experiment SET view_name = :renamed WHERE view_name = :name"),
            {"renamed": renamed, "name": found.name},
        )
