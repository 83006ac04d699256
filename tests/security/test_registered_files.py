"""Files made to hurt that are registered by their path: read in a separate process, with limits, like uploads."""

from __future__ import annotations

import json
import resource
import threading
from collections.abc import Mapping
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from backend.files.resources import inspection
from bapo.api.resources import ResourceCreate, ResourceInfo
from bapo.client import ApiError, Client

ONE_TEXT = 20_000_000
NUM_ROWS = 600
"""Rows that refer to one text: 12 GB once they are read, in a file of some kilobytes."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("registered")


@pytest.fixture(scope="module")
def server_settings(place: Path) -> Mapping[str, object]:
    return {"resource_roots": str(place)}


def register(client: Client, path: Path) -> ResourceInfo:
    return client.register_resource(ResourceCreate(kind="dataset", name=path.stem, path=str(path)))


def bomb(path: Path) -> Path:
    texts = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * NUM_ROWS, pyarrow.int32()), pyarrow.array(["x" * ONE_TEXT])
    )
    table = pyarrow.table({"prompt": texts, "answer": ["1"] * NUM_ROWS})
    pyarrow.parquet.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    return path


def test_a_parquet_bomb_costs_the_server_no_memory(admin: Client, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "SUMMARY_SECONDS", 10.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ApiError, match=r"split it|not readable"):
        register(admin, bomb(place / "bomb.parquet"))
    # In kB: the server is this process.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        ("deep", "[" * 900 + "]" * 900, "deep within one another"),
        ("digits", '{"prompt": ' + "9" * 5_000 + "}", "digits"),
        ("list", "[1]", "not a JSON object"),
        ("columns", json.dumps({f"c{number}": 1 for number in range(10_001)}), "more than 10,000 columns"),
    ],
)
def test_rows_made_to_hurt_are_refused(admin: Client, place: Path, name: str, line: str, why: str) -> None:
    path = place / f"{name}.jsonl"
    path.write_text('{"prompt": "1 + 1?", "answer": "2"}\n' + line + "\n")
    with pytest.raises(ApiError) as refused:
        register(admin, path)
    assert refused.value.status == 422
    assert why in refused.value.body.remedy


def test_a_preview_shows_so_many_columns(admin: Client, place: Path) -> None:
    path = place / "wide.jsonl"
    path.write_text(json.dumps({f"c{number}": "x\0y" for number in range(2_000)}) + "\n")
    shown = admin.resource_preview(register(admin, path).id)
    assert (len(shown.columns), len(shown.rows[0])) == (500, 500)
    assert shown.rows[0][0] == "x\ufffdy"


def test_more_files_than_are_read_at_once_wait_and_are_then_refused(
    admin: Client, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "small.jsonl"
    path.write_text('{"prompt": "1 + 1?", "answer": "2"}\n')
    turns = threading.BoundedSemaphore(1)
    monkeypatch.setattr(inspection, "_TURNS", turns)
    monkeypatch.setattr(inspection, "TURN_SECONDS", 0.1)
    with turns, pytest.raises(ApiError) as refused:
        register(admin, path)
    assert (refused.value.status, refused.value.code) == (503, "busy")
    assert register(admin, path).details["num_rows"] == 1
