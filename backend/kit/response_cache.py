"""Caches responses about recorded data until a run records more."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import orjson
from fastapi import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.models import IngestOffset, Run
from bapo import __version__

MAX_BYTES = 64 * 1024**2
"""Of all answers together."""
_ENTRY_BYTES = 500


class Answer(NamedTuple):
    """A JSON body and what its headers say."""

    content: bytes
    headers: Mapping[str, str] = MappingProxyType({})
    etag: str | None = None
    """Of an answer that is kept."""

    @classmethod
    def of(cls, content: object, headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
        """Encode plain data and arrays as JSON; NaN becomes null."""
        # The default is asked for arrays that do not lie in one piece.
        body = orjson.dumps(content, default=np.ascontiguousarray, option=orjson.OPT_SERIALIZE_NUMPY)
        return cls(body, headers)

    def response(self, known: str | None = None) -> Response:
        """The HTTP response; without a body to whom already has it, by the request's `If-None-Match`."""
        headers = dict(self.headers)
        if self.etag is not None:
            # A browser asks again each time: whether it still may read, and whether there is more by now.
            headers |= {"ETag": self.etag, "Cache-Control": "private, no-cache"}
            if known == self.etag:
                return Response(status_code=304, headers=headers)
        return Response(self.content, media_type="application/json", headers=headers)


class Kept(NamedTuple):
    """An answer and the revisions of its runs when it was worked out."""

    revisions: Sequence[int]
    answer: Answer


@dataclass
class _Entry:
    """An answer and what was stored when it was made. Its lock makes the others wait for the one who works it out."""

    run_ids: Sequence[str]
    route: Mapping[str, Any]
    """What the request's scope says of the route that answered."""
    kept: Kept | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def num_bytes(self) -> int:
        """What it takes in memory, about."""
        return _ENTRY_BYTES + (0 if self.kept is None else len(self.kept.answer.content))


class AnswerCache:
    """Responses by question; the least recently used are dropped beyond `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def answer(
        self,
        session: Session,
        question: str,
        run_ids: Sequence[str],
        work_out: Callable[[], Answer],
        route: Mapping[str, Any] = MappingProxyType({}),
    ) -> Answer:
        """The answer to a question about the records of these runs, computed again when one of them has more.

        The question names everything that the answer depends on but the records: path and query.
        """
        with self._lock:
            entry = self._entries.get(question)
            if entry is None:
                entry = self._entries[question] = _Entry(run_ids, route)
                self._num_bytes += _ENTRY_BYTES
            self._entries.move_to_end(question)
        with entry.lock:
            # Read first: what is stored meanwhile makes the next request work it out again.
            now = revisions(session, run_ids)
            if entry.kept is not None and entry.kept.revisions == now:
                return entry.kept.answer
            answer = work_out()
            # A run without records may be gone: that is for the question itself to find out.
            if all(now):
                answer = answer._replace(etag=_etag(question, now))
                self._keep(question, entry, Kept(now, answer))
        return answer

    def kept(self, question: str) -> tuple[_Entry, Kept] | None:
        """What is kept of a question, which may be out of date. Asks no database and waits for nobody."""
        with self._lock:
            entry = self._entries.get(question)
            if entry is None or entry.kept is None:
                return None
            self._entries.move_to_end(question)
            return entry, entry.kept

    def forget(self, run_id: str) -> None:
        """Keep nothing of a run that is deleted."""
        with self._lock:
            for question in [each for each, entry in self._entries.items() if run_id in entry.run_ids]:
                self._num_bytes -= self._entries.pop(question).num_bytes

    def _keep(self, question: str, entry: _Entry, kept: Kept) -> None:
        with self._lock:
            if self._entries.get(question) is not entry:
                # Dropped while it was worked out.
                return
            self._num_bytes -= entry.num_bytes
            entry.kept = kept
            self._num_bytes += entry.num_bytes
            while self._num_bytes > self._max_bytes:
                _, forgotten = self._entries.popitem(last=False)
                self._num_bytes -= forgotten.num_bytes


def _etag(question: str, revisions: Sequence[int]) -> str:
    # Cheaper than a hash of the body: this is all that it depends on.
    said = f"{__version__} {question} {revisions}"
    return f'"{hashlib.blake2b(said.encode(), digest_size=12).hexdigest()}"'


REVISIONS = """
    SELECT run_id, sum(next_offset)::bigint FROM ingest_offsets JOIN runs ON runs.id = run_id
    WHERE run_id = ANY(%(run_ids)s) AND kind = 'records' AND trashed_at IS NULL GROUP BY run_id
"""
"""The bytes read of all of a run's journals; none of a deleted run, of which answers may still be kept."""


def revisions(session: Session, run_ids: Sequence[str]) -> Sequence[int]:
    """A number per run that grows with every stored record: the bytes read of all its attempts' journals."""
    query = (
        select(IngestOffset.run_id, func.sum(IngestOffset.next_offset))
        .join(Run, Run.id == IngestOffset.run_id)
        .where(IngestOffset.run_id.in_(run_ids), IngestOffset.kind == "records", Run.trashed_at.is_(None))
        .group_by(IngestOffset.run_id)
    )
    found = {run_id: int(number) for run_id, number in session.execute(query)}
    return [found.get(run_id, 0) for run_id in run_ids]
