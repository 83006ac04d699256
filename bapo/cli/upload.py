"""`bapo data upload`: sends a file or has the server fetch it, tells what the check found, registers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from bapo.api.uploads import Registered, UploadCheck, UploadFetch, UploadInfo, UploadKind, UploadRegister
from bapo.cli.failures import Exit, RefusedError
from bapo.cli.output import notes, say
from bapo.client import Client
from bapo.client.uploads import upload_file, wait_until_checked
from bapo.own_data.report import OPTIONAL, REQUIRED, ColumnMapping, DataTask

MODEL = ".zip"
ADDRESSES = ("https://", "http://", "hf://", "catalogue:")
"""Prefixes of addresses that the server fetches."""
MOST_SHOWN = 10
"""Rows that cannot be used that are listed."""


class Wishes(NamedTuple):
    """Options for registering a file."""

    name: str
    columns: Sequence[str]
    """Columns by field, as `prompt=question`."""
    verifier: str | None
    licence: str
    description: str
    project: str | None
    accepts_warnings: bool


def upload(client: Client, file: str, wishes: Wishes) -> Registered:
    """Send or fetch, check and register. Raises RefusedError; the upload is kept where a second try can help."""
    found = _arrived(client, file, wishes.project)
    if found.kind == "dataset" and found.state == "checked" and (wishes.columns or wishes.verifier):
        found = wait_until_checked(client, client.check_upload(found.id, _mapping(found.mapping, wishes)))
    _tell(found)
    _refuse(client, found, accepts_warnings=wishes.accepts_warnings)
    body = UploadRegister(
        name=wishes.name,
        licence=wishes.licence,
        description=wishes.description,
        accepts_warnings=wishes.accepts_warnings,
    )
    return client.register_upload(found.id, body)


def _arrived(client: Client, file: str, project: str | None) -> UploadInfo:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=notes(), transient=True, disable=not notes().is_terminal) as progress:
        task = progress.add_task(file, total=None)

        def show(upload: UploadInfo) -> None:
            stages = {"checking": "checking every row", "fetching": f"fetching {upload.file_name}"}
            description = stages.get(upload.state, f"sending {upload.file_name}")
            progress.update(task, total=upload.num_bytes or None, completed=upload.next_offset, description=description)

        if file.startswith(ADDRESSES):
            begun = client.fetch_upload(UploadFetch(url=file, project=project))
            return wait_until_checked(client, begun, show)
        path = Path(file)
        kind: UploadKind = "model" if path.suffix.lower() == MODEL else "dataset"
        try:
            return upload_file(client, path, kind=kind, project=project, progress=show)
        except OSError as error:
            raise RefusedError(f"FILE = {file}: it cannot be read ({error.strerror or error})") from None


def _mapping(proposed: ColumnMapping | None, wishes: Wishes) -> UploadCheck:
    """Return the proposed columns, replaced by those named on the command line. Raises RefusedError."""
    known = (*REQUIRED["file"], *OPTIONAL["file"], *REQUIRED["countdown"])
    given = {}
    for text in wishes.columns:
        ours, separator, theirs = text.partition("=")
        if ours not in known or not separator or not theirs:
            raise RefusedError(f"--column = {text!r}: give OURS=THEIRS, where OURS is one of {', '.join(known)}")
        given[ours] = theirs
    task: DataTask = "file" if proposed is None else proposed.task
    if given:
        task = "countdown" if "nums" in given else "file"
    parts = (*REQUIRED[task], *OPTIONAL[task])
    before = {} if proposed is None else {ours: theirs for ours, theirs in proposed.columns.items() if ours in parts}
    # A verifier that was proposed for problems of another task reads no answers of these.
    verifier = wishes.verifier or ("math" if proposed is None or proposed.task != task else proposed.verifier)
    return UploadCheck(task=task, columns={**before, **given}, verifier=verifier)


def _tell(found: UploadInfo) -> None:
    if found.mapping is not None:
        columns = ", ".join(f"{ours}={theirs}" for ours, theirs in found.mapping.columns.items()) or "none known"
        say(f"columns: {columns}; verifier {found.mapping.verifier}")
    if found.report is None:
        return
    say(f"{found.report.num_kept:,} of {found.report.num_rows:,} rows can be registered")
    for bad in found.report.bad_rows[:MOST_SHOWN]:
        say(f"row {bad.row:,}: {bad.reason}")
    for remark in found.report.remarks:
        say(f"{remark.severity}: {remark.text}")


def _refuse(client: Client, found: UploadInfo, *, accepts_warnings: bool) -> None:
    """Raise RefusedError if the upload cannot be registered."""
    if found.problem is not None:
        client.delete_upload(found.id)
        raise RefusedError(f"FILE = {found.file_name}: {found.problem}")
    if found.kind == "model":
        return
    if found.report is None:
        columns = ", ".join(found.preview.choices) if found.preview is not None else "none"
        missing = " and ".join(f"--column {name}=COLUMN" for name in (found.mapping.missing if found.mapping else ()))
        raise RefusedError(f"no column is known to be what is needed: name it by {missing} (found: {columns})")
    if found.report.is_refused:
        raise RefusedError("nothing is registered: name other columns or another verifier, or correct the file")
    if found.report.warnings and not accepts_warnings:
        raise RefusedError(
            "nothing is registered yet: run the command again with --yes, once you have read the warnings", Exit.FAILED
        )
