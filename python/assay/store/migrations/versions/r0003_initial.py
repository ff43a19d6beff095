"""The first schema: experiments, campaigns, plans, trials, their records, decisions and audits."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = None


def upgrade() -> None:
    """Create every table in an empty file."""
    op.execute("PRAGMA application_id = 1098085241")
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("view_name", sa.Text(collation="NOCASE"), nullable=False, unique=True),
    )
    op.create_table(
        "view_column",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.UniqueConstraint("experiment_id", "kind", "name"),
    )
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("resolved", sa.Text, nullable=False),
        sa.Column("directory", sa.Text, nullable=False),
        sa.Column("host", sa.JSON, nullable=False),
        sa.Column("started_at", sa.DateTime, nullable=False),
    )
    op.create_table(
        "planned_trial",
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("group", sa.Integer, nullable=False),
        sa.Column("levels", sa.JSON, nullable=False),
        sa.Column("request", sa.JSON, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("perturbation", sa.JSON, nullable=False),
        sa.Column("timeout_s", sa.Float, nullable=False),
        sa.Column("memory_limit_mb", sa.Integer, nullable=False),
        sa.Column("arguments", sa.JSON, nullable=False),
        sa.Column("extract", sa.JSON, nullable=False),
        sa.Column("repeats", sa.Integer, nullable=True),
    )
    op.create_table(
        "trial",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("started_at", sa.DateTime, nullable=False),
        sa.Column("wall_s", sa.Float, nullable=False),
        sa.Column("metrics", sa.JSON, nullable=False),
        sa.Column("calibration_before", sa.JSON, nullable=False),
        sa.Column("calibration_after", sa.JSON, nullable=False),
        sa.UniqueConstraint("campaign_id", "ordinal"),
        sa.ForeignKeyConstraint(
            ["campaign_id", "ordinal"], ["planned_trial.campaign_id", "planned_trial.ordinal"]
        ),
    )
    op.create_index("trial_by_status", "trial", ["campaign_id", "status"])
    op.create_table(
        "environment",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("content", sa.JSON, nullable=False),
    )
    op.create_table(
        "record",
        sa.Column("trial_id", sa.Integer, sa.ForeignKey("trial.id"), primary_key=True),
        sa.Column("outcome", sa.JSON, nullable=False),
        sa.Column("environment", sa.String(64), sa.ForeignKey("environment.sha256")),
    )
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
    kept = ("campaign", "planned_trial", "trial", "record", "environment", "decision", "audit", "finding")
    for table in kept:
        for event in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_refuses_{event.lower()} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'a store only grows: {table} rows are never changed'); END"
            )
