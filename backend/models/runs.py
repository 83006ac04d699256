"""Runs, their attempts, requests to them, and the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Connection,
    Enum,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Sequence,
    Text,
    UniqueConstraint,
    event,
    func,
    inspect,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSON, JSONB
from sqlalchemy.orm import Mapped, Mapper, mapped_column

from backend.models.base import Base, new_id
from backend.models.search_text import leaves, search_text
from bapo.api.runs import RunStatus

STATUS = Enum(
    RunStatus,
    native_enum=False,
    create_constraint=True,
    length=20,
    name="run_status",
    values_callable=lambda states: [state.value for state in states],
)

FENCING_TOKENS = Sequence("fencing_tokens", metadata=Base.metadata, data_type=BigInteger)
"""A later claim has a larger token."""


class RunGroup(Base):
    """Runs that belong together."""

    __tablename__ = "run_groups"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"))
    name: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Run(Base):
    """A training run. The columns from `step` on repeat its latest records, so that a list of runs reads one table."""

    __tablename__ = "runs"
    __table_args__ = (
        # For lists over all projects.
        Index("ix_runs_created", "created_at", "id"),
        Index("ix_runs_project_created", "project_id", "created_at", "id"),
        Index("ix_runs_project_status_created", "project_id", "status", "created_at"),
        Index("ix_runs_queue", text("priority DESC"), "queued_at", postgresql_where=text("status = 'queued'")),
        Index("ix_runs_tags", "tags", postgresql_using="gin"),
        Index("ix_runs_trashed", "trashed_at", postgresql_where=text("trashed_at IS NOT NULL")),
        Index(
            "uq_runs_import",
            "project_id",
            "import_source",
            unique=True,
            postgresql_where=text("import_source IS NOT NULL"),
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"))
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    group_id: Mapped[str | None] = mapped_column(ForeignKey("run_groups.id"), index=True)
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"), index=True)
    fork_step: Mapped[int | None]
    """Completed steps of the checkpoint that the run continues from; None if it is not a fork."""
    forked_from: Mapped[str | None]
    """Identifier of the run with that checkpoint, whose folder may outlive its row."""
    name: Mapped[str]
    status: Mapped[RunStatus] = mapped_column(STATUS)
    status_reason: Mapped[str | None]
    recipe: Mapped[str | None]
    method: Mapped[str]
    # JSON, not JSONB, which would lose the order of the fields.
    config: Mapped[dict[str, Any]] = mapped_column(JSON)
    config_digest: Mapped[str | None]
    """`bapo.config.resolve.config_digest` of the config as it was checked; a worker rejects another. A migration that
    changes configs sets it to `None`, as it is for runs of earlier releases."""
    explicit: Mapped[dict[str, Any]] = mapped_column(JSON)
    diff: Mapped[dict[str, Any]] = mapped_column(JSON)
    tags: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    notes: Mapped[str] = mapped_column(server_default="")
    priority: Mapped[int] = mapped_column(server_default="50")
    import_source: Mapped[str | None]
    """Identifies the folder of an imported run."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    queued_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    attempt: Mapped[int] = mapped_column(server_default="0")
    """Number of the newest claimed attempt."""
    host: Mapped[str | None]
    """Host that has the run's folder."""
    num_attempts_without_progress: Mapped[int] = mapped_column(server_default="0")
    """Attempts in a row that their machines failed before a further step: the retries so far."""
    max_retries: Mapped[int | None]
    """Most of these before the run has failed; None: as the server is set."""
    retry_reason: Mapped[str | None]
    """Why it was last queued again by itself."""
    not_before: Mapped[datetime | None]
    """No worker gets it earlier."""
    num_gpus_needed: Mapped[int] = mapped_column(server_default="0")
    """This and the next four are `bapo.config.resources.Needs` of its config."""
    gpus_optional: Mapped[bool] = mapped_column(server_default=text("false"))
    memory_gib: Mapped[float] = mapped_column(DOUBLE_PRECISION, server_default="0")
    gpu_memory_gib: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    num_cluster_gpus: Mapped[int] = mapped_column(server_default="0")
    queue_order: Mapped[datetime | None]
    """When it was queued; runs that their owner rearranges exchange theirs."""
    queue_place: Mapped[int | None]
    """Place that an administrator gave it, before all runs of its priority that have none."""
    held_at: Mapped[datetime | None]
    """Time since when it waits on a user's request; `None` if it is not held."""
    held_by: Mapped[str | None]
    step: Mapped[int] = mapped_column(server_default="0")
    num_steps: Mapped[int] = mapped_column(server_default="0")
    num_rollouts: Mapped[int] = mapped_column(BigInteger, server_default="0")
    reward_mean: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    step_seconds: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    """Moving average of the wall time of a step."""
    eval_name: Mapped[str | None]
    """Held-out set and k of the evaluations that the row shows, such as "CD-34 avg@8"."""
    eval_num_problems: Mapped[int | None]
    eval_problems: Mapped[str | None]
    """Digest of the problems: a run may change its held-out set, and the figures below are of the newest alone."""
    eval_step: Mapped[int | None]
    """Step of the latest evaluation of that name."""
    eval_base: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    eval_latest: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    eval_best: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    eval_best_step: Mapped[int | None]
    """First step of the best evaluation of that name."""
    archived_at: Mapped[datetime | None]
    """Lists leave archived runs out unless they are asked for them."""
    trashed_at: Mapped[datetime | None]
    """Since when it waits in the trash, where only the trash shows it (`backend/kit/project_scope.py`)."""
    trashed_by: Mapped[str | None]
    search_text: Mapped[str] = mapped_column(server_default="")
    """Kept up to date by `_keep_derived`; so is the next."""
    fields: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'"), deferred=True)
    """The config's values by dotted field, by which lists of runs are sorted, filtered and grouped."""


@event.listens_for(Run, "before_insert")
@event.listens_for(Run, "before_update")
def _keep_derived(_: Mapper[Run], __: Connection, run: Run) -> None:
    # The column's default would come too late.
    run.id = run.id or new_id()
    changes = inspect(run).attrs
    if any(changes[field].history.has_changes() for field in ("name", "notes", "tags", "recipe", "config")):
        run.fields = dict(leaves(run.config))
        run.search_text = search_text(run.id, run.name, run.notes or "", run.tags or (), run.recipe, run.config)


class RunStar(Base):
    """A run that a user marked with a star."""

    __tablename__ = "run_stars"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True, index=True)


class Attempt(Base):
    """One try of one worker at a run."""

    __tablename__ = "attempts"
    __table_args__ = (
        CheckConstraint("state IN ('assigned', 'claimed', 'running', 'ended')", name="state"),
        Index("ix_attempts_active", "worker_id", postgresql_where=text("state <> 'ended'")),
    )

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    worker_id: Mapped[str | None] = mapped_column(ForeignKey("workers.id"))
    """`None` for an imported attempt."""
    state: Mapped[str]
    fencing_token: Mapped[int | None] = mapped_column(BigInteger)
    assigned_at: Mapped[datetime] = mapped_column(server_default=func.now())
    sent_at: Mapped[datetime | None]
    """Time at which the broker last took the message, or the worker was last notified."""
    num_sent: Mapped[int] = mapped_column(server_default="0")
    claimed_at: Mapped[datetime | None]
    lease_expires_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    reason: Mapped[str | None]
    first_step: Mapped[int] = mapped_column(server_default="0")
    """Steps that the run had completed when the attempt was claimed: going beyond is progress."""
    num_gpus: Mapped[int] = mapped_column(server_default="0")
    """GPUs that it holds, also those of a cluster; 0 on the CPU, where it fills one slot."""
    gpus: Mapped[list[int]] = mapped_column(ARRAY(Integer), server_default=text("'{}'"))
    """Indices of the GPUs of its worker that are reserved for it."""
    gpu_name: Mapped[str | None]
    """Kind of its GPUs; None on the CPU."""
    memory_gib: Mapped[float] = mapped_column(DOUBLE_PRECISION, server_default="0")
    """Memory of its worker that is reserved for it."""
    start_seconds: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    """From its start, or an earlier attempt's, to the end of the first step; None until that is measured."""
    stop_seconds: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    """About how long it takes to stop after a step and a checkpoint; None until that is measured."""


class Control(Base):
    """A stop, pause or parameter change that a user requested."""

    __tablename__ = "controls"
    __table_args__ = (
        CheckConstraint("kind IN ('stop', 'pause', 'change')", name="kind"),
        CheckConstraint("state IN ('pending', 'applied', 'refused', 'withdrawn')", name="state"),
        CheckConstraint("moment IN ('now', 'step', 'checkpoint')", name="moment"),
        Index("ix_controls_pending", "run_id", postgresql_where=text("state = 'pending'")),
    )

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    author: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    changes: Mapped[dict[str, Any]]
    at_step: Mapped[int | None]
    state: Mapped[str]
    applied_step: Mapped[int | None]
    reason: Mapped[str | None]
    moment: Mapped[str | None]
    """When a stop or pause shall end the attempt."""
    withdrawn_by: Mapped[str | None]
    """User who withdrew it; the trainer may have been quicker."""


class AuditRow(Base):
    """One action: its author, its subject and its time."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    author: Mapped[str]
    action: Mapped[str]
    detail: Mapped[dict[str, Any]]
