"""Writes the rollouts of other trainers as files, and imports them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bapo.config import ConfigError
from bapo.observe.dumps.columns import parsed_columns
from bapo.observe.dumps.dump_import import Imported, Settings, import_dump
from bapo.observe.dumps.formats import Format, open_dump
from bapo.records import EventRecord, StepRecord
from bapo.run.journal import merged_records

Rows = Sequence[Mapping[str, Any]]


def write_rows(path: Path, rows: Rows, ending: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)) + ending)
    return path


def imported(path: Path, kind: Format, out: Path, *columns: str, settings: Settings | None = None) -> Imported:
    dump = open_dump(path, kind, parsed_columns(columns))
    return import_dump(dump, None, out, settings or Settings())


def steps_of(folder: Path) -> list[StepRecord]:
    return [record for record in merged_records(folder) if isinstance(record, StepRecord)]


def events_of(folder: Path) -> list[EventRecord]:
    """Return the events of a run folder."""
    return [record for record in merged_records(folder) if isinstance(record, EventRecord)]


def problem_of(error: ConfigError) -> str:
    (problem,) = error.problems
    return str(problem)
