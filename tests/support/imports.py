"""Runs that are imported record by record, or whole from their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bapo.api.imports import ImportCreate, ImportInfo
from bapo.client import Client
from bapo.config import RunConfig
from bapo.observe.upload import files_of
from bapo.records import AnyRecord, Record
from tests.support.journals import batch, lines_of

CONFIG = RunConfig().model_dump(mode="json")


def begin(client: Client, source: str, attempts: int = 1) -> ImportInfo:
    """Begin the import of a run with the default config."""
    return client.create_import(ImportCreate(name="imported", source=source, config=CONFIG, attempts=attempts))


def send(client: Client, info: ImportInfo, records: list[AnyRecord], *, start: int = 0, attempt: int = 1) -> int:
    """Send records from a byte offset on; return the offset that the server expects next."""
    body = batch(lines_of(records), token=info.fencing_token, start=start, attempt=attempt)
    return client.import_records(info.run_id, body).next_offset


def imported(client: Client, name: str, records: Sequence[Record], **config: Any) -> str:
    """Import a whole run of one attempt; return its identifier."""
    body = RunConfig.model_validate(config).model_dump(mode="json")
    info = client.create_import(ImportCreate(name=name, source=name, config=body, attempts=1))
    client.import_records(info.run_id, batch(lines_of(records), token=info.fencing_token, start=0))
    return client.finish_import(info.run_id).id


def send_folder(client: Client, info: ImportInfo, run_folder: Path) -> None:
    """Send every file of every attempt from where the server's copy ends."""
    for file in files_of(run_folder):
        while file.send_next(client, info):
            pass
