"""Backup and restore of a data folder of `bapo up`, whether it is up or not."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bapo.deploy.backup import archive, database
from bapo.deploy.backup.archive import BackupError, BackupWriter, Manifest
from bapo.deploy.processes import without_foreign_variables
from bapo.deploy.up.folder import DataFolder, StartError
from bapo.deploy.up.leftovers import end_leftovers
from bapo.deploy.up.postgres import EmbeddedPostgres
from bapo.deploy.up.services import Addresses, run_backend
from bapo.deploy.up.supervision import Supervisor
from bapo.run.run_folder import RESTORING_FILE, unfinished_restore


@dataclass(frozen=True, slots=True)
class Deployment:
    """The parts of a server."""

    database_url: str
    runs_dir: Path
    secrets: tuple[Path, ...] = ()
    resources: Path | None = None


def back_up(deployment: Deployment, file: Path) -> Manifest:
    """Write a backup of a server, running or not. Raises BackupError."""
    revision = database.revision(deployment.database_url)
    if revision is None:
        raise BackupError("the database holds no runs: there is nothing to back up")
    with BackupWriter(file) as writer:
        dumped = writer.place / archive.DATABASE
        database.dump(deployment.database_url, dumped)
        writer.add(archive.DATABASE, dumped)
        for secret in deployment.secrets:
            writer.add(f"{archive.SECRETS}/{secret.name}", secret)
        num_runs = writer.add_runs(deployment.runs_dir)
        if deployment.resources is not None:
            writer.add_folder(archive.RESOURCES, deployment.resources)
        return writer.finish(revision, num_runs)


def restore(deployment: Deployment, file: Path) -> Manifest:
    """Fill an empty server from a backup. Raises BackupError; nothing is changed unless the backup is whole.

    An interrupted restore starts from the beginning; until it has finished, no server starts with the folder.
    """
    manifest = archive.read_manifest(file)
    database.check_empty(deployment.database_url)
    runs = [path for path in deployment.runs_dir.glob("*") if path.is_dir()]
    if runs and unfinished_restore(deployment.runs_dir) is None:
        raise BackupError(f"{deployment.runs_dir} holds runs already: restore into an empty folder")
    with _restoring(deployment.runs_dir):
        for half in runs:
            shutil.rmtree(half)
        _fill(deployment, file)
    return manifest


def _fill(deployment: Deployment, file: Path) -> None:
    archive.extract(file, archive.RUNS, deployment.runs_dir)
    if deployment.resources is not None:
        archive.extract(file, archive.RESOURCES, deployment.resources)
    for secret in deployment.secrets:
        # Each into its own place only: a worker's folder shall not hold the administrator's token.
        archive.extract_secret(file, secret)
    # Last, whole or not at all: as long as the database is empty, an interrupted restore can be repeated.
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=deployment.runs_dir) as place:
        dumped = Path(place) / archive.DATABASE
        archive.extract(file, archive.DATABASE, dumped)
        database.restore(deployment.database_url, dumped)


@contextmanager
def _restoring(runs_dir: Path) -> Iterator[None]:
    """Mark the folder of runs; the mark stays where the restore fails, or is killed."""
    runs_dir.mkdir(parents=True, exist_ok=True)
    mark = runs_dir / RESTORING_FILE
    mark.touch()
    yield
    mark.unlink()


@contextmanager
def deployment_of(folder: DataFolder) -> Iterator[Deployment]:
    """Yield a data folder's parts, with its PostgreSQL up: started unless `bapo up` is running. Raises StartError."""
    with without_foreign_variables():
        postgres = EmbeddedPostgres(folder)
        deployment = Deployment(postgres.url, folder.runs, (folder.admin_token, folder.worker_token), folder.resources)
        if postgres.is_ready():
            yield deployment
            return
        supervisor = Supervisor(folder, lambda _: None, threading.Event())
        folder.lock("backup or restore")
        try:
            postgres.prepare()
            child = supervisor.start(postgres.spec())
            supervisor.wait_until(child, postgres.is_ready)
            yield deployment
        finally:
            supervisor.stop_all()
            folder.unlock()


def back_up_folder(data: Path, file: Path) -> Manifest:
    """Write a backup of a data folder. Raises BackupError and StartError."""
    folder = DataFolder(data)
    unfinished = unfinished_restore(folder.runs)
    if unfinished is not None:
        raise BackupError(unfinished)
    if not (folder.postgres / "PG_VERSION").exists():
        raise BackupError(f"{folder.path} is not a data folder of `bapo up`: give it with --data")
    with deployment_of(folder) as deployment:
        return back_up(deployment, file)


def restore_folder(data: Path, file: Path) -> Manifest:
    """Make a data folder from a backup and bring its schema up to date. Raises BackupError and StartError."""
    folder = DataFolder(data)
    is_half = unfinished_restore(folder.runs) is not None
    if not is_half and folder.path.exists() and any(folder.path.iterdir()):
        raise BackupError(f"{folder.path} is not empty: name a new folder with --data")
    manifest = archive.read_manifest(file)
    if is_half:
        _clear(folder)
    with _restoring(folder.runs):
        folder.prepare()
        with deployment_of(folder) as deployment:
            _fill(deployment, file)
            _migrate(folder, deployment)
        # What a first start submits is not submitted again.
        folder.started_before.touch()
    return manifest


def _clear(folder: DataFolder) -> None:
    """Remove what a restore that was cut short has left, its database server first. Raises StartError."""
    folder.lock("restore")
    try:
        end_leftovers(folder.processes)
        for path in [*folder.path.iterdir(), *folder.runs.iterdir()]:
            if path in (folder.runs, folder.runs / RESTORING_FILE):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    finally:
        folder.unlock()


def _migrate(folder: DataFolder, deployment: Deployment) -> None:
    addresses = Addresses(8000, 8001, deployment.database_url, "redis://127.0.0.1:1/0")
    try:
        run_backend(folder, addresses, "migrate")
    except StartError as error:
        raise StartError(f"the restored database could not be brought up to date: {error}") from None
