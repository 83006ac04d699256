"""Findings of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class RunFindings(Base):
    """The findings of a run when it was last looked at: for the list of runs, and for alerts."""

    __tablename__ = "run_findings"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger)
    """Revision of the run's records at that time."""
    step: Mapped[int]
    is_over: Mapped[bool]
    """True if the run had ended, so that it need not be looked at again."""
    found: Mapped[Sequence[dict[str, Any]]] = mapped_column(JSONB)
    """Kind, severity and title of each, most severe first."""
    probe: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """Short result of a probe (`ProbeFigures`), for the data set that it was made on; `None` for other runs."""
    found_at: Mapped[datetime] = mapped_column(server_default=func.now())
