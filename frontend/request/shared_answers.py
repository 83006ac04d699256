"""Answers that all who look at the same thing are given, made once."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

KEPT_SECONDS = 2.0
"""After an answer is there: viewers hear of a step within moments of each other."""
MOST_KEPT = 256


@dataclass
class _Kept:
    task: asyncio.Future[Any]
    until: float = math.inf
    """On the clock of the event loop; without end while the answer is on its way."""


class SharedAnswers:
    """Answers by what was asked. Who may have them is for the caller to find out, before."""

    def __init__(self, kept_seconds: float = KEPT_SECONDS, most_kept: int = MOST_KEPT) -> None:
        """Keep at most `most_kept` answers; those that would expire first are evicted."""
        self._kept_seconds, self._most_kept = kept_seconds, most_kept
        self._kept: dict[Hashable, _Kept] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """Return what another caller has made for the same key or is making, else what `make` returns.

        Where the other fails, as for a session that has just ended, everybody makes their own.
        """
        now = asyncio.get_running_loop().time()
        for old in [known for known, kept in self._kept.items() if kept.until < now]:
            del self._kept[old]
        if (kept := self._kept.get(key)) is not None:
            try:
                return await asyncio.shield(kept.task)
            except Exception:
                return await make()
        if len(self._kept) >= self._most_kept:
            del self._kept[min(self._kept, key=lambda known: self._kept[known].until)]
        kept = self._kept[key] = _Kept(asyncio.ensure_future(make()))
        kept.task.add_done_callback(lambda task: self._ended(key, task))
        # The first caller may be cancelled while others still wait.
        return await asyncio.shield(kept.task)

    def _ended(self, key: Hashable, task: asyncio.Future[Any]) -> None:
        kept = self._kept.get(key)
        if kept is None or kept.task is not task:
            return  # It made room for another.
        if task.cancelled() or task.exception() is not None:
            del self._kept[key]
        else:
            kept.until = task.get_loop().time() + self._kept_seconds
