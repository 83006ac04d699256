"""A database of an earlier release: its data stay when it is migrated, and this version serves it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, make_url, select, text

from backend.kit.database import Database
from backend.models import Base, MetricTail, StepRow
from backend.ops.migrate import MIGRATION_LOCK, alembic_config, check_schema, migrate
from bapo.api.runs import RunCreate, RunStatus
from bapo.deploy.up.postgres import binaries
from bapo.rollout import problems_digest
from tests.support.services import new_database, running_backend, wait_until

DATA = Path(__file__).resolve().parents[1] / "data"
RELEASES = ("0012", "0028")
PACKED = "0016"
"""The revision from which on a step's columns are packed."""
IMPORTED, RUNNING = "45q7b1revy", "ezwg14bctm"
ANEW = {"runs": frozenset({"reward_mean"}), "steps": frozenset({"record"})}
"""Columns that a migration works out anew from the records, or writes in another way."""


def load(url: str, revision: str) -> None:
    """Fill an empty database with a release's data."""
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    file = str(DATA / f"release-{revision}.sql")
    command_line = [str(binaries() / "psql"), "-q", "-X", "-1", "-v", "ON_ERROR_STOP=1", "-d", address, "-f", file]
    result = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def contents(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table."""
    found = {}
    with database.engine.connect() as connection:
        for table in inspect(database.engine).get_table_names():
            if table != "alembic_version":
                rows = connection.execute(text(f"SELECT to_jsonb(t) AS row FROM {table} AS t"))  # noqa: S608
                found[table] = sorted((row.row for row in rows), key=str)
    return found


Steps = dict[tuple[str, int], tuple[Any, list[list[Any]], Any]]


def steps_of(database: Database) -> Steps:
    """Record, visits and waiting metrics of every step, by run and step."""
    with database.session() as session:
        tails = {(tail.run_id, tail.step): tail.metrics for tail in session.scalars(select(MetricTail))}
        return {
            (row.run_id, row.step): (row.record, row.visits, tails.get((row.run_id, row.step)))
            for row in session.scalars(select(StepRow))
        }


def visits_of(row: dict[str, Any]) -> list[list[Any]]:
    """The visits of a step as they were before they were packed."""
    names = ("ids", "sources", "num_correct", "policy_versions", "in_batch", "reasons")
    return [row[f"prompt_{name}"] for name in names]


def assert_kept(before: dict[str, list[dict[str, Any]]], after: dict[str, list[dict[str, Any]]]) -> None:
    """Every row of the tables that both have is there, with the columns that both have."""
    for table in before.keys() & after.keys():
        if not before[table]:
            continue
        if not after[table]:
            pytest.fail(f"the rows of {table} are gone")
        shared = (before[table][0].keys() & after[table][0].keys()) - ANEW.get(table, frozenset())
        old, new = (
            sorted(str({name: row[name] for name in sorted(shared)}) for row in rows)
            for rows in (before[table], after[table])
        )
        assert set(old) <= set(new), table


@contextmanager
def database_of(server: str, revision: str) -> Iterator[tuple[str, Database]]:
    """A database of a release with its data, and its address."""
    with new_database(server, is_empty=True) as url:
        database = Database(url)
        try:
            with database.engine.begin() as connection:
                command.upgrade(alembic_config(connection), revision)
            load(url, revision)
            yield url, database
        finally:
            database.close()


@pytest.mark.parametrize("revision", RELEASES)
def test_data_survive_every_migration_since(postgres_server: str, revision: str) -> None:
    with database_of(postgres_server, revision) as (_, database):
        before = contents(database)
        steps = steps_of(database) if revision >= PACKED else None
        migrate(database.engine)
        after = contents(database)
        assert_kept(before, after)
        assert steps_of(database) == steps or {
            (row["run_id"], row["step"]): (row["record"], visits_of(row), row["metrics"]) for row in before["steps"]
        }
        rewards: dict[str, list[float]] = {run["id"]: [] for run in after["runs"]}
        for row in sorted(after["steps"], key=lambda row: int(row["step"])):
            rewards[row["run_id"]].append(row["reward_mean"])
        for run in after["runs"]:
            recent = rewards[run["id"]][-10:]
            assert run["reward_mean"] == (pytest.approx(sum(recent) / len(recent)) if recent else None)
        evaluations = [row for row in after["sparse_records"] if row["type"] == "evaluation"]
        assert evaluations
        for row in evaluations:
            # Of their time, records hold the problems and not the answers.
            known = (len(row["record"]["num_correct"]), problems_digest(row["record"]["prompt_ids"]))
            assert (row["num_problems"], row["problems"]) == known
        imported = next(run for run in after["runs"] if run["name"] in ("Imported run", "demo-run"))
        of_run = [row for row in evaluations if row["run_id"] == imported["id"]]
        assert imported["eval_problems"] in {row["problems"] for row in of_run}
        check_schema(database.engine)
        with database.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_steps_that_were_packed_can_be_unpacked(postgres_server: str) -> None:
    with database_of(postgres_server, "0012") as (_, database):
        before = contents(database)["steps"]
        with database.engine.begin() as connection:
            command.upgrade(alembic_config(connection), PACKED)
        with database.engine.begin() as connection:
            command.downgrade(alembic_config(connection), "0015")
        assert contents(database)["steps"] == before


def test_a_database_of_an_earlier_release_is_served(postgres_server: str, tmp_path: Path) -> None:
    with database_of(postgres_server, "0012") as (url, database):
        migrate(database.engine)
        with (
            running_backend(url, tmp_path) as server,
            server.client() as client,
        ):
            runs = {run.name: run for run in client.runs().items}
            assert set(runs) == {"Imported run", "Half way", "Waiting", "A draft"}
            imported = client.run(IMPORTED)
            assert (imported.status, imported.step, imported.group) == (RunStatus.SUCCEEDED, 6, "history")
            assert [record["step"] for record in client.records(IMPORTED, type="step").items] == [1, 2, 3, 4, 5, 6]
            assert len(client.metrics(IMPORTED, keys=["critic/rewards/mean"]).steps) == 6
            half = client.run(RUNNING)
            assert (half.status, half.step, list(half.tags)) == (RunStatus.RUNNING, 3, ["kept", "α"])
            assert half.notes == "A note with ünïcode and a | bar"
            assert half.is_starred
            assert client.log(RUNNING).text == "first line of the log\nsecond\n"
            assert client.history(RUNNING).audit
            assert {run.name for run in client.runs(search="ünïcode").items} == {"Half way"}
            again = client.clone(IMPORTED, RunCreate(name="again"))
            assert client.run(again.id).parent_id == IMPORTED


def test_what_teams_made_with_the_last_release_is_served(postgres_server: str, tmp_path: Path) -> None:
    with database_of(postgres_server, "0028") as (url, database):
        migrate(database.engine)
        with running_backend(url, tmp_path) as server, server.client() as client:
            runs = {run.name: run for run in client.runs().items}
            arms = {f"Two arms · {arm} · seed {seed}" for arm in "AB" for seed in (1, 2)}
            assert set(runs) == {"demo-run", "Half way", "A draft"} | arms
            assert (runs["demo-run"].status, runs["demo-run"].step) == (RunStatus.SUCCEEDED, 6)
            assert len(client.metrics(runs["demo-run"].id, keys=["critic/rewards/mean"]).steps) == 6
            half = client.run(runs["Half way"].id)
            assert (half.step, list(half.tags), half.is_starred) == (3, ["kept", "α"], True)
            (study,) = client.studies().items
            assert (study.title, len(client.study(study.id).runs)) == ("Two arms", 4)
            (listed,) = client.prompt_lists().items
            (entry,) = client.prompt_list_entries(listed.id).items
            assert (listed.name, entry.weight, entry.note) == ("doubtful", 0, "label is 41")
            (board,) = client.boards().items
            chart = client.board_panel(board.id, "c").chart
            assert chart is not None
            assert [curve.x for curve in chart.curves] == [[1, 2, 3]]
            assert len(client.board_links(board.id).items) == 1
            assert [view.name for view in client.views().items] == ["Mine"]
            assert [rule.name for rule in client.alert_rules().items] == ["fill"]
            assert [webhook.name for webhook in client.webhooks().items] == ["team"]


def test_two_servers_that_start_at_once_migrate_once(postgres_server: str) -> None:
    with new_database(postgres_server, is_empty=True) as url:
        first, second = Database(url), Database(url)
        waiting = text(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"
        )
        with ThreadPoolExecutor(1) as pool:
            with first.engine.begin() as connection:
                # The first is about to migrate when the second starts.
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
                started = pool.submit(migrate, second.engine)
                wait_until(lambda: connection.execute(waiting).scalar_one() == 1)
                command.upgrade(alembic_config(connection), "head")
            started.result()
        check_schema(first.engine)
        first.close()
        second.close()
