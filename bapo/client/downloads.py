"""Fetches an artifact: waits until it is packed, streams it to a file, resumes an interrupted download."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from bapo.api.artifacts import ArtifactInfo
from bapo.client import Client, error_of
from bapo.client.call import run_path
from bapo.client.core import unreachable

POLL_SECONDS = 0.5
ATTEMPTS = 5
"""Tries at a download that breaks off without a further byte."""

Progress = Callable[[ArtifactInfo, int], None]
"""Called with the artifact and the number of bytes received."""


class DownloadError(Exception):
    """An artifact cannot be had; the message is for people."""


def wait_until_ready(
    client: Client, artifact: ArtifactInfo, timeout_seconds: float, progress: Progress | None = None
) -> ArtifactInfo:
    """Ask until the file is there. Raises DownloadError where it will not be, or not in time."""
    deadline = time.monotonic() + timeout_seconds
    while artifact.state in ("requested", "preparing"):
        if time.monotonic() > deadline:
            raise DownloadError(f"{artifact.file_name} is not ready yet: {artifact.reason}")
        if progress is not None:
            progress(artifact, 0)
        time.sleep(POLL_SECONDS)
        artifact = client.artifact(artifact.run_id, artifact.id)
    if artifact.state != "ready":
        raise DownloadError(f"{artifact.file_name} cannot be had: {artifact.reason}")
    return artifact


def download(client: Client, artifact: ArtifactInfo, target: Path, progress: Progress | None = None) -> None:
    """Write the file, in constant memory; what is there of an earlier try is kept.

    Raises DownloadError where what arrived has another checksum, ApiError where the server refuses,
    UnreachableError where it is away.
    """
    partial = target.with_name(f"{target.name}.part")
    for tries_left in reversed(range(ATTEMPTS)):
        try:
            _fetch(client, artifact, partial, progress)
            break
        except httpx.RequestError as error:
            if not tries_left:
                raise unreachable(client.http, error) from None
    with partial.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != artifact.sha256:
            partial.unlink()
            raise DownloadError(f"{target.name} was damaged on its way: download it again")
    partial.replace(target)


def _fetch(client: Client, artifact: ArtifactInfo, partial: Path, progress: Progress | None) -> None:
    size = partial.stat().st_size if partial.exists() else 0
    if size == artifact.num_bytes and size:
        return
    headers = {"Range": f"bytes={size}-", "If-Range": f'"{artifact.sha256}"'} if size else {}
    path = run_path(artifact.run_id, "artifacts", artifact.id, "content")
    with client.http.stream("GET", path, headers=headers) as response:
        if not response.is_success:
            response.read()
            raise error_of(response)
        with partial.open("ab" if response.status_code == 206 else "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
                if progress is not None:
                    progress(artifact, file.tell())
