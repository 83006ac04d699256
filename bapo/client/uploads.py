"""Sends a file in parts, resuming an earlier try, or has the server fetch it; waits for the check."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from bapo.api.uploads import UploadCreate, UploadFinish, UploadInfo, UploadKind
from bapo.client import BapoError, Client

PART_BYTES = 4 * 1024 * 1024
ATTEMPTS = 6
"""Tries at a part; some ten seconds in all."""
FIRST_PAUSE_SECONDS = 0.25
POLL_SECONDS = 0.5

Progress = Callable[[UploadInfo], None]
"""Called with the upload after every part, and while it is checked."""


def upload_file(
    client: Client,
    path: Path,
    *,
    kind: UploadKind = "dataset",
    project: str | None = None,
    progress: Progress | None = None,
) -> UploadInfo:
    """Send the file and wait until it is checked. What an earlier try has sent of the same bytes is kept.

    Raises ApiError where the server refuses, OSError where the file cannot be read.
    """
    with path.open("rb") as file:
        num_bytes = file.seek(0, 2)
        body = UploadCreate(kind=kind, file_name=path.name, num_bytes=num_bytes, project=project)
        upload = client.begin_upload(body)
        digest = hashlib.sha256()
        file.seek(0)
        sent = 0
        for part in iter(lambda: file.read(min(PART_BYTES, upload.next_offset - file.tell())), b""):
            digest.update(part)
            sent = zlib.crc32(part, sent)
        if sent != upload.crc32:
            # Another file of the same name and size.
            client.delete_upload(upload.id)
            upload = client.begin_upload(body)
            digest = hashlib.sha256()
        while upload.state == "receiving" and upload.next_offset < num_bytes:
            file.seek(upload.next_offset)
            part = file.read(PART_BYTES)
            digest.update(part)
            upload = _send(client, upload, part)
            if progress is not None:
                progress(upload)
    upload = client.finish_upload(upload.id, UploadFinish(sha256=digest.hexdigest()))
    return wait_until_checked(client, upload, progress)


def _send(client: Client, upload: UploadInfo, part: bytes) -> UploadInfo:
    """Send a part until it has arrived. A part that had arrived already changes nothing."""
    pause = FIRST_PAUSE_SECONDS
    for tries_left in reversed(range(ATTEMPTS)):
        try:
            return client.upload_part(upload.id, upload.next_offset, zlib.crc32(part), part)
        except BapoError as error:
            if not tries_left or not (error.is_passing or error.code == "damaged"):
                raise
        time.sleep(pause)
        pause *= 2
    raise AssertionError("the last try raises")


def wait_until_checked(client: Client, upload: UploadInfo, progress: Progress | None = None) -> UploadInfo:
    """Ask until the server has fetched, where it does, and checked the upload."""
    while upload.state in ("fetching", "checking"):
        if progress is not None:
            progress(upload)
        time.sleep(POLL_SECONDS)
        upload = client.upload(upload.id)
    return upload
