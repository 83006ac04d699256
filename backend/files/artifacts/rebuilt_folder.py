"""Rebuilds a run folder from the server's records, for runs whose own folder is out of reach."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import LogPiece, Run, Sample
from backend.records import repository as records
from backend.records.parameters import MAX_STEP
from backend.records.repository import Place, PlacedRecord, StepRange
from bapo.run.journal import RECORDS_FILE, SAMPLES_FILE
from bapo.run.line_reader import LOG_FILE
from bapo.run.run_folder import CONFIG_FILE

_PAGE = 200
_ALL = StepRange(0, MAX_STEP)


def rebuild(session: Session, run: Run, folder: Path) -> None:
    """Write config, journal, samples and log into an empty folder, each attempt's lines into its own files.

    Of a step that a later attempt repeated there is only the later attempt's record.
    """
    (folder / CONFIG_FILE).write_text(json.dumps(run.config, indent=2), encoding="utf-8")
    with ExitStack() as stack:
        files = _AttemptFiles(folder, stack)
        for placed in heapq.merge(
            _records(session, run.id, "step"), _records(session, run.id, "sparse"), key=lambda each: each.place
        ):
            files.of(placed.record["attempt"], RECORDS_FILE).write(orjson.dumps(placed.record) + b"\n")
        samples = select(Sample.attempt, Sample.record).where(Sample.run_id == run.id)
        samples = samples.order_by(Sample.step, Sample.position).execution_options(yield_per=_PAGE)
        for attempt, record in session.execute(samples):
            files.of(attempt, SAMPLES_FILE).write(orjson.dumps(record) + b"\n")
        pieces = select(LogPiece.attempt, LogPiece.text).where(LogPiece.run_id == run.id)
        for attempt, text in session.execute(pieces.order_by(LogPiece.id).execution_options(yield_per=_PAGE)):
            files.of(attempt, LOG_FILE).write(text.encode(errors="replace"))


def _records(session: Session, run_id: str, kind: str) -> Iterator[PlacedRecord]:
    after: Place | None = None
    while True:
        page = (
            records.step_records(session, run_id, _ALL, after, _PAGE)
            if kind == "step"
            else records.sparse_records(session, run_id, None, _ALL, after, _PAGE)
        )
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].place
        session.expunge_all()


class _AttemptFiles:
    """The files of the attempts, opened when something is written to them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._open: dict[tuple[int, str], BinaryIO] = {}

    def of(self, attempt: int, name: str) -> BinaryIO:
        key = (attempt, name)
        if key not in self._open:
            folder = self._folder / f"attempt-{attempt}"
            folder.mkdir(exist_ok=True)
            self._open[key] = self._stack.enter_context((folder / name).open("wb"))
        return self._open[key]
