"""Sets up a new installation: a project, an administrator, and two tokens in files that only their owner can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from sqlalchemy.orm import Session

from backend.identity.auth import repository
from backend.kit.principal import ALL_SCOPES, hash_of, new_secret, visible_prefix
from backend.models import Project, User
from backend.settings.environment import Settings

PROJECT = "default"
ADMIN = "admin"
LOCAL_WORKERS = "local workers"


def bootstrap(session: Session, settings: Settings) -> tuple[Project, User]:
    """Make what is missing; the tokens in the files are the valid ones."""
    project = repository.ensure_project(session, PROJECT)
    admin = repository.ensure_user(session, ADMIN, "admin")
    admin_token = token_in(settings.admin_token_file)
    worker_token = token_in(settings.worker_token_file)
    repository.ensure_token(
        session,
        name=ADMIN,
        kind="user",
        secret_hash=hash_of(admin_token),
        user_id=admin.id,
        scopes=ALL_SCOPES,
        prefix=visible_prefix(admin_token),
    )
    repository.ensure_token(
        session,
        name=LOCAL_WORKERS,
        kind="worker",
        secret_hash=hash_of(worker_token),
        user_id=None,
        scopes=("work",),
        prefix=visible_prefix(worker_token),
    )
    return project, admin


def token_in(file: Path) -> str:
    """Return the token that a file holds, written there first where the file is missing. Raises ValueError for a short
    one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, written = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(new_secret() + "\n")
    # Of several processes that start at once, one makes the file; none ever sees it half written.
    with suppress(FileExistsError):
        os.link(written, file)
    Path(written).unlink()
    token = file.read_text(encoding="utf-8").strip()
    if len(token) < len(new_secret()):
        raise ValueError(f"{file} holds no complete token: delete the file to have a new token written")
    return token
