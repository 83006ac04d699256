"""Caches responses about recorded data until a run records more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import orjson
from fastapi import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.kit.revision_cache import RevisionCache
from backend.models import IngestOffset, Run
from bapo import __version__

MAX_BYTES = 64 * 1024**2
"""Maximum size of all cached answers together."""
_ENTRY_BYTES = 500


class Answer(NamedTuple):
    """A JSON body and what its headers say."""

    content: bytes
    headers: Mapping[str, str] = MappingProxyType({})
    etag: str | None = None
    """ETag of a cached answer."""

    @classmethod
    def of(cls, content: object, headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
        """Encode plain data and arrays as JSON; NaN becomes null."""
        # The default is asked for arrays that do not lie in one piece.
        body = orjson.dumps(content, default=np.ascontiguousarray, option=orjson.OPT_SERIALIZE_NUMPY)
        return cls(body, headers)

    def response(self, known: str | None = None) -> Response:
        """Return the HTTP response; without a body if the client has it already, by the request's `If-None-Match`."""
        headers = dict(self.headers)
        if self.etag is not None:
            # A browser asks again each time: whether it still may read, and whether there is more by now.
            headers |= {"ETag": self.etag, "Cache-Control": "private, no-cache"}
            if known == self.etag:
                return Response(status_code=304, headers=headers)
        return Response(self.content, media_type="application/json", headers=headers)


class Kept(NamedTuple):
    """A cached answer, and what it takes to give it before routing."""

    revisions: Sequence[int]
    """Revisions of its runs at the time it was computed."""
    answer: Answer
    run_ids: Sequence[str]
    route: Mapping[str, Any]
    """Route and path parameters of the request's scope."""


class AnswerCache(RevisionCache[str, Kept]):
    """Responses by question, a path with its query."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(max_bytes, lambda kept: _ENTRY_BYTES + len(kept.answer.content))

    def answer(
        self,
        session: Session,
        question: str,
        run_ids: Sequence[str],
        work_out: Callable[[], Answer],
        route: Mapping[str, Any] = MappingProxyType({}),
    ) -> Answer:
        """Return the answer to a question about the records of these runs, computed again when one of them has more.

        The question names everything that the answer depends on but the records: path and query.
        """
        now: tuple[int, ...] = ()

        def revision_now() -> tuple[int, ...] | None:
            nonlocal now
            now = revisions(session, run_ids)
            # A run without records may be gone: then `work_out` finds out, and nothing is cached.
            return now if all(now) else None

        def compute(_: Kept | None) -> Kept:
            answer = work_out()
            return Kept(now, answer._replace(etag=_etag(question, now)) if all(now) else answer, run_ids, route)

        return self.get(question, revision_now, compute).answer

    def runs_of(self, key: str, value: Kept | None) -> Sequence[str]:
        """Return the runs that the answer is about."""
        return () if value is None else value.run_ids


def _etag(question: str, revisions: Sequence[int]) -> str:
    # Cheaper than a hash of the body: this is all that it depends on.
    said = f"{__version__} {question} {revisions}"
    return f'"{hashlib.blake2b(said.encode(), digest_size=12).hexdigest()}"'


REVISIONS = """
    SELECT run_id, sum(next_offset)::bigint FROM ingest_offsets JOIN runs ON runs.id = run_id
    WHERE run_id = ANY(%(run_ids)s) AND kind = 'records' AND trashed_at IS NULL GROUP BY run_id
"""
"""The bytes read of all of a run's journals; none of a deleted run, of which answers may still be kept."""


def revisions(session: Session, run_ids: Sequence[str]) -> tuple[int, ...]:
    """Return a number per run that grows with every stored record: the bytes read of all its attempts' journals."""
    query = (
        select(IngestOffset.run_id, func.sum(IngestOffset.next_offset))
        .join(Run, Run.id == IngestOffset.run_id)
        .where(IngestOffset.run_id.in_(run_ids), IngestOffset.kind == "records", Run.trashed_at.is_(None))
        .group_by(IngestOffset.run_id)
    )
    found = {run_id: int(number) for run_id, number in session.execute(query)}
    return tuple(found.get(run_id, 0) for run_id in run_ids)
