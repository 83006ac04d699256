"""Results of a probe, stored with the findings of its run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. Probes of before are looked at once more."""
    op.add_column("run_findings", sa.Column("probe", postgresql.JSONB()))
    op.execute(
        "UPDATE run_findings SET revision = -1, is_over = false "
        "FROM runs WHERE runs.id = run_id AND runs.config -> 'method' ->> 'type' = 'probe'"
    )


def downgrade() -> None:
    """Take back."""
    op.drop_column("run_findings", "probe")
