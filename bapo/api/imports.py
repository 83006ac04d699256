"""Runs that were trained without a server."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from bapo.api.base import Body, JsonObject, Text


class ImportCreate(Body):
    """A run that was trained without a server."""

    name: Text = Field(min_length=1, max_length=200)
    source: Text = Field(min_length=1, max_length=200)
    """Identifies the folder, such as a digest of its config and first record: a second import continues the first."""
    config: JsonObject
    """The folder's config.json."""
    attempts: int = Field(ge=1, le=100_000)
    """Number of the newest attempt in the folder."""
    tags: Sequence[Text] = Field(default=(), max_length=50)
    notes: Text = Field(default="", max_length=100_000)
    group: Text | None = Field(default=None, max_length=200)
    project: Text | None = Field(default=None, max_length=200)
    """Name of the project that it belongs to; empty: the caller's only one, or the first."""


class ImportInfo(Body):
    """Where to post the folder's lines."""

    run_id: str
    fencing_token: int
    is_new: bool
    """False when the folder was imported before; its lines are then only completed."""
