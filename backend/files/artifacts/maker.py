"""Makes the downloads that the server builds from its own records, and expires all downloads."""

from __future__ import annotations

import logging
import shutil
import tempfile
from pathlib import Path
from typing import cast

from backend.files.artifacts import repository, service
from backend.files.artifacts.rebuilt_folder import rebuild
from backend.files.artifacts.store import ArtifactStore
from backend.kit.database import Database
from backend.models import Artifact, Run
from backend.settings.environment import Settings
from bapo.run.artifacts import ArtifactError, ArtifactKind, pack

LOG = logging.getLogger(__name__)

MAKING = ".making-"
"""Begins the names of the folders in which artifacts are made."""
BATCH = 50


class ArtifactMaker:
    """Used by one server at a time."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._store = ArtifactStore(settings.artifact_store)

    def make_next(self) -> bool:
        """Make the artifact that waits longest; whether there was one."""
        with self._database.session() as session, session.begin():
            artifact = repository.of_server(session)
            if artifact is None:
                return False
            artifact.state = "preparing"
            artifact.reason = "the server is making it"
        try:
            self._make(artifact)
        except ArtifactError as error:
            self._fail(artifact.id, str(error))
        except OSError as error:
            LOG.warning("an artifact is not made", extra={"artifact_id": artifact.id, "cause": str(error)})
            self._fail(artifact.id, f"the server's disk failed: {error.strerror}")
        return True

    def _make(self, artifact: Artifact) -> None:
        target = self._store.partial(artifact.id)
        with tempfile.TemporaryDirectory(prefix=MAKING, dir=self._settings.artifact_store) as name:
            folder = Path(name) / artifact.run_id
            folder.mkdir()
            with self._database.session() as session:
                run = session.get(Run, artifact.run_id)
                if run is None:
                    return
                rebuild(session, run, folder)
            out = Path(name) / artifact.file_name
            packed = pack(folder, cast(ArtifactKind, artifact.kind), artifact.step, out)
            out.replace(target)
        with self._database.session() as session, session.begin():
            current = repository.lock(session, artifact.id)
            if current is not None and self._store.complete(artifact.id, packed.num_bytes, packed.sha256):
                service.make_ready(session, current, packed.num_bytes, packed.sha256, self._settings)

    def _fail(self, artifact_id: str, reason: str) -> None:
        with self._database.session() as session, session.begin():
            artifact = repository.lock(session, artifact_id)
            if artifact is not None:
                service.fail(artifact, reason, self._store)

    def expire(self) -> None:
        """Delete the files whose time is over."""
        with self._database.session() as session, session.begin():
            for artifact in repository.expired(session, BATCH):
                artifact.state = "expired"
                artifact.reason = "the file was deleted"
                self._store.remove(artifact.id)

    def sweep(self) -> None:
        """Delete files that belong to no artifact any more, as those of a run that was deleted."""
        present = list(self._store.identifiers())
        with self._database.session() as session:
            wanted = repository.with_files(session, present)
        for artifact_id in set(present) - wanted:
            self._store.remove(artifact_id)

    def clean_up(self) -> None:
        """Delete what a server left that was killed while it made an artifact."""
        if self._settings.artifact_store.is_dir():
            for folder in self._settings.artifact_store.glob(f"{MAKING}*"):
                shutil.rmtree(folder, ignore_errors=True)
