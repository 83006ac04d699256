"""Prompts over all runs of a project, and lists of prompts that runs leave out or weigh."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

PROJECT_ID = "projects.id"
USER_ID = "users.id"
LIST_ID = "prompt_lists.id"


def _counts(*names: str, large: bool = False) -> list[sa.Column[int]]:
    kind = sa.BigInteger() if large else sa.Integer()
    return [sa.Column(name, kind, server_default="0", nullable=False) for name in names]


def _integers(*names: str) -> list[sa.Column[list[int]]]:
    return [sa.Column(name, postgresql.ARRAY(sa.Integer()), nullable=False) for name in names]


def _now(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False)


def upgrade() -> None:
    """Apply. The totals of runs that are there already are made in the background."""
    op.create_table(
        "project_prompts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("content", sa.Text()),
        *_counts("num_runs"),
        *_counts("num_visits", "num_responses", "num_correct", large=True),
        *_counts("num_never_solved", "num_always_solved", "num_suspected"),
        sa.ForeignKeyConstraint(["project_id"], [PROJECT_ID], name=op.f("fk_project_prompts_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project_prompts")),
    )
    op.create_index("uq_project_prompts_prompt", "project_prompts", ["project_id", "prompt_id"], unique=True)
    op.create_table(
        "prompt_totals",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("group_size", sa.Integer(), nullable=False),
        sa.Column("numbers", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        *_integers("num_visits", "num_evaluations", "num_correct", "first_correct", "last_correct", "last_step"),
        sa.Column("is_suspected", postgresql.ARRAY(sa.Boolean()), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], [PROJECT_ID], name=op.f("fk_prompt_totals_project_id")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_prompt_totals")),
    )
    op.create_index("ix_prompt_totals_numbers", "prompt_totals", ["numbers"], postgresql_using="gin")
    op.create_index("ix_prompt_totals_project_id", "prompt_totals", ["project_id"])
    op.create_table(
        "prompt_lists",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        *_counts("version"),
        _now("created_at"),
        sa.Column("removed_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["project_id"], [PROJECT_ID], name=op.f("fk_prompt_lists_project_id")),
        sa.ForeignKeyConstraint(["owner_id"], [USER_ID], name=op.f("fk_prompt_lists_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_lists")),
    )
    op.create_index("uq_prompt_lists_name", "prompt_lists", ["project_id", "name"], unique=True)
    op.create_table(
        "prompt_list_versions",
        sa.Column("list_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("author_id", sa.Text(), nullable=False),
        _now("created_at"),
        *(
            sa.Column(name, sa.Integer(), nullable=False)
            for name in ("num_set", "num_removed", "num_quarantined", "num_weighted")
        ),
        sa.ForeignKeyConstraint(
            ["list_id"], [LIST_ID], name=op.f("fk_prompt_list_versions_list_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["author_id"], [USER_ID], name=op.f("fk_prompt_list_versions_author_id")),
        sa.PrimaryKeyConstraint("list_id", "number", name=op.f("pk_prompt_list_versions")),
    )
    op.create_table(
        "prompt_list_entries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("list_id", sa.Text(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("thousandths", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("author_id", sa.Text(), nullable=False),
        _now("added_at"),
        sa.Column("from_version", sa.Integer(), nullable=False),
        sa.Column("to_version", sa.Integer()),
        sa.CheckConstraint("thousandths BETWEEN 0 AND 1000000", name=op.f("ck_prompt_list_entries_thousandths")),
        sa.ForeignKeyConstraint(
            ["list_id"], [LIST_ID], name=op.f("fk_prompt_list_entries_list_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["author_id"], [USER_ID], name=op.f("fk_prompt_list_entries_author_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_list_entries")),
    )
    op.create_index("ix_prompt_list_entries_versions", "prompt_list_entries", ["list_id", "from_version", "to_version"])
    op.create_index(
        "uq_prompt_list_entries_current",
        "prompt_list_entries",
        ["list_id", "prompt_id"],
        unique=True,
        postgresql_where=sa.text("to_version IS NULL"),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("prompt_list_entries")
    op.drop_table("prompt_list_versions")
    op.drop_table("prompt_lists")
    op.drop_table("prompt_totals")
    op.drop_table("project_prompts")
