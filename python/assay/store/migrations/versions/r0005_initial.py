"""The one revision so far: the tables of `schema.py`, the view `findings`, and triggers that refuse changes.

Until the first release, a change of the tables gives this revision the next number, and older stores are
refused. The release writes the tables out here; from then on each change is a revision of its own.
"""

from alembic import op

from assay.store.schema import metadata
from assay.store.sqlite import APPLICATION_ID

revision = "0005"
down_revision = None


def upgrade() -> None:
    """Create every table in an empty file."""
    op.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    metadata.create_all(op.get_bind())
    op.execute(
        "CREATE VIEW findings AS SELECT campaign_id AS campaign, audited_at, value ->> 'rule' AS rule, "
        "value ->> 'severity' AS severity, value ->> 'message' AS message, value ->> 'where' AS places, "
        "value ->> 'evidence' AS evidence, value ->> 'remedy' AS remedy, value ->> 'trials' AS trials "
        "FROM audit, json_each(findings) "
        "WHERE audit.id IN (SELECT max(id) FROM audit GROUP BY campaign_id)"
    )
    kept = ("campaign", "planned_trial", "trial", "record", "environment", "decision", "audit")
    for table in kept:
        for event in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_refuses_{event.lower()} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'a store only grows: {table} rows are never changed'); END"
            )
