"""Downloads, sizes of runs, and folders to be deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id
from backend.models.records import RUN_ID


class Artifact(Base):
    """A file made of a run for download; it is in the artifact store under its identifier."""

    __tablename__ = "artifacts"
    __table_args__ = (
        CheckConstraint("kind IN ('checkpoint', 'journal', 'report', 'config', 'log', 'samples')", name="kind"),
        CheckConstraint("state IN ('requested', 'preparing', 'ready', 'expired', 'failed')", name="state"),
        CheckConstraint("(kind = 'checkpoint') = (step IS NOT NULL)", name="step"),
        Index("ix_artifacts_run", "run_id", "requested_at"),
        Index("ix_artifacts_open", "host", postgresql_where=text("state IN ('requested', 'preparing')")),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"))
    kind: Mapped[str]
    step: Mapped[int | None]
    """Step of the checkpoint; `None` for other artifacts."""
    run_step: Mapped[int]
    """Steps that the run had completed when it was asked for."""
    state: Mapped[str] = mapped_column(server_default="requested")
    reason: Mapped[str | None]
    author: Mapped[str]
    requested_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ready_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    host: Mapped[str | None]
    """The machine that packs it; None: the server itself, or any worker where all see the folders."""
    worker_id: Mapped[str | None] = mapped_column(ForeignKey("workers.id", ondelete="SET NULL"))
    """The worker that is packing it."""
    num_bytes: Mapped[int | None] = mapped_column(BigInteger)
    received_bytes: Mapped[int] = mapped_column(BigInteger, server_default="0")
    sha256: Mapped[str | None]
    file_name: Mapped[str]


class RunStorage(Base):
    """Sizes of a run as last measured, and which of its parts are deleted."""

    __tablename__ = "run_storage"
    __table_args__ = (Index("ix_run_storage_due", "run_id", postgresql_where=text("is_folder_due")),)

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    folder_bytes: Mapped[int | None] = mapped_column(BigInteger)
    checkpoints: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB(none_as_null=True))
    """Step and bytes of each, oldest first."""
    folder_measured_at: Mapped[datetime | None]
    is_folder_due: Mapped[bool] = mapped_column(server_default=text("false"))
    """True if the run's machine should measure its folder."""
    database_bytes: Mapped[int | None] = mapped_column(BigInteger)
    database_measured_at: Mapped[datetime | None]
    samples_deleted_at: Mapped[datetime | None]
    log_deleted_at: Mapped[datetime | None]
    checkpoints_deleted_at: Mapped[datetime | None]


class FolderDeletion(Base):
    """A run's folder, or a part of it, that a worker of its machine still has to delete. It outlives the run."""

    __tablename__ = "folder_deletions"
    __table_args__ = (
        CheckConstraint("part IN ('folder', 'checkpoints', 'samples', 'log')", name="part"),
        Index("ix_folder_deletions_host", "host"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    run_id: Mapped[str]
    run_name: Mapped[str]
    part: Mapped[str]
    host: Mapped[str | None]
    """Host whose workers can delete it; `None` for any worker, as all see the folders."""
    author: Mapped[str]
    requested_at: Mapped[datetime] = mapped_column(server_default=func.now())
    num_tries: Mapped[int] = mapped_column(server_default="0")
    tried_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    """Why the last try did not succeed."""
