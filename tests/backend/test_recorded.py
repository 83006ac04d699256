"""A run trained by the local engine, imported, reads back as its journal has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest

from bapo.client import Client
from bapo.records import AnyRecord, comparable, parse_record
from bapo.run.journal import merged_records
from tests.support.recorded import NUM_STEPS, RUNS, import_folder


@pytest.mark.parametrize("name", RUNS)
def test_what_was_recorded_is_what_is_shown(admin: Client, recorded_folders: Mapping[str, Path], name: str) -> None:
    run = admin.run(import_folder(admin, recorded_folders[name], group="recorded"))
    assert (run.name, run.group, run.status, run.step) == (name, "recorded", "succeeded", NUM_STEPS)
    shown = [parse_record(orjson.dumps(item)) for item in admin.records(run.id, limit=1000).items]
    assert sorted(map(_content, shown)) == sorted(map(_content, merged_records(recorded_folders[name])))


def _content(record: AnyRecord) -> bytes:
    return orjson.dumps(comparable(record), option=orjson.OPT_SORT_KEYS)
