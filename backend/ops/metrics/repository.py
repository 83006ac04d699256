"""SQL of the state that Prometheus scrapes; counts only, no names."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

_STATUSES = text("SELECT status, count(*) FROM runs GROUP BY status")
_REASONS = text("SELECT coalesce(status_reason, '') AS reason, count(*) FROM runs WHERE status = 'queued' GROUP BY 1")
_WAITED = text("SELECT extract(epoch FROM now() - min(queued_at))::float8 FROM runs WHERE status = 'queued'")
_WORKERS = text("""
    SELECT last_seen_at > now() - make_interval(secs => :fresh) AS online, count(*), sum(slots),
        sum(jsonb_array_length(gpus))
    FROM workers GROUP BY 1
""")
_BUSY = text("SELECT count(*) FROM attempts WHERE state <> 'ended'")
_SILENCE = text("""
    SELECT max(extract(epoch FROM now() - coalesce(newest.at, runs.started_at, runs.created_at)))::float8
    FROM runs LEFT JOIN LATERAL (
        SELECT at FROM stream WHERE stream.run_id = runs.id ORDER BY id DESC LIMIT 1
    ) AS newest ON true
    WHERE runs.status = 'running'
""")
_SIZE = text("SELECT pg_database_size(current_database())")
_CONNECTIONS = text("SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity")


def runs_by_status(session: Session) -> dict[str, int]:
    """Return the number of runs in each state."""
    return {status: int(number) for status, number in session.execute(_STATUSES)}


def waiting_by_reason(session: Session) -> dict[str, int]:
    """Return the number of queued runs by the reason that people see."""
    return {reason: int(number) for reason, number in session.execute(_REASONS)}


def longest_wait(session: Session) -> float:
    """Return the longest wait of a queued run, in seconds."""
    return session.execute(_WAITED).scalar_one() or 0.0


def workers(session: Session, fresh_seconds: float) -> dict[bool, tuple[int, int, int]]:
    """Return the numbers of workers, of their slots and of their GPUs, for those online and for the others."""
    rows = session.execute(_WORKERS, {"fresh": fresh_seconds})
    return {online: (count, slots or 0, gpus or 0) for online, count, slots, gpus in rows}


def busy_slots(session: Session) -> int:
    """Return the number of slots in use or promised."""
    return int(session.execute(_BUSY).scalar_one())


def longest_silence(session: Session) -> float:
    """Return the seconds since the last news of the running run that has been silent for longest."""
    return session.execute(_SILENCE).scalar_one() or 0.0


def database_bytes(session: Session) -> int:
    """Return the size of the database on its disk."""
    return int(session.execute(_SIZE).scalar_one())


def connections(session: Session) -> tuple[int, int]:
    """Return the number of connections to the database server, and its maximum."""
    used, most = session.execute(_CONNECTIONS).one()
    return int(used), int(most)
