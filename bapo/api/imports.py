"""Imports of runs that trained without a server."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, StrictBool

from bapo.api.base import Body, JsonObject, Name, Text


class ImportCreate(Body):
    """A run that trained without a server."""

    name: Name = Field(min_length=1, max_length=200)
    source: Text = Field(min_length=1, max_length=200)
    """Identifies the folder, such as a digest of its config and first record; importing it again continues the import.
    """
    config: JsonObject
    """The folder's config.json."""
    attempts: int = Field(ge=1, le=100_000)
    """Number of the newest attempt in the folder."""
    tags: Sequence[Text] = Field(default=(), max_length=50)
    notes: Text = Field(default="", max_length=100_000)
    group: Name | None = Field(default=None, max_length=200)
    project: Text | None = Field(default=None, max_length=200)
    """Name of the run's project; empty: the caller's only or first one."""
    live: StrictBool = False
    """The run of another trainer that is still training: it counts as running while it is heard of."""


class ImportInfo(Body):
    """The imported run, and the token for uploading its lines."""

    run_id: str
    fencing_token: int
    is_new: bool
    """False if the folder was imported before; the upload then adds what is missing."""
    lease_seconds: float = 25.0
    """A live run has failed where nothing is heard of it for so long."""
