"""Writers of several runs' storage rows lock them in one order, so that none of them waits for another in a circle."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

from backend.files.storage import repository
from backend.kit.database import Database
from backend.models import Run, RunStorage
from bapo.api.runs import RunCreate
from bapo.client import Client
from tests.support.services import wait_until


def _lowest_measured_last(session: Session, low: str, high: str) -> None:
    session.execute(delete(RunStorage))
    session.add(RunStorage(run_id=high))
    session.flush()
    earlier = func.now() - func.make_interval(0, 0, 0, 0, 1)
    session.add(RunStorage(run_id=low, database_measured_at=earlier, folder_measured_at=earlier))
    session.execute(update(Run).values(finished_at=func.now(), host="a-machine"))


@pytest.mark.parametrize("writer", [repository.measure_records, repository.mark_folders_due])
def test_a_round_waits_for_the_lowest_run_without_holding_a_higher_one(
    admin: Client, database: Database, writer: Callable[[Session], None]
) -> None:
    low, high = sorted(admin.create_run(RunCreate(name=name, recipe="countdown-demo")).id for name in "ab")
    with database.session() as session, session.begin():
        _lowest_measured_last(session, low, high)

    def write() -> None:
        with database.session() as session, session.begin():
            writer(session)

    thread = threading.Thread(target=write)
    with database.session() as worker, worker.begin():
        # What a worker does that reports folder sizes: the lowest first.
        worker.execute(update(RunStorage).where(RunStorage.run_id == low).values(folder_bytes=1))
        thread.start()
        waiting = text(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        with database.session() as observer:
            wait_until(lambda: bool(observer.scalar(waiting)))
        worker.execute(text("SET LOCAL lock_timeout = '5s'"))
        worker.execute(update(RunStorage).where(RunStorage.run_id == high).values(folder_bytes=2))
    thread.join()
    with database.session() as session:
        rows = select(RunStorage.run_id, RunStorage.folder_bytes).where(RunStorage.run_id.in_([low, high]))
        assert dict(session.execute(rows).all()) == {low: 1, high: 2}
