"""Trials know their host; campaigns on several hosts have a plan for each, and files for their trials."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)

revision = "11"
down_revision = "10"

_WHOLE = BigInteger().with_variant(Integer(), "sqlite")
_WORD = String(16).with_variant(Text(), "postgresql")
_DIGEST = String(64).with_variant(Text(), "postgresql")
_OF_CAMPAIGN = ["campaign_id"], ["campaign.id"]


def upgrade() -> None:
    """Add `trial.ran_on`, `host_number` to plans and claims, and the tables of hosts and files."""
    op.add_column("planned_trial", Column("host_number", _WHOLE, nullable=False, server_default="0"))
    op.add_column("claim", Column("host_number", _WHOLE, nullable=False, server_default="0"))
    op.add_column("trial", Column("ran_on", Text, nullable=True))
    op.create_index("planned_trial_by_group", "planned_trial", ["campaign_id", "group"])
    op.drop_index("claim_by_state", "claim")
    op.create_index(
        "claim_in_order", "claim", ["campaign_id", "state", "host_number", "block", "place", "group"]
    )
    op.create_table(
        "campaign_host",
        Column("campaign_id", _WHOLE, primary_key=True),
        Column("number", _WHOLE, primary_key=True),
        Column("name", Text, nullable=False),
        Column("unit", Text, nullable=False),
        Column("worker", Text, nullable=False),
        Column("state", _WORD, nullable=False),
        Column("message", Text, nullable=False),
        Column("changed_at", DateTime, nullable=False),
        UniqueConstraint("campaign_id", "name"),
        ForeignKeyConstraint(*_OF_CAMPAIGN),
    )
    op.create_table(
        "file",
        Column("sha256", _DIGEST, primary_key=True),
        Column("content", LargeBinary, nullable=False),
    )
    op.create_table(
        "campaign_file",
        Column("campaign_id", _WHOLE, primary_key=True),
        Column("path", Text, primary_key=True),
        Column("sha256", _DIGEST, nullable=False),
        Column("executable", _WHOLE, nullable=False),
        ForeignKeyConstraint(*_OF_CAMPAIGN),
        ForeignKeyConstraint(["sha256"], ["file.sha256"]),
    )
