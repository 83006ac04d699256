"""History for a team: search, stars, archive, saved views, best evaluation, GPUs of an attempt."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from backend.models.search_text import search_text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("runs", sa.Column("eval_best", sa.DOUBLE_PRECISION(), nullable=True))
    op.add_column("runs", sa.Column("eval_best_step", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("runs", sa.Column("search_text", sa.Text(), server_default="", nullable=False))
    op.add_column("attempts", sa.Column("num_gpus", sa.Integer(), server_default="0", nullable=False))
    op.create_table(
        "run_stars",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_stars_run_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_run_stars_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "run_id", name=op.f("pk_run_stars")),
    )
    op.create_index(op.f("ix_run_stars_run_id"), "run_stars", ["run_id"], unique=False)
    op.create_table(
        "saved_views",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("filters", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("sort", sa.Text(), nullable=False),
        sa.Column("columns", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_saved_views_owner_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_saved_views_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_views")),
        sa.UniqueConstraint("project_id", "owner_id", "name", name=op.f("uq_saved_views_project_id_owner_id_name")),
    )
    _fill()


def _fill() -> None:
    """What runs from before this migration would have by now."""
    connection = op.get_bind()
    op.execute("""
        UPDATE runs SET eval_best = best.value, eval_best_step = best.step
        FROM (
            SELECT DISTINCT ON (told.run_id) told.run_id, told.step,
                   (told.record #>> '{avg_at_k,value}')::float8 AS value
            FROM sparse_records AS told JOIN runs AS evaluated ON evaluated.id = told.run_id
            WHERE told.type = 'evaluation'
                  AND told.identity || ' avg@' || (told.record ->> 'num_samples') = evaluated.eval_name
            ORDER BY told.run_id, (told.record #>> '{avg_at_k,value}')::float8 DESC, told.step
        ) AS best
        WHERE best.run_id = runs.id
    """)
    op.execute("""
        UPDATE attempts SET num_gpus = 1
        FROM workers, runs
        WHERE workers.id = attempts.worker_id AND runs.id = attempts.run_id AND cardinality(workers.gpus) > 0
              AND runs.config #>> '{engine,device}' <> 'cpu'
    """)
    # Attempts elsewhere have no times of their own: the run's are all that is known.
    op.execute("""
        UPDATE attempts SET claimed_at = runs.started_at, ended_at = runs.finished_at
        FROM runs WHERE runs.id = attempts.run_id AND attempts.worker_id IS NULL AND attempts.number = runs.attempt
    """)
    rows = connection.execute(sa.text("SELECT id, name, notes, tags, recipe, config FROM runs")).all()
    for row in rows:
        connection.execute(
            sa.text("UPDATE runs SET search_text = :text WHERE id = :id"),
            {"id": row.id, "text": search_text(row.id, row.name, row.notes, row.tags, row.recipe, row.config)},
        )


def downgrade() -> None:
    """Take back."""
    op.drop_table("saved_views")
    op.drop_table("run_stars")
    op.drop_column("attempts", "num_gpus")
    for column in ("search_text", "archived_at", "eval_best_step", "eval_best"):
        op.drop_column("runs", column)
