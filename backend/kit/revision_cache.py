"""A bounded cache of values computed from recorded data, each valid until its revision changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass
class _Entry(Generic[V]):
    """A value with its revision and size. The lock makes concurrent requests wait for one computation."""

    value: V | None = None
    revision: Hashable = None
    size: int = 0
    computed_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class RevisionCache(Generic[K, V]):
    """Values by key, computed again when their revision has changed; the least recently used are evicted."""

    def __init__(self, max_size: int, size_of: Callable[[V], int] = lambda _: 1) -> None:
        """Limit the sum of the sizes of all values; by default, a value has size 1."""
        self._max_size, self._size_of = max_size, size_of
        self._size = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()

    def get(
        self,
        key: K,
        revision_now: Callable[[], Hashable],
        compute: Callable[[V | None], V],
        min_seconds: float = 0.0,
    ) -> V:
        """Return the value of a key at its present revision.

        `revision_now` is read before `compute`, so that data stored meanwhile makes the next call compute again; a
        revision of None caches nothing. `compute` receives the previous value, if there is one. Within `min_seconds` of
        a computation, its value is returned whatever its revision.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
        with entry.lock:
            try:
                return self._current(key, entry, revision_now, compute, min_seconds)
            finally:
                if entry.value is None:
                    self._drop(key, entry)

    def _current(
        self,
        key: K,
        entry: _Entry[V],
        revision_now: Callable[[], Hashable],
        compute: Callable[[V | None], V],
        min_seconds: float,
    ) -> V:
        known = entry.value
        if known is not None and time.monotonic() - entry.computed_at < min_seconds:
            return known
        revision = revision_now()
        if known is not None and revision is not None and revision == entry.revision:
            return known
        value = compute(known)
        if revision is not None:
            self._keep(key, entry, value, revision)
        return value

    def peek(self, key: K) -> V | None:
        """Return the cached value, which may be outdated, without computing or waiting."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.value is None:
                return None
            self._entries.move_to_end(key)
            return entry.value

    def forget(self, run_id: str) -> None:
        """Evict the values of a deleted run."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if run_id in self.runs_of(key, entry.value)]:
                self._size -= self._entries.pop(key).size

    def runs_of(self, key: K, value: V | None) -> Collection[Hashable]:
        """Return the runs that a value was computed from: its key, unless a subclass says otherwise."""
        return (key,)

    def _drop(self, key: K, entry: _Entry[V]) -> None:
        """Forget an entry without a value: it counts towards no bound."""
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]

    def _keep(self, key: K, entry: _Entry[V], value: V, revision: Hashable) -> None:
        with self._lock:
            entry.value, entry.revision, entry.computed_at = value, revision, time.monotonic()
            if self._entries.get(key) is not entry:
                return  # Evicted while it was computed.
            self._size += self._size_of(value) - entry.size
            entry.size = self._size_of(value)
            while self._size > self._max_size:
                self._size -= self._entries.popitem(last=False)[1].size
