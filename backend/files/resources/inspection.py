"""The inspection of resources in a separate process: registered files are read with the limits of uploads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from backend.files.resources import contents
from backend.files.resources.contents import ContentError
from bapo.api.resources import ResourceKind, ResourcePreview
from bapo.own_data.job import FileReadError, read_isolated

SUMMARY_SECONDS = 120.0
"""Time limit for the inspection of a whole file, for which a request waits."""
PREVIEW_SECONDS = 20.0
MOST_AT_ONCE = 4
TURN_SECONDS = 5.0
"""A request waits for one of them to end before it is refused."""

_TURNS = threading.BoundedSemaphore(MOST_AT_ONCE)


class BusyError(Exception):
    """Too many inspections are under way."""


class Window(BaseModel):
    """Rows to be shown."""

    offset: int
    limit: int
    num_rows: int | None
    """Number of rows of the whole file; `None` if unknown."""


class Inspection(BaseModel):
    """Facts to find out about a file or folder."""

    path: Path
    kind: ResourceKind
    function: str | None = None
    """Name of a verifier's function; `None` for other kinds."""
    window: Window | None = None
    """Rows to be shown; None: a summary of the whole."""


class Refusal(BaseModel):
    """Why a resource is not taken."""

    remedy: str
    field: str
    value: str | None


class Found(BaseModel):
    """Facts that an inspection found out."""

    details: dict[str, Any] = {}
    preview: ResourcePreview | None = None
    refusal: Refusal | None = None


def inspect(job: Inspection) -> Found:
    """Read the file or folder."""
    try:
        if job.window is None:
            return Found(details=contents.details_of(job.path, job.kind, job.function))
        return Found(preview=contents.preview(job.path, job.kind, **job.window.model_dump()))
    except ContentError as error:
        return Found(refusal=Refusal(remedy=error.remedy, field=error.field, value=error.value))


def inspect_isolated(job: Inspection) -> Found:
    """Read it in a separate process. Raises ContentError and BusyError."""
    if not _TURNS.acquire(timeout=TURN_SECONDS):
        raise BusyError
    try:
        seconds = SUMMARY_SECONDS if job.window is None else PREVIEW_SECONDS
        found = read_isolated(inspect, job, file_bytes=0, maps_files=job.kind == "model", seconds=seconds)
    except FileReadError as error:
        raise ContentError(str(error), value=str(job.path)) from None
    finally:
        _TURNS.release()
    if found.refusal is not None:
        refusal = found.refusal
        raise ContentError(refusal.remedy, field=refusal.field, value=refusal.value)
    return found
