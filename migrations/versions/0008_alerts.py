"""Alert rules, webhooks and their deliveries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "alert_follower",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stream_id", sa.BigInteger(), nullable=False),
        sa.Column("looked_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_alert_follower_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_follower")),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("events", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("num_failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("resume_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("format IN ('json', 'slack', 'discord', 'text')", name=op.f("ck_webhooks_format")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_webhooks_owner_id")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_webhooks_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_project_id"), "webhooks", ["project_id"], unique=False)
    op.create_table(
        "alert_rules",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("condition", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("tag", sa.Text(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_alert_rules_owner_id")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_alert_rules_project_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_alert_rules_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rules")),
    )
    op.create_index(op.f("ix_alert_rules_project_id"), "alert_rules", ["project_id"], unique=False)
    op.create_index(op.f("ix_alert_rules_run_id"), "alert_rules", ["run_id"], unique=False)
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("body", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("num_tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("first_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("response", sa.Text(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("seconds", sa.DOUBLE_PRECISION(), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'delivered', 'given_up')", name=op.f("ck_deliveries_state")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_deliveries_run_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name=op.f("fk_deliveries_webhook_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
    )
    op.create_index(op.f("ix_deliveries_run_id"), "deliveries", ["run_id"], unique=False)
    op.create_index(
        "ix_deliveries_waiting",
        "deliveries",
        ["webhook_id", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index("ix_deliveries_webhook", "deliveries", ["webhook_id", "id"], unique=False)
    op.create_table(
        "alert_watches",
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("memory", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["rule_id"], ["alert_rules.id"], name=op.f("fk_alert_watches_rule_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_alert_watches_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("rule_id", "run_id", name=op.f("pk_alert_watches")),
    )
    op.create_index(op.f("ix_alert_watches_run_id"), "alert_watches", ["run_id"], unique=False)
    op.create_table(
        "alerts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("rule_id", sa.Text(), nullable=True),
        sa.Column("rule_name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("occurrence", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("value", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("advice", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolved_step", sa.Integer(), nullable=True),
        sa.Column("resolution", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["rule_id"], ["alert_rules.id"], name=op.f("fk_alerts_rule_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_alerts_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sa.UniqueConstraint("rule_id", "run_id", "occurrence", name=op.f("uq_alerts_rule_id_run_id_occurrence")),
    )
    op.create_index(
        "ix_alerts_open", "alerts", ["run_id"], unique=False, postgresql_where=sa.text("resolved_at IS NULL")
    )
    op.create_index("ix_alerts_run", "alerts", ["run_id", "id"], unique=False)
    op.create_index(
        "ix_alerts_unseen",
        "alerts",
        ["run_id"],
        unique=False,
        postgresql_where=sa.text("resolved_at IS NULL AND acknowledged_at IS NULL"),
    )
    # From now on: what happened before anybody could have a rule is no news.
    op.execute("INSERT INTO alert_follower SELECT 1, coalesce(max(id), 0), now() FROM stream")


def downgrade() -> None:
    """Take back."""
    for table in ("alerts", "alert_watches", "deliveries", "alert_rules", "webhooks", "alert_follower"):
        op.drop_table(table)
