"""Fetches uploaded data and models that a run names, where this machine does not see the server's folder of uploads."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import httpx

from bapo.api.workers import ContentFile, RunContent
from bapo.client import ApiError, Client, error_of
from bapo.client.call import run_path

log = logging.getLogger(__name__)


class ContentError(OSError):
    """Content cannot be had now; the message is for people."""


def fetch_contents(client: Client, run_id: str, contents: Sequence[RunContent]) -> None:
    """Provide every file at its path: from shared storage, from an earlier run, or by downloading it now.

    Raises ContentError if a file cannot be fetched, and OSError if the disk refuses it.
    """
    for content in contents:
        for file in content.files:
            if not _is_there(file):
                _fetch(client, run_id, file)


def _is_there(file: ContentFile) -> bool:
    try:
        return Path(file.path).stat().st_size == file.num_bytes
    except (FileNotFoundError, NotADirectoryError):
        return False


def _fetch(client: Client, run_id: str, file: ContentFile) -> None:
    target = Path(file.path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Runs of this machine may fetch the same file at the same time; the last one replaces it by the same bytes.
    partial = target.with_name(f".{target.name}.{os.getpid()}-{run_id}.part")
    digest = hashlib.sha256()
    try:
        path = f"/workers{run_path(run_id, 'contents', file.sha256)}"
        with client.http.stream("GET", path) as response, partial.open("wb") as out:
            if not response.is_success:
                response.read()
                raise error_of(response)
            for chunk in response.iter_bytes():
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != file.sha256:
            raise ContentError(f"{target.name} was damaged on its way from the server")
        partial.replace(target)
    except (httpx.TransportError, ApiError) as error:
        raise ContentError(f"{target.name} cannot be fetched from the server: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    log.info("run %s: fetched %s, %d bytes", run_id, file.path, file.num_bytes)
