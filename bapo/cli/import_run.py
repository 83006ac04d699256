"""`bapo import`: import a run that was trained without a server."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.workers import RecordBatch
from bapo.cli.connection import Server
from bapo.cli.failures import plain_errors
from bapo.cli.option_sets import with_option_sets
from bapo.client import Client
from bapo.config import ConfigError, ConfigProblem
from bapo.files.archive import ArchiveError, unpack
from bapo.run.journal import RECORDS_FILE, attempt_folders, complete_lines
from bapo.run.line_reader import ATTEMPT_FILES, FileKind, read_lines
from bapo.run.run_folder import read_config


@with_option_sets
def import_run(
    run_folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of `bapo train --out DIR`, or a downloaded journal.zip."),
    ],
    name: Annotated[str | None, typer.Option(help="Name in the run history. Default: the folder's.")] = None,
    group: Annotated[str | None, typer.Option(help="Group that the run belongs to.")] = None,
    *,
    server: Server,
) -> None:
    """Import a run that was trained without a server. Importing the folder again sends only what is new.

    The last line of standard output is a JSON summary.
    """
    with plain_errors():
        login = server.login()
        with _opened(run_folder) as folder:
            body = describe_folder(folder, name=name, group=group)
            with Client(login.url, token=login.token) as client:
                info = client.create_import(body)
                send_folder(client, info, folder)
                run = client.finish_import(info.run_id)
    print(json.dumps({"run_id": run.id, "status": run.status, "steps": run.step, "is_new": info.is_new}))


@contextmanager
def _opened(path: Path) -> Iterator[Path]:
    """The run folder; an archive is unpacked for the time being."""
    if not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(path, Path(folder))
        except ArchiveError as error:
            raise ConfigError([ConfigProblem("run folder", str(path), str(error))]) from None
        inside = list(Path(folder).iterdir())
        # The journal of a run lies in one folder with the run's name.
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else Path(folder)


def describe_folder(run_folder: Path, *, name: str | None, group: str | None) -> ImportCreate:
    """The request that starts the import. Raises ConfigError where the folder is not that of a run."""
    config = read_config(run_folder).model_dump(mode="json")
    attempts = attempt_folders(run_folder)
    if not attempts:
        raise ConfigError([ConfigProblem("run folder", str(run_folder), "it holds no attempt: train the run first")])
    return ImportCreate(
        name=name or run_folder.resolve().name,
        source=_identity(config, attempts[0]),
        config=config,
        attempts=int(attempts[-1].name.removeprefix("attempt-")),
        group=group,
    )


def _identity(config: dict[str, Any], first_attempt: Path) -> str:
    """Identifies the run wherever its folder lies, by its config and its first record, which holds a time."""
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for line in islice(complete_lines(first_attempt / RECORDS_FILE), 1):
        digest.update(line)
    return digest.hexdigest()


def send_folder(client: Client, info: ImportInfo, run_folder: Path) -> None:
    """Send every file of every attempt from where the server's copy ends."""
    files: list[tuple[int, FileKind, Path]] = [
        (int(folder.name.removeprefix("attempt-")), kind, folder / file_name)
        for folder in attempt_folders(run_folder)
        for kind, file_name in ATTEMPT_FILES.items()
    ]
    for number, kind, path in track(files, description="sending", console=Console(stderr=True), transient=True):
        offset = _post(client, info, number, kind, 0, 0, [])
        while (batch := read_lines(path, offset)) is not None:
            offset = _post(client, info, number, kind, batch.start_offset, batch.end_offset, list(batch.lines))


def _post(client: Client, info: ImportInfo, number: int, kind: FileKind, start: int, end: int, lines: list[str]) -> int:
    batch = RecordBatch(
        fencing_token=info.fencing_token,
        attempt=number,
        kind=kind,
        start_offset=start,
        end_offset=end,
        lines=lines,
    )
    return client.import_records(info.run_id, batch).next_offset
