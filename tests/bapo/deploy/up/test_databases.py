"""The embedded PostgreSQL and Redis, for real."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from kombu.connection import Connection

from backend.kit.database import Database
from bapo.deploy.processes import without_foreign_variables
from bapo.deploy.up import supervision
from bapo.deploy.up.folder import DataFolder
from bapo.deploy.up.leftovers import end_leftovers
from bapo.deploy.up.postgres import EmbeddedPostgres, open_path
from bapo.deploy.up.redis import EmbeddedRedis
from bapo.deploy.up.supervision import Supervisor
from tests.support.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture(params=["short", "long path " + "x" * 60, "my data+1%", 'odd, "\\#é'])
def data(request: pytest.FixtureRequest, place: Path) -> Iterator[DataFolder]:
    folder = DataFolder(place / request.param)
    folder.prepare()
    yield folder
    folder.unlock()


def test_postgres_keeps_its_data_over_a_restart(data: DataFolder, said: list[str]) -> None:
    for start in (1, 2):
        supervisor = Supervisor(data, said.append, threading.Event())
        postgres = EmbeddedPostgres(data)
        postgres.prepare()
        try:
            child = supervisor.start(postgres.spec())
            supervisor.wait_until(child, postgres.is_ready)
            engine = sqlalchemy.create_engine(postgres.url)
            with engine.begin() as connection:
                if start == 1:
                    connection.exec_driver_sql("CREATE TABLE kept AS SELECT 17 AS value")
                assert connection.exec_driver_sql("SELECT value FROM kept").scalar_one() == 17
                assert connection.exec_driver_sql("SHOW server_version_num").scalar_one().startswith("18")
            engine.dispose()
            database = Database(postgres.url)
            # The server listens to events over a connection of psycopg's.
            with psycopg.connect(database.conninfo) as connection:
                assert connection.execute("SELECT value FROM kept").fetchone() == (17,)
            database.close()
        finally:
            supervisor.stop_all()


def test_variables_of_another_database_and_another_broker_do_not_reach_ours(
    folder: DataFolder, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = {
        "PGOPTIONS": "-c search_path=foo",
        "PGPORT": "6000",
        "PGSERVICE": "mine",
        "PGHOSTADDR": "192.0.2.1",
        "CELERY_BROKER_URL": "redis://192.0.2.1",
        "DASH_URL_BASE_PATHNAME": "/other/",
    }
    for name, value in foreign.items():
        monkeypatch.setenv(name, value)
    supervisor = Supervisor(folder, said.append, threading.Event())
    with without_foreign_variables() as taken:
        assert taken == foreign
        postgres = EmbeddedPostgres(folder)
        postgres.prepare()
        try:
            child = supervisor.start(postgres.spec())
            supervisor.wait_until(child, postgres.is_ready)
        finally:
            supervisor.stop_all()
    assert os.environ["PGSERVICE"] == "mine"


def test_postgres_listens_on_no_network_and_on_a_socket_of_its_own(folder: DataFolder, supervisor: Supervisor) -> None:
    postgres = EmbeddedPostgres(folder)
    postgres.prepare()
    supervisor.wait_until(supervisor.start(postgres.spec()), postgres.is_ready)
    engine = sqlalchemy.create_engine(postgres.url)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW listen_addresses").scalar_one() == ""
    engine.dispose()
    assert stat.S_IMODE(folder.postgres.stat().st_mode) == 0o700


def test_postgres_left_by_a_killed_instance_is_stopped_and_starts_again(
    folder: DataFolder, supervisor: Supervisor
) -> None:
    postgres = EmbeddedPostgres(folder)
    postgres.prepare()
    child = supervisor.start(postgres.spec())
    supervisor.wait_until(child, postgres.is_ready)
    assert end_leftovers(folder.processes) == ["postgres"]
    again = supervisor.start(postgres.spec())
    supervisor.wait_until(again, postgres.is_ready)


def test_a_first_start_that_was_killed_half_way_begins_anew(folder: DataFolder, supervisor: Supervisor) -> None:
    (folder.postgres / "new" / "base").mkdir(parents=True)
    postgres = EmbeddedPostgres(folder)
    postgres.prepare()
    supervisor.wait_until(supervisor.start(postgres.spec()), postgres.is_ready)


def test_redis_carries_messages(data: DataFolder, said: list[str]) -> None:
    supervisor = Supervisor(data, said.append, threading.Event())
    redis = EmbeddedRedis(data)
    try:
        child = supervisor.start(redis.spec())
        supervisor.wait_until(child, redis.is_ready)
        with Connection(redis.url) as connection, connection.SimpleQueue("letters") as letters:
            letters.put({"run_id": "r1"})
            message = letters.get(timeout=PATIENCE_SECONDS)
            assert message.payload == {"run_id": "r1"}
            message.ack()
    finally:
        supervisor.stop_all()
    assert not redis.is_ready()


def test_redis_comes_back_where_its_folder_is_deleted(
    folder: DataFolder, supervisor: Supervisor, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE_SECONDS", 0.01)
    redis = EmbeddedRedis(folder)
    supervisor.wait_until(supervisor.start(redis.spec()), redis.is_ready)
    supervisor.restart_dead()
    shutil.rmtree(folder.redis)

    def is_back() -> bool:
        supervisor.restart_dead()
        return redis.is_ready()

    wait_until(is_back)
    assert "redis.sock was removed" in said[0]


def test_redis_is_not_ready_before_it_runs(folder: DataFolder) -> None:
    assert not EmbeddedRedis(folder).is_ready()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's PostgreSQL runs under another account")
def test_a_closed_folder_above_is_opened_for_passing_only(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    assert str(closed) in open_path(closed / "data")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o701
    assert open_path(closed / "data") == []


def test_stop_signal_of_postgres_is_the_fast_shutdown(folder: DataFolder) -> None:
    assert EmbeddedPostgres(folder).spec().stop_signal is signal.SIGINT
