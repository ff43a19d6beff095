"""Groups that workers claim, and results that come too late."""

from alembic import op
from sqlalchemy import BigInteger, Column, DateTime, ForeignKeyConstraint, Integer, String, Text
from sqlalchemy.dialects import sqlite

revision = "10"
down_revision = "9"

_WHOLE = BigInteger().with_variant(Integer(), "sqlite")
_WORD = String(16).with_variant(Text(), "postgresql")
_JSON = Text().with_variant(sqlite.JSON(), "sqlite")


def upgrade() -> None:
    """Add the tables `claim` and `late_result`; rows of the second are never changed."""
    op.create_table(
        "claim",
        Column("campaign_id", _WHOLE, primary_key=True),
        Column("group", _WHOLE, primary_key=True),
        Column("block", _WHOLE, nullable=False),
        Column("place", _WHOLE, nullable=False),
        Column("state", _WORD, nullable=False),
        Column("attempt", _WHOLE, nullable=False),
        Column("worker", Text, nullable=True),
        Column("until", DateTime, nullable=True),
        ForeignKeyConstraint(["campaign_id"], ["campaign.id"]),
    )
    op.create_index("claim_by_state", "claim", ["campaign_id", "state"])
    op.create_table(
        "late_result",
        Column("id", _WHOLE, primary_key=True),
        Column("campaign_id", _WHOLE, nullable=False),
        Column("ordinal", _WHOLE, nullable=False),
        Column("received_at", DateTime, nullable=False),
        Column("worker", Text, nullable=False),
        Column("outcome", _JSON, nullable=False),
        ForeignKeyConstraint(
            ["campaign_id", "ordinal"], ["planned_trial.campaign_id", "planned_trial.ordinal"]
        ),
    )
    op.create_index("late_result_by_campaign", "late_result", ["campaign_id"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER refuses_change BEFORE UPDATE OR DELETE ON late_result"
            " FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )
        return
    for change in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER late_result_refuses_{change.lower()} BEFORE {change} ON late_result "
            "BEGIN SELECT RAISE(ABORT, 'a store only grows: late_result rows are never changed'); END"
        )
