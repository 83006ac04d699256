"""Finds groups of responses by their fields and by their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from backend.readings.samples import repository
from backend.readings.samples.repository import Place, Wanted
from bapo.answer_text import answer_span

SEARCHED_GROUPS = 2_000
SEARCHED_BYTES = 32 * 1024**2
"""A text is looked for in so much at most, as stored (compressed), at a time: no index covers what models write, and a
request must not take longer the longer a run is. The cursor continues after what was searched."""


class Found(NamedTuple):
    """A page of groups."""

    records: Sequence[dict[str, Any]]
    after: Place | None
    """Place to continue from; `None` at the end."""
    total: int | None
    """Groups that match on all pages; None where that would take a search of everything."""
    num_searched: int | None
    """Groups that were read for the text; None without one."""


def find(session: Session, wanted: Wanted, part: str | None, after: Place | None, limit: int) -> Found:
    """Return the matching groups, newest step first, each response with the place of its answer."""
    found = _search(session, wanted, part, after, limit) if part else _page(session, wanted, after, limit)
    for record in found.records:
        for response in record["responses"]:
            response["answer_span"] = answer_span(response["text"])
    return found


def _page(session: Session, wanted: Wanted, after: Place | None, limit: int) -> Found:
    found = repository.page(session, wanted, after, limit + 1)
    items = found[:limit]
    return Found(
        [record for _, record in items],
        items[-1][0] if len(found) > limit else None,
        repository.count(session, wanted),
        None,
    )


def _search(session: Session, wanted: Wanted, part: str, after: Place | None, limit: int) -> Found:
    places = repository.sizes(session, wanted, after, SEARCHED_GROUPS + 1)
    num_searched = _affordable([size for _, size in places])
    if not num_searched:
        return Found([], None, 0 if after is None else None, 0)
    until = places[num_searched - 1][0]
    found = repository.saying(session, wanted, part, after, until, limit + 1)
    items = found[:limit]
    if len(found) > limit:
        return Found([record for _, record in items], items[-1][0], None, num_searched)
    at_the_end = num_searched == len(places)
    total = len(found) if at_the_end and after is None else None
    return Found([record for _, record in items], None if at_the_end else until, total, num_searched)


def _affordable(sizes: Sequence[int]) -> int:
    """Return the number of groups that one search reads: at least one, at most what both bounds allow."""
    total = 0
    for number, size in enumerate(sizes[:SEARCHED_GROUPS]):
        total += size
        if number and total > SEARCHED_BYTES:
            return number
    return min(len(sizes), SEARCHED_GROUPS)
