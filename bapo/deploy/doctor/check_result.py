"""Result of a check, and the exit status that all results amount to."""

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


class CheckResult(BaseModel):
    """A check and its outcome."""

    model_config = ConfigDict(frozen=True)

    check: str
    grade: Grade
    message: str
    remedy: str | None = None


def ok(check: str, message: str) -> CheckResult:
    """Return the result of a check that found no problem."""
    return CheckResult(check=check, grade=Grade.OK, message=message)


def note(check: str, message: str) -> CheckResult:
    """Return a result that needs no action."""
    return CheckResult(check=check, grade=Grade.NOTE, message=message)


def warning(check: str, message: str, remedy: str) -> CheckResult:
    """Return the result of something that works, but will cause trouble."""
    return CheckResult(check=check, grade=Grade.WARNING, message=message, remedy=remedy)


def failure(check: str, message: str, remedy: str) -> CheckResult:
    """Return the result of something that does not work."""
    return CheckResult(check=check, grade=Grade.FAILURE, message=message, remedy=remedy)


def skipped(check: str, message: str) -> CheckResult:
    """Return the result of a check that was skipped."""
    return CheckResult(check=check, grade=Grade.SKIPPED, message=message)


def exit_status(results: Iterable[CheckResult]) -> int:
    """Return 1 if something does not work, else 0, also with warnings."""
    return int(any(result.grade is Grade.FAILURE for result in results))
