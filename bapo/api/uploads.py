"""Uploads of data sets and models: parts by byte offset, the check of the whole, registration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field, StrictBool

from bapo.api.base import Body, Page, Text
from bapo.config import patterns
from bapo.own_data.report import ColumnMapping, DataPreview, DataReport, DataTask

UploadKind = Literal["dataset", "model"]
UploadState = Literal["receiving", "fetching", "checking", "checked", "failed"]
"""`receiving`: until its last byte; `fetching`: the server gets it from its `source`; `checking`: the server reads it;
`checked`: it can be registered if the report has no problem; `failed`: it could not be fetched, or is not what its name
says, and has been deleted."""
MOST_BYTES = 2**62


class UploadCreate(Body):
    """Begin an upload, or go on with one."""

    kind: UploadKind = "dataset"
    file_name: Text = Field(min_length=1, max_length=500, examples=["gsm8k.jsonl"])
    """A data set ends in `.jsonl`, `.csv` or `.parquet`; a model is a `.zip` of its
    folder in Hugging Face format, with safetensors."""
    num_bytes: int = Field(ge=1, le=MOST_BYTES, examples=[4_200_000])
    """Size of the whole file."""
    project: Text | None = Field(default=None, max_length=200)
    """Project that will have it; empty: the caller's only or first one."""


class UploadFetch(Body):
    """Have the server fetch a file."""

    url: Text = Field(min_length=1, max_length=4_000, examples=["hf://datasets/openai/gsm8k/main/train.parquet"])
    """`https://…` or `http://…` of a host in `fetch_hosts`, or of the hub: `hf://OWNER/NAME[@REVISION]` for a model
    with all its shards, `hf://datasets/OWNER/NAME[@REVISION]` for data in several files, with `/FOLDER` or `/PATTERN*`
    where it holds several sets, and either with `/FILE` for one file; `catalogue:NAME` for a model of `catalogue`."""
    file_name: Text | None = Field(default=None, min_length=1, max_length=500, examples=["gsm8k.parquet"])
    """File name with its ending, as in `POST /uploads`; by default the last part of the address's path."""
    project: Text | None = Field(default=None, max_length=200)
    """Project that will have it; empty: the caller's only or first one."""


class UploadFinish(Body):
    """Every byte is there."""

    sha256: Text | None = Field(default=None, pattern=patterns.SHA256)
    """SHA-256 of the whole file; compared if given."""


class UploadCheck(Body):
    """Check again, with other columns or another verifier."""

    task: DataTask = "file"
    columns: Mapping[Text, Text] = Field(max_length=20, examples=[{"prompt": "question", "answer": "answer"}])
    """Our column → the file's."""
    verifier: Text = Field(default="math", min_length=1, max_length=4_000)
    """Verifier of the responses, as in `task.verifier`."""


class UploadRegister(Body):
    """Register a checked upload under a name."""

    name: Text = Field(min_length=1, max_length=100, pattern=patterns.NAME, examples=["planning"])
    """Configs refer to it as `@name`. Under a name that an upload has already, other content is its next version."""
    description: Text = Field(default="", max_length=10_000)
    licence: Text = Field(default="", max_length=200, examples=["MIT"])
    """Licence of the data or the model."""
    accepts_warnings: StrictBool = False
    """True if the user has read the report's warnings; required if it has some."""


class UploadInfo(Body):
    """An upload that is not registered yet."""

    id: str
    kind: UploadKind
    file_name: str
    project: str
    author: str
    source: str | None = None
    """Address from which the server fetches it, without its query; null for a file that was sent."""
    num_bytes: int
    """0 while a source has not said it."""
    next_offset: int
    """Bytes received; the next part begins here."""
    crc32: int
    """CRC-32 of the bytes received, so that a resuming client can check that the file is the same."""
    piece_bytes: int
    """Largest part that is taken."""
    state: UploadState
    problem: str | None = None
    """Why it failed."""
    preview: DataPreview | None = None
    mapping: ColumnMapping | None = None
    """The columns that the report is about; proposed by the server until the caller sets others."""
    report: DataReport | None = None
    """Null while a column is missing from the mapping, and for models."""
    details: Mapping[str, object] = {}
    """Architecture, parameters and files of a model."""
    suggested_name: str
    created_at: datetime
    expires_at: datetime
    """Time at which it is deleted, unless it is resumed or registered."""


class CatalogueEntry(Body):
    """A pretrained model that the server fetches by its name."""

    name: str
    title: str
    about: str
    licence: str
    num_parameters: int
    context_tokens: int
    num_bytes: int
    """Size of the download."""


class UploadPage(Page):
    """The caller's uploads that are not registered yet, newest first."""

    items: Sequence[UploadInfo]
    max_bytes: int
    """Largest file that is taken."""
    quota_bytes: int
    """Maximum size of a project's files, unfinished uploads included."""
    used_bytes: Mapping[str, int]
    """By project."""
    fetch_hosts: Sequence[str]
    """Hosts that the server fetches files from; empty: none, `*`: any public one."""
    catalogue: Sequence[CatalogueEntry] = ()
    """Models that `POST /uploads/fetch` takes as `catalogue:NAME`; empty where the deployment permits none."""


class Registered(Body):
    """The registered name and version."""

    resource_id: str
    name: str
    version: int
    is_new: bool
    """False if the name had this content already."""
