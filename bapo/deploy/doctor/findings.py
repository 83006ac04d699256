"""Findings of the checks."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Grade(StrEnum):
    """Outcome of a check."""

    OK = "ok"
    NOTE = "note"
    """Information; no action needed."""
    WARNING = "warning"
    """Works, but will cause trouble."""
    FAILURE = "failure"
    """Does not work."""
    SKIPPED = "skipped"
    """Could not be checked; the message says why."""


class Finding(BaseModel):
    """One check and its outcome."""

    model_config = ConfigDict(frozen=True)

    check: str
    grade: Grade
    message: str
    remedy: str | None = None


def ok(check: str, message: str) -> Finding:
    """Return the finding of a check that found no problem."""
    return Finding(check=check, grade=Grade.OK, message=message)


def note(check: str, message: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(check=check, grade=Grade.NOTE, message=message)


def warning(check: str, message: str, remedy: str) -> Finding:
    """Return the finding of something that works, but will cause trouble."""
    return Finding(check=check, grade=Grade.WARNING, message=message, remedy=remedy)


def failure(check: str, message: str, remedy: str) -> Finding:
    """Return the finding of something that does not work."""
    return Finding(check=check, grade=Grade.FAILURE, message=message, remedy=remedy)


def skipped(check: str, message: str) -> Finding:
    """Return the finding of a check that was skipped."""
    return Finding(check=check, grade=Grade.SKIPPED, message=message)


def exit_status(findings: Iterable[Finding]) -> int:
    """Return 1 if something does not work, else 0, also with warnings."""
    return int(any(finding.grade is Grade.FAILURE for finding in findings))
