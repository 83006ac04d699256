"""Registered data sets, models and verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from bapo.analysis.findings.finding import ProbeFigures
from bapo.api.base import Body, Page, Text
from bapo.config import patterns
from bapo.config.section import PathKind
from bapo.own_data.report import DataReport

ResourceKind = PathKind


class ResourceCreate(Body):
    """Register a file or folder under a name."""

    kind: ResourceKind
    name: Text = Field(min_length=1, max_length=100, pattern=patterns.NAME, examples=["planning"])
    """Configs refer to it as `@name`."""
    path: Text = Field(min_length=1, max_length=4_000, examples=["/data/countdown/train.parquet"])
    """File or folder in one of the deployment's permitted folders, at the path that workers see."""
    function: Text | None = Field(default=None, max_length=200, examples=["reward"])
    """Name of a verifier's function in the file, `reward(problem, response) -> int`."""
    description: Text = Field(default="", max_length=10_000)
    project: Text | None = Field(default=None, max_length=200)
    """Project whose runs may use it; empty: the caller's only or first one."""


class ResourceVersion(Body):
    """A version of an uploaded data set or model; configs name it as `@name:number`."""

    number: int
    sha256: str
    """SHA-256 of the content: the same content is the same version."""
    path: str
    num_bytes: int
    file_name: str
    """Name of the uploaded file."""
    licence: str
    author: str
    created_at: datetime
    details: dict[str, Any]
    report: DataReport | None = None
    """Findings of the check before registration."""


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
    """Rows, columns and bytes of a data set; architecture and parameters of a model."""
    fields: Sequence[str]
    """Config fields that may refer to it."""
    num_runs: int
    """Runs that use it by name or by path."""
    is_present: bool
    """True if the file or folder exists now."""
    may_remove: bool
    """True if the caller may remove it."""
    project: str = ""
    """Project whose runs may use it."""
    versions: Sequence[ResourceVersion] = ()
    """Versions of an uploaded resource, newest first; `@name` is the newest."""


class ResourcePage(Page):
    """All registered resources, by kind and name."""

    items: Sequence[ResourceInfo]
    roots: Sequence[str]
    """Folders that resources may be in; empty if the deployment permits none."""


class ResourceRun(Body):
    """A run that uses a resource."""

    id: str
    name: str
    status: str
    field: str
    """The config field that names it."""
    version: int | None = None
    """Version of an uploaded resource that the run uses."""
    created_at: datetime


class ResourceUse(Page):
    """Runs that use a resource, newest first, at most 200."""

    items: Sequence[ResourceRun]


class DataProbe(Body):
    """A probe that was made on a data set: what a model made of it before it was trained."""

    run_id: str
    """Run of the probe; its findings are the whole report."""
    name: str
    status: str
    version: int | None = None
    """Probed version of an uploaded data set."""
    model: str
    """Folder or name of the model that answered."""
    author: str
    created_at: datetime
    figures: ProbeFigures | None
    """Null while too few prompts are answered."""
    compute_hours: float | None
    """Approximate maximum for the planned run: GPU-hours, or slot-hours on the CPU."""
    cost: float | None
    """Cost of these hours at current prices."""
    currency: str
    unpriced: str | None
    """Why there is no cost."""


class DataProbes(Page):
    """Probes that were made on a data set, newest first, at most 50."""

    items: Sequence[DataProbe]


class ResourcePreview(Body):
    """Preview of a resource."""

    columns: Sequence[str]
    """Columns of a data set; `field`, `value` of a model; empty for a verifier."""
    rows: Sequence[Sequence[Any]]
    """JSON values; long ones are truncated and marked."""
    num_rows: int | None
    """Total number of rows, if counted."""
    text: str | None
    """Source of a verifier."""


class ResourceFile(Body):
    """A file or folder that can be registered."""

    path: str
    num_bytes: int
    registered_as: str | None


class ResourceFilePage(Page):
    """Files that can be registered, by path, at most 1,000."""

    items: Sequence[ResourceFile]
