"""Collects the facts of the diagnosis; `bapo doctor` judges them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import redis
from sqlalchemy import text
from sqlalchemy.orm import Session

from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.identity.auth.openid.provider import Provider
from backend.identity.auth.openid.refusals import SignInRefusedError
from backend.ops.migrate import revisions
from backend.ops.readiness import has_leader
from backend.settings.environment import Settings
from backend.workers import repository as workers
from backend.workers.repository import WorkerRow
from bapo import __version__
from bapo.api.service import (
    BrokerFacts,
    DatabaseFacts,
    Diagnosis,
    FolderFacts,
    SecretFile,
    SingleSignOnFacts,
    WorkerFacts,
)
from bapo.api.workers import Delivery
from bapo.run.run_folder import MARK_FILE, mark_of

_DATABASE = text("""
    SELECT current_setting('server_version') AS version,
           (SELECT count(*) FROM pg_stat_activity) AS used,
           current_setting('max_connections')::int AS most,
           pg_database_size(current_database()) AS bytes,
           clock_timestamp() AS now
""")


def diagnose(session: Session, settings: Settings, dispatcher: Dispatcher, provider: Provider | None) -> Diagnosis:
    """Ask the database, the broker, the disk and the provider of single sign-on."""
    row = session.execute(_DATABASE).one()
    found, needed = revisions(session.connection())
    mark = write_mark(settings.runs_dir)
    return Diagnosis(
        version=__version__,
        now=row.now,
        public_url=settings.public_url,
        hosts=sorted(settings.hosts),
        runs_dir_shared=settings.runs_dir_shared,
        dispatcher_alive=has_leader(session),
        database=DatabaseFacts(
            version=row.version,
            revision=found,
            needed_revision=needed,
            connections=row.used,
            max_connections=row.most,
            size_bytes=row.bytes,
        ),
        broker=_broker(dispatcher),
        runs_dir=_folder(settings.runs_dir),
        secret_files=_secret_files(settings),
        workers=[_worker(each, row.now, mark) for each in workers.workers(session, settings.fresh_seconds)],
        single_sign_on=None if provider is None else examine(provider, settings),
    )


def _broker(dispatcher: Dispatcher) -> BrokerFacts:
    try:
        info = dispatcher.broker.info()
    except redis.RedisError as error:
        return BrokerFacts(reachable=False, problem=str(error))
    statuses = [info.get(name) for name in ("aof_last_write_status", "rdb_last_bgsave_status")]
    return BrokerFacts(
        reachable=True,
        version=info.get("redis_version"),
        maxmemory_policy=info.get("maxmemory_policy"),
        maxmemory_bytes=info.get("maxmemory"),
        used_memory_bytes=info.get("used_memory"),
        append_only=bool(info.get("aof_enabled")),
        write_failed=any(status not in (None, "ok") for status in statuses),
    )


def write_mark(folder: Path) -> int | None:
    """Return the number that identifies this folder, written if missing."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        # 48 bits, which a heartbeat's number holds exactly.
        with (folder / MARK_FILE).open("x", encoding="ascii") as handle:
            handle.write(str(secrets.randbits(48)))
    return mark_of(folder)


def _folder(folder: Path) -> FolderFacts:
    try:
        trial = folder / f".writable-{os.getpid()}"
        trial.write_bytes(b"")
        trial.unlink()
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return FolderFacts(path=str(folder), writable=False, problem=error.strerror or str(error))
    return FolderFacts(path=str(folder), writable=True, free_bytes=usage.free, total_bytes=usage.total)


def _secret_files(settings: Settings) -> list[SecretFile]:
    files = (settings.admin_token_file, settings.worker_token_file, settings.metrics_token_file)
    return [
        SecretFile(path=str(file), mode=f"{stat.S_IMODE(file.stat().st_mode):o}")
        for file in files
        if file is not None and file.exists()
    ]


def _worker(row: WorkerRow, now: datetime, mark: int | None) -> WorkerFacts:
    worker, system = row.worker, row.worker.system
    clock = system.get("clock_seconds")
    seen = system.get("runs_dir_mark")
    return WorkerFacts(
        name=worker.name,
        host=worker.host,
        version=worker.version,
        online=row.is_fresh,
        seconds_since_heartbeat=(now - worker.last_seen_at).total_seconds(),
        clock_skew_seconds=None if clock is None else clock - worker.last_seen_at.timestamp(),
        runs_dir_writable=_flag(system, "runs_dir_writable"),
        sees_runs_dir=None if seen is None or mark is None else int(seen) == mark,
        runs_dir_free_bytes=_whole(system, "runs_dir_free_bytes"),
        num_gpus=len(worker.gpus),
        delivery=cast(Delivery, worker.delivery),
    )


def _flag(system: Mapping[str, Any], name: str) -> bool | None:
    return bool(system[name]) if name in system else None


def _whole(system: Mapping[str, Any], name: str) -> int | None:
    return int(system[name]) if name in system else None


def examine(provider: Provider, settings: Settings) -> SingleSignOnFacts:
    """Fetch its documents again, and check whether it knows this server."""
    known = {"issuer": settings.oidc_issuer, "redirect_uri": settings.oidc_redirect_uri}
    try:
        metadata = provider.documents.metadata(renew=True)
        provider.documents.keys(renew=True)
        return SingleSignOnFacts(
            **known,
            client_problem=_client_problem(provider),
            accepts_redirect=provider.accepts_redirect(),
            ends_sessions=metadata.end_session_endpoint is not None,
            clock_skew_seconds=provider.documents.clock_skew_seconds,
        )
    except SignInRefusedError as error:
        return SingleSignOnFacts(**known, problem=error.cause)


def _client_problem(provider: Provider) -> str | None:
    """Return the problem if the provider rejects the client: only a known client learns that the code is wrong."""
    try:
        provider.exchange("doctor", "doctor")
    except SignInRefusedError as error:
        return error.cause if error.code == "client_refused" else None
    return None
