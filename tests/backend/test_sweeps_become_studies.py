"""The migration that moves sweeps into the table of studies, with rows in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.orm import Session

from backend.kit.database import Database
from backend.launch.studies import service
from backend.ops.migrate import alembic_config
from tests.support.services import new_database

BEFORE, AFTER = "0012", "head"

STUDY_FILE = """
title = "Declared"
question = "Is A above B?"
recipe = "countdown-demo"
seeds = [1]
test_sets = ["CD-34"]
num_runs = 2
arms = [{ name = "A", method = "bapo" }, { name = "B", method = "grpo" }]
primary = { arm = "A", against = "B" }
"""

ROWS = (
    "INSERT INTO projects (id, name) VALUES ('p', 'p')",
    "INSERT INTO users (id, name, role) VALUES ('u', 'ada', 'admin')",
    "INSERT INTO run_groups (id, project_id, name, kind) VALUES ('s', 'p', 'c1 over seeds', 'sweep'),"
    " ('d', 'p', 'Declared', 'study'), ('g', 'p', 'by hand', 'group')",
    "INSERT INTO runs (id, project_id, owner_id, group_id, name, status, method, config, explicit, diff, num_steps,"
    " sweep_point, sweep_position) VALUES"
    " ('r1', 'p', 'u', 's', 'c1=0.25', 'draft', 'bapo', '{}', '{}', '{}', 9, '{\"method.c1\": 0.25}', 0),"
    " ('r2', 'p', 'u', 's', 'c1=0.5', 'queued', 'bapo', '{}', '{}', '{}', 9, '{\"method.c1\": 0.5}', 1),"
    " ('r3', 'p', 'u', 'g', 'no part of any', 'draft', 'bapo', '{}', '{}', '{}', 9, NULL, NULL)",
    "INSERT INTO sweeps (id, owner_id, fields, recipe, parent_id, base, notes, idempotency_key, request_hash) VALUES"
    " ('s', 'u', '{method.c1}', NULL, 'r3', '{\"training.steps\": 9}', 'why', 'key', 'hash')",
    f"INSERT INTO studies (id, project_id, owner_id, text, digest, priority, choices) VALUES"  # noqa: S608
    f" ('d', 'p', 'u', '{STUDY_FILE}', 'x', 50, '[]')",
    "INSERT INTO study_runs (study_id, name, position, run_id, was_submitted) VALUES"
    " ('d', 'main--a--seed-1', 0, NULL, FALSE), ('d', 'main--b--seed-1', 1, NULL, FALSE)",
)


@pytest.fixture
def database(postgres_server: str) -> Iterator[Database]:
    """A database of before, with a sweep of two runs, a study and a group."""
    with new_database(postgres_server) as url:
        database = Database(url)
        move(database, BEFORE)
        with database.engine.begin() as connection:
            for row in ROWS:
                connection.exec_driver_sql(row)
        yield database
        database.close()


def move(database: Database, revision: str) -> None:
    with database.engine.begin() as connection:
        config = alembic_config(connection)
        (command.downgrade if revision == BEFORE else command.upgrade)(config, revision)


def rows(database: Database, query: str) -> list[tuple[object, ...]]:
    with database.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def test_a_sweep_is_read_as_a_study_with_its_runs_notes_and_settings(database: Database) -> None:
    move(database, AFTER)
    with Session(database.engine) as session:
        study = service.detail(session, "s")
        assert (study.title, study.question, study.owner, study.notes) == ("c1 over seeds", None, "ada", "why")
        assert (study.fields, study.parent_id, study.base) == (["method.c1"], "r3", {"training.steps": 9})
        assert [(run.run_id, run.set, run.state) for run in study.runs] == [
            ("r1", {"method.c1": 0.25}, "waiting"),
            ("r2", {"method.c1": 0.5}, "waiting"),
        ]
        assert [setting.run_ids for setting in study.settings] == [["r1"], ["r2"]]
        assert (study.num_runs, study.steps_planned) == (2, 18)
        declared = service.detail(session, "d")
        assert (declared.question, declared.recipe, declared.num_runs) == ("Is A above B?", "countdown-demo", 2)
    assert rows(database, "SELECT id FROM run_groups ORDER BY id") == [("d",), ("g",), ("s",)]


def test_the_way_back_makes_it_a_sweep_again(database: Database) -> None:
    sweep = "SELECT id, owner_id, fields, recipe, parent_id, base::text, notes, created_at FROM sweeps"
    runs = "SELECT id, group_id, sweep_point, sweep_position FROM runs ORDER BY id"
    groups = "SELECT id, kind FROM run_groups ORDER BY id"
    studies = "SELECT id, text, digest FROM studies"
    before = [rows(database, query) for query in (sweep, runs, groups, studies)]
    move(database, AFTER)
    move(database, BEFORE)
    assert [rows(database, query) for query in (sweep, runs, groups, studies)] == before
    move(database, AFTER)
    assert rows(database, "SELECT name, position FROM study_runs WHERE study_id = 's' ORDER BY position") == [
        ("run-1", 0),
        ("run-2", 1),
    ]
