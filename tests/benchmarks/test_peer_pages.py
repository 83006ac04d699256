"""What the comparison of pages computes itself."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from urllib.parse import unquote

import pytest

from benchmarks.peer_fill import copy_rows
from benchmarks.peer_pages import summary
from benchmarks.peer_views import METRICS, OTHERS, aim_state, expression


def test_the_summary_of_repetitions() -> None:
    # The 95th percentile of 1 … 11 lies 0.95 · 10 = 9.5 places after the first: 10.5.
    assert summary([float(value) for value in range(11, 0, -1)]) == {
        "median": 6.0,
        "p95": pytest.approx(10.5),
        "lowest": 1.0,
        "count": 11,
    }


def test_the_expression_chooses_the_drawn_metrics_alone() -> None:
    assert [name for name in (*METRICS, *OTHERS, "actor/entropy2") if re.search(expression(), name)] == list(METRICS)


def test_a_state_of_aim_can_be_read_back() -> None:
    state = {"query": 'metric.name in ["a/b", "ü"]'}
    prefix, _, text = aim_state(state).partition("-")
    assert prefix == "O"
    assert json.loads(unquote(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())) == state


def test_copies_have_names_and_identifiers_of_their_own() -> None:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, value REAL)")
        database.execute("INSERT INTO metrics VALUES (1, 'abc', 'first', 0.5)")
        copy_rows(database, ["metrics"], "run_id", "abc", ["second", "third"])
        rows = database.execute("SELECT run_id, run_name, value FROM metrics ORDER BY id").fetchall()
    assert rows == [("abc", "first", 0.5), ("abc00000000", "second", 0.5), ("abc00000001", "third", 0.5)]
