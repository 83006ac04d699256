"""Sends a run folder to a server line by line; the server's byte offset decides what is next.

What `bapo import` does once, an observed run that is shown live does again and again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.workers import RecordBatch
from bapo.client import Client
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.observe.folder import OBSERVATION
from bapo.run.journal import RECORDS_FILE, attempt_folders, complete_lines
from bapo.run.line_reader import ATTEMPT_FILES, FileKind, read_lines
from bapo.run.run_folder import read_config


def describe_folder(
    run_folder: Path, *, name: str | None, group: str | None, project: str | None = None, live: bool = False
) -> ImportCreate:
    """Return the request that starts the import. Raises ConfigError where the folder is not that of a run."""
    config = read_config(run_folder)
    attempts = attempt_folders(run_folder)
    if not attempts:
        raise ConfigError([ConfigProblem("run folder", str(run_folder), "it holds no attempt: train the run first")])
    return ImportCreate(
        name=name or _recorded_name(attempts[0]) or run_folder.resolve().name,
        source=_identity(config, attempts[0]),
        config=config.model_dump(mode="json"),
        attempts=_number(attempts[-1]),
        group=group,
        project=project,
        live=live,
    )


def _recorded_name(first_attempt: Path) -> str | None:
    """Return the name that an observed run was given; None if its first record contains none."""
    name = _start_data(first_attempt).get("name")
    return name if isinstance(name, str) and 0 < len(name) <= 200 else None


def _start_data(attempt_folder: Path) -> Mapping[str, Any]:
    """Return the data of an attempt's first record; empty where it has none."""
    first = next(complete_lines(attempt_folder / RECORDS_FILE), b"{}")
    try:
        content = orjson.loads(first)
    except orjson.JSONDecodeError:
        return {}
    data = content.get("data") if isinstance(content, dict) else None
    return data if isinstance(data, dict) else {}


def refuse_other_copy(client: Client, info: ImportInfo, run_folder: Path) -> None:
    """Raise ConfigError if the server has an attempt of this number from another copy of an observed folder.

    Files are sent by byte offset: the rest of one would be added to the beginning of the other.
    """
    if info.is_new:
        return
    for folder in attempt_folders(run_folder):
        ours, number = _start_data(folder).get(OBSERVATION), _number(folder)
        events = client.records(info.run_id, type="event", limit=500).items
        theirs = next(
            (each["data"].get(OBSERVATION) for each in events if each["attempt"] == number and each.get("data")), None
        )
        if ours is not None and theirs is not None and ours != theirs:
            remedy = (
                f"the server has an attempt {number} of run {info.run_id} from another copy of this folder: send it to "
                "a different project, or train on in one copy only"
            )
            raise ConfigError([ConfigProblem("run folder", str(run_folder), remedy)])


def _identity(config: RunConfig, first_attempt: Path) -> str:
    """Return the run's identity, wherever its folder lies: its config and its first record, which holds a time.

    The first record of an observed run contains an identity; its config is completed with its first step.
    """
    known = config.model_dump(mode="json") if config.method.is_trainable else {}
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
    for line in islice(complete_lines(first_attempt / RECORDS_FILE), 1):
        digest.update(line)
    return digest.hexdigest()


def _number(attempt_folder: Path) -> int:
    return int(attempt_folder.name.removeprefix("attempt-"))


@dataclass(slots=True)
class SentFile:
    """A file of an attempt, and how much of it the server has."""

    attempt: int
    kind: FileKind
    path: Path
    offset: int | None = None
    """Next byte that the server expects; None where it must be asked."""

    def send_next(self, client: Client, info: ImportInfo) -> bool:
        """Send one batch of new lines; whether there were any. Raises what the client raises, and may be repeated."""
        if self.offset is None:
            if not self.path.exists():
                return False
            self.offset = self._post(client, info, 0, 0, ())
        batch = read_lines(self.path, self.offset)
        if batch is None:
            return False
        # Whatever happens to the request, the server knows how far it is.
        self.offset = None
        self.offset = self._post(client, info, batch.start_offset, batch.end_offset, batch.lines)
        return True

    def _post(self, client: Client, info: ImportInfo, start: int, end: int, lines: Sequence[str]) -> int:
        batch = RecordBatch(
            fencing_token=info.fencing_token,
            attempt=self.attempt,
            kind=self.kind,
            start_offset=start,
            end_offset=end,
            lines=lines,
        )
        return client.import_records(info.run_id, batch).next_offset

    def ask(self, client: Client, info: ImportInfo) -> None:
        """Ask how far the server is, which also tells it that the writer of the file is alive."""
        self.offset = self._post(client, info, 0, 0, ())


def files_of(run_folder: Path) -> list[SentFile]:
    """Return the files of all attempts that a server stores, in their order."""
    return [
        SentFile(_number(folder), kind, folder / file_name)
        for folder in attempt_folders(run_folder)
        for kind, file_name in ATTEMPT_FILES.items()
    ]
