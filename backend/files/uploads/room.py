"""Limits of uploads: the size of each file, and of all files of a project."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.files.uploads import repository
from backend.kit.errors import Problem
from backend.models import Upload
from backend.settings.environment import Settings

NONE_LEFT = (
    "the project has no room left for what the file holds: unregister what is no longer needed, or ask an "
    "administrator to raise BAPO_UPLOAD_QUOTA_BYTES"
)
MOST_UNPACKED = 4
"""Maximum size of a data set's rows, as a multiple of the largest upload; Parquet packs rows more tightly."""


def check_size(num_bytes: int, settings: Settings) -> None:
    """Raise Problem 413 for a file that is too large."""
    if num_bytes > settings.upload_max_bytes:
        remedy = (
            f"the largest file that is taken has {settings.upload_max_bytes:,} bytes: split it, or ask an "
            "administrator to put it into a permitted folder"
        )
        raise Problem(413, "too_large", remedy, field="num_bytes", value=num_bytes)


def check_quota(session: Session, project_id: str, further_bytes: int, settings: Settings) -> None:
    """Raise Problem 409 if the locked project has no room for that many further bytes."""
    used = repository.used_bytes(session, [project_id])[project_id]
    # What a check made of an upload may already be more.
    if further_bytes > 0 and used + further_bytes > settings.upload_quota_bytes:
        remedy = (
            f"the project holds {used:,} of {settings.upload_quota_bytes:,} bytes of uploads: unregister what is no "
            "longer needed, or ask an administrator to raise BAPO_UPLOAD_QUOTA_BYTES"
        )
        raise Problem(409, "upload_quota", remedy, field="num_bytes", value=further_bytes)


def left_for(session: Session, upload: Upload, settings: Settings) -> int:
    """Return how many bytes a check may make of an upload before the project exceeds its quota."""
    used = repository.used_bytes(session, [upload.project_id])[upload.project_id]
    made = int((upload.result or {}).get("num_bytes") or 0)
    # What an earlier check made of it goes first, and the archive of a model once it is unpacked.
    own = max(upload.num_bytes, made) if upload.kind == "model" else made
    return max(0, min(settings.upload_quota_bytes - used + own, settings.upload_max_bytes * MOST_UNPACKED))
