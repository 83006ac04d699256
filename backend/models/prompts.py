"""Prompts over all runs of a project, and the lists that say which of them are left out or weighed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, CheckConstraint, ForeignKey, Identity, Index, Integer, func, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id

PROJECT_ID = "projects.id"
USER_ID = "users.id"
LIST_ID = "prompt_lists.id"


class ProjectPrompt(Base):
    """A prompt and its totals over the runs of a project: the sums of what `PromptTotals` has of each run.

    Steps that several runs hold, as a fork and its parent do, count in the oldest of them alone.
    """

    __tablename__ = "project_prompts"
    __table_args__ = (Index("uq_project_prompts_prompt", "project_id", "prompt_id", unique=True),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey(PROJECT_ID))
    prompt_id: Mapped[str]
    content: Mapped[str | None]
    """Beginning of its text, for lists and searches; None where no run stored it."""
    num_runs: Mapped[int] = mapped_column(server_default="0")
    """Runs in which a policy answered it."""
    num_visits: Mapped[int] = mapped_column(BigInteger, server_default="0")
    num_responses: Mapped[int] = mapped_column(BigInteger, server_default="0")
    num_correct: Mapped[int] = mapped_column(BigInteger, server_default="0")
    num_never_solved: Mapped[int] = mapped_column(server_default="0")
    """Runs in which no response was correct."""
    num_always_solved: Mapped[int] = mapped_column(server_default="0")
    num_suspected: Mapped[int] = mapped_column(server_default="0")
    """Runs whose findings suspect its label, or that its right answers are judged wrong."""


class PromptTotals(Base):
    """Totals of a run's visits of each prompt: one row per run, columns as arrays in the order of `numbers`.

    Without a foreign key to the run: what is counted in `ProjectPrompt` must be taken out again when the run is gone.
    """

    __tablename__ = "prompt_totals"
    __table_args__ = (
        Index("ix_prompt_totals_numbers", "numbers", postgresql_using="gin"),
        Index("ix_prompt_totals_first_digest", "project_id", "first_digest"),
    )

    run_id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey(PROJECT_ID), index=True)
    is_due: Mapped[bool] = mapped_column(server_default=text("false"))
    """Runs with the same steps were added or deleted since, so that other answers count here."""
    digests: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """`RunColumns.digests` of the steps, in their order."""
    first_digest: Mapped[int | None] = mapped_column(BigInteger)
    """The first of these, which runs with copies of one another's steps share. None without one."""
    inherited_steps: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    """Steps that count in an older run."""
    group_size: Mapped[int]
    numbers: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """`ProjectPrompt.id` of each prompt."""
    num_visits: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    num_evaluations: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    num_correct: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    """Over all evaluations."""
    own_visits: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    """Without those of inherited steps; so are the next two. These are what the sums add up."""
    own_evaluations: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    own_correct: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    first_correct: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    last_correct: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    last_step: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    is_suspected: Mapped[list[bool]] = mapped_column(ARRAY(Boolean))


class PromptList(Base):
    """A named list of prompts in a project. Removed, it keeps its versions for the runs that name them."""

    __tablename__ = "prompt_lists"
    __table_args__ = (Index("uq_prompt_lists_name", "project_id", "name", unique=True),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey(PROJECT_ID))
    name: Mapped[str]
    description: Mapped[str]
    owner_id: Mapped[str] = mapped_column(ForeignKey(USER_ID))
    version: Mapped[int] = mapped_column(server_default="0")
    """The newest; 0 before anything was listed."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    removed_at: Mapped[datetime | None]


class PromptListVersion(Base):
    """A change of a list, and what the list holds since."""

    __tablename__ = "prompt_list_versions"

    list_id: Mapped[str] = mapped_column(ForeignKey(LIST_ID, ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[str] = mapped_column(ForeignKey(USER_ID))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    num_set: Mapped[int]
    num_removed: Mapped[int]
    num_quarantined: Mapped[int]
    num_weighted: Mapped[int]


class PromptListEntry(Base):
    """Content of a prompt's entry in a list, from one version on, until another version replaces it."""

    __tablename__ = "prompt_list_entries"
    __table_args__ = (
        CheckConstraint("thousandths BETWEEN 0 AND 1000000", name="thousandths"),
        Index("ix_prompt_list_entries_versions", "list_id", "from_version", "to_version"),
        Index(
            "uq_prompt_list_entries_current",
            "list_id",
            "prompt_id",
            unique=True,
            postgresql_where=text("to_version IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    list_id: Mapped[str] = mapped_column(ForeignKey(LIST_ID, ondelete="CASCADE"))
    prompt_id: Mapped[str]
    thousandths: Mapped[int]
    """The weight; 0: quarantined."""
    note: Mapped[str]
    author_id: Mapped[str] = mapped_column(ForeignKey(USER_ID))
    added_at: Mapped[datetime] = mapped_column(server_default=func.now())
    from_version: Mapped[int]
    to_version: Mapped[int | None]
