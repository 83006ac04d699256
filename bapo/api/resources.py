"""Data sets, models and verifiers that are registered under a name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from bapo.api.base import Body, Page, Text

ResourceKind = Literal["dataset", "model", "verifier"]


class ResourceCreate(Body):
    """Register a file or folder under a name."""

    kind: ResourceKind
    name: Text = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", examples=["planning"])
    """Configs refer to it as `@name`."""
    path: Text = Field(min_length=1, max_length=4_000, examples=["/data/countdown/train.parquet"])
    """File or folder beneath one of the deployment's permitted roots, as the workers see it too."""
    function: Text | None = Field(default=None, max_length=200, examples=["reward"])
    """Of a verifier: the function in the file, `reward(problem, response) -> int`."""
    description: Text = Field(default="", max_length=10_000)
    project: Text | None = Field(default=None, max_length=200)
    """Whose runs may refer to it; empty: the caller's only one, or the first."""


class ResourceInfo(Body):
    """A registered data set, model or verifier."""

    id: str
    kind: ResourceKind
    name: str
    path: str
    function: str | None
    description: str
    author: str
    created_at: datetime
    details: dict[str, Any]
    """What was found in it: rows, columns and bytes of a data set; architecture and parameters of a model."""
    fields: Sequence[str]
    """Config fields that may refer to it."""
    num_runs: int
    """Runs that use it, whether they were submitted by its name or by its path."""
    is_present: bool
    """Whether the file or folder is there now."""
    may_remove: bool
    """Whether the caller may take the name away; the file stays."""
    project: str = ""
    """Whose runs may refer to it."""


class ResourcePage(Page):
    """All registered resources, by kind and name."""

    items: Sequence[ResourceInfo]
    roots: Sequence[str]
    """Folders beneath which a resource may lie; empty where the deployment permits none."""


class ResourceRun(Body):
    """A run that uses a resource."""

    id: str
    name: str
    status: str
    field: str
    """The config field that names it."""
    created_at: datetime


class ResourceUse(Page):
    """Runs that use a resource, newest first, at most 200."""

    items: Sequence[ResourceRun]


class ResourcePreview(Body):
    """What is in a resource."""

    columns: Sequence[str]
    """Of a data set, and `field`, `value` of a model; empty for a verifier."""
    rows: Sequence[Sequence[Any]]
    """JSON values; long ones are cut, and say so."""
    num_rows: int | None
    """Rows in all, where they were counted."""
    text: str | None
    """Source of a verifier."""


class ResourceFile(Body):
    """Something beneath a permitted root that can be registered."""

    path: str
    num_bytes: int
    registered_as: str | None


class ResourceFilePage(Page):
    """Files that can be registered, by path, at most 1,000."""

    items: Sequence[ResourceFile]
