"""Runs, attempts, records, workers, people: the first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(sa.schema.CreateSequence(sa.Sequence("fencing_tokens", data_type=sa.BigInteger)))
    op.create_table(
        "projects",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint("name", name=op.f("uq_projects_name")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('viewer', 'member', 'admin')", name=op.f("ck_users_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('user', 'worker')", name=op.f("ck_api_tokens_kind")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_tokens_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_api_tokens_secret_hash")),
    )
    op.create_index(op.f("ix_api_tokens_user_id"), "api_tokens", ["user_id"], unique=False)
    op.create_table(
        "login_codes",
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_login_codes_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_login_codes")),
    )
    op.create_table(
        "run_groups",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_run_groups_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_groups")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_run_groups_project_id_name")),
    )
    op.create_table(
        "sessions",
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=True),
        sa.Column("parent_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "draft",
                "queued",
                "starting",
                "running",
                "pausing",
                "paused",
                "stopping",
                "cancelled",
                "succeeded",
                "failed",
                "lost",
                name="run_status",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("recipe", sa.Text(), nullable=True),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("config", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("explicit", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("diff", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
        sa.Column("priority", sa.Integer(), server_default="50", nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("request_hash", sa.Text(), nullable=True),
        sa.Column("import_source", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("num_attempts_without_progress", sa.Integer(), server_default="0", nullable=False),
        sa.Column("step", sa.Integer(), server_default="0", nullable=False),
        sa.Column("num_steps", sa.Integer(), server_default="0", nullable=False),
        sa.Column("num_rollouts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("reward_mean", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("step_seconds", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("eval_name", sa.Text(), nullable=True),
        sa.Column("eval_step", sa.Integer(), nullable=True),
        sa.Column("eval_base", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("eval_latest", sa.DOUBLE_PRECISION(), nullable=True),
        sa.ForeignKeyConstraint(["group_id"], ["run_groups.id"], name=op.f("fk_runs_group_id")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_runs_owner_id")),
        sa.ForeignKeyConstraint(["parent_id"], ["runs.id"], name=op.f("fk_runs_parent_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_runs_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_group_id"), "runs", ["group_id"], unique=False)
    op.create_index(op.f("ix_runs_parent_id"), "runs", ["parent_id"], unique=False)
    op.create_index("ix_runs_project_created", "runs", ["project_id", "created_at", "id"], unique=False)
    op.create_index("ix_runs_project_status_created", "runs", ["project_id", "status", "created_at"], unique=False)
    op.create_index(
        "ix_runs_queue",
        "runs",
        [sa.literal_column("priority DESC"), "queued_at"],
        unique=False,
        postgresql_where=sa.text("status = 'queued'"),
    )
    op.create_index("ix_runs_tags", "runs", ["tags"], unique=False, postgresql_using="gin")
    op.create_index(
        "uq_runs_idempotency",
        "runs",
        ["owner_id", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index(
        "uq_runs_import",
        "runs",
        ["project_id", "import_source"],
        unique=True,
        postgresql_where=sa.text("import_source IS NOT NULL"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("gpus", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("registered_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("system", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["api_tokens.id"], name=op.f("fk_workers_token_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
        sa.UniqueConstraint("name", name=op.f("uq_workers_name")),
    )
    op.create_table(
        "attempts",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("fencing_token", sa.BigInteger(), nullable=True),
        sa.Column("assigned_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("num_sent", sa.Integer(), server_default="0", nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("first_step", sa.Integer(), server_default="0", nullable=False),
        sa.CheckConstraint("state IN ('assigned', 'claimed', 'running', 'ended')", name=op.f("ck_attempts_state")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_attempts_run_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name=op.f("fk_attempts_worker_id")),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_attempts")),
    )
    op.create_index(
        "ix_attempts_active", "attempts", ["worker_id"], unique=False, postgresql_where=sa.text("state <> 'ended'")
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_audit_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_run_id"), "audit", ["run_id"], unique=False)
    op.create_table(
        "controls",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("changes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at_step", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("applied_step", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint("kind IN ('stop', 'pause', 'change')", name=op.f("ck_controls_kind")),
        sa.CheckConstraint("state IN ('pending', 'applied', 'refused')", name=op.f("ck_controls_state")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_controls_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "id", name=op.f("pk_controls")),
    )
    op.create_index(
        "ix_controls_pending", "controls", ["run_id"], unique=False, postgresql_where=sa.text("state = 'pending'")
    )
    op.create_table(
        "ingest_offsets",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("next_offset", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_ingest_offsets_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "attempt", "kind", name=op.f("pk_ingest_offsets")),
    )
    op.create_table(
        "log_pieces",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_log_pieces_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_pieces")),
    )
    op.create_index("ix_log_pieces_run", "log_pieces", ["run_id", "id"], unique=False)
    op.create_table(
        "metric_chunks",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("series", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_metric_chunks_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "key", "chunk", name=op.f("pk_metric_chunks")),
    )
    op.create_table(
        "metric_keys",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_metric_keys_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "key", name=op.f("pk_metric_keys")),
    )
    op.create_table(
        "samples",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("record", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_samples_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "step", "position", name=op.f("pk_samples")),
    )
    op.create_index("ix_samples_prompt", "samples", ["run_id", "prompt_id", "step"], unique=False)
    op.create_table(
        "sparse_records",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("metrics", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("record", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_sparse_records_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "type", "step", "identity", name=op.f("pk_sparse_records")),
        sa.UniqueConstraint("id", name=op.f("uq_sparse_records_id")),
    )
    op.create_index("ix_sparse_records_order", "sparse_records", ["run_id", "type", "step", "id"], unique=False)
    op.create_table(
        "steps",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("metrics", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("fresh_histogram", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("reevaluated_histogram", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("batch_histogram", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("record", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("prompt_ids", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("prompt_sources", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("prompt_num_correct", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("prompt_policy_versions", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("prompt_in_batch", postgresql.ARRAY(sa.Boolean()), nullable=False),
        sa.Column("prompt_reasons", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_steps_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "step", name=op.f("pk_steps")),
    )
    op.create_index(
        "ix_steps_tail", "steps", ["run_id", "step"], unique=False, postgresql_where=sa.text("metrics IS NOT NULL")
    )
    op.create_table(
        "stream",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("data", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_stream_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stream")),
    )
    op.create_index("ix_stream_at", "stream", ["at"], unique=False)
    op.create_index("ix_stream_run", "stream", ["run_id", "id"], unique=False)


def downgrade() -> None:
    """Take back."""
    for table in (
        "stream",
        "steps",
        "sparse_records",
        "samples",
        "metric_keys",
        "metric_chunks",
        "log_pieces",
        "ingest_offsets",
        "controls",
        "audit",
        "attempts",
        "workers",
        "runs",
        "sessions",
        "run_groups",
        "login_codes",
        "api_tokens",
        "users",
        "projects",
    ):
        op.drop_table(table)
    op.execute(sa.schema.DropSequence(sa.Sequence("fencing_tokens")))
