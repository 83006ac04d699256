"""Caches responses about recorded data until a run records more."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import orjson
from fastapi import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.models import IngestOffset

MAX_BYTES = 64 * 1024**2
"""Of all answers together."""
_ENTRY_BYTES = 500


class Answer(NamedTuple):
    """A JSON body and what its headers say."""

    content: bytes
    headers: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, content: object, headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
        """Encode plain data and arrays as JSON; NaN becomes null."""
        # The default is asked for arrays that do not lie in one piece.
        body = orjson.dumps(content, default=np.ascontiguousarray, option=orjson.OPT_SERIALIZE_NUMPY)
        return cls(body, headers)

    def response(self) -> Response:
        """The HTTP response."""
        return Response(self.content, media_type="application/json", headers=dict(self.headers))


_NOT_WORKED_OUT = Answer(b"")


@dataclass
class _Entry:
    """An answer and what was stored when it was made. Its lock makes the others wait for the one who works it out."""

    run_ids: Sequence[str]
    revisions: Sequence[int] | None = None
    answer: Answer = _NOT_WORKED_OUT
    lock: threading.Lock = field(default_factory=threading.Lock)


class AnswerCache:
    """Responses by question; the least recently used are dropped beyond `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def answer(self, session: Session, question: str, run_ids: Sequence[str], work_out: Callable[[], Answer]) -> Answer:
        """The answer to a question about the records of these runs, computed again when one of them has more.

        The question names everything that the answer depends on but the records: path and query.
        """
        with self._lock:
            entry = self._entries.setdefault(question, _Entry(run_ids))
            self._entries.move_to_end(question)
        with entry.lock:
            # Read first: what is stored meanwhile makes the next request work it out again.
            now = revisions(session, run_ids)
            # A run without records may be gone: that is for the question itself to find out.
            if entry.revisions == now and all(now):
                return entry.answer
            answer = entry.answer = work_out()
            entry.revisions = now
        self._forget_oldest()
        return answer

    def forget(self, run_id: str) -> None:
        """Keep nothing of a run that is deleted."""
        with self._lock:
            for question in [each for each, entry in self._entries.items() if run_id in entry.run_ids]:
                del self._entries[question]

    def _forget_oldest(self) -> None:
        with self._lock:
            num_bytes = sum(_ENTRY_BYTES + len(entry.answer.content) for entry in self._entries.values())
            while num_bytes > self._max_bytes:
                _, forgotten = self._entries.popitem(last=False)
                num_bytes -= _ENTRY_BYTES + len(forgotten.answer.content)


def revisions(session: Session, run_ids: Sequence[str]) -> Sequence[int]:
    """A number per run that grows with every stored record: the bytes read of all its attempts' journals."""
    query = (
        select(IngestOffset.run_id, func.sum(IngestOffset.next_offset))
        .where(IngestOffset.run_id.in_(run_ids), IngestOffset.kind == "records")
        .group_by(IngestOffset.run_id)
    )
    found = {run_id: int(number) for run_id, number in session.execute(query)}
    return [found.get(run_id, 0) for run_id in run_ids]
