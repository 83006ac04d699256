"""Values are computed again when their revision changes, and the least recently used are evicted."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from backend.kit.revision_cache import RevisionCache


class Computation:
    """Counts its calls, and remembers the previous values that it was given."""

    def __init__(self) -> None:
        self.given: list[int | None] = []

    def __call__(self, known: int | None) -> int:
        self.given.append(known)
        return len(self.given)


def test_a_value_is_computed_once_per_revision_from_the_previous_one() -> None:
    cache, compute = RevisionCache[str, int](10), Computation()
    assert [cache.get("a", revision, compute) for revision in [lambda: 5] * 2 + [lambda: 6] * 2] == [1, 1, 2, 2]
    assert compute.given == [None, 1]


def test_a_revision_of_none_caches_nothing() -> None:
    cache, compute = RevisionCache[str, int](10), Computation()
    assert [cache.get("a", lambda: None, compute) for _ in range(2)] == [1, 2]
    assert cache.peek("a") is None


def test_a_recent_value_is_returned_whatever_its_revision() -> None:
    cache, compute = RevisionCache[str, int](10), Computation()
    cache.get("a", lambda: 1, compute)
    assert cache.get("a", lambda: 2, compute, min_seconds=1_000.0) == 1
    assert cache.get("a", lambda: 2, compute) == 2


def test_the_least_recently_used_values_are_evicted_beyond_the_bound() -> None:
    # Room for sizes of 10 in all: 4 + 4 fit, a third 4 does not.
    cache: RevisionCache[str, str] = RevisionCache(10, len)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda: 1, lambda _: "four")
    assert [cache.peek(key) for key in ("a", "b", "c")] == ["four", None, "four"]


def test_a_value_that_grows_counts_at_its_present_size() -> None:
    cache: RevisionCache[str, str] = RevisionCache(10, len)
    cache.get("a", lambda: 1, lambda _: "x" * 9)
    cache.get("a", lambda: 2, lambda _: "x")
    cache.get("b", lambda: 1, lambda _: "x" * 9)
    assert (cache.peek("a"), cache.peek("b")) == ("x", "x" * 9)


def test_a_deleted_run_is_forgotten_even_while_its_value_is_computed() -> None:
    cache = RevisionCache[str, int](10)

    def compute(_: int | None) -> int:
        cache.forget("a")
        return 1

    assert cache.get("a", lambda: 1, compute) == 1
    assert cache.peek("a") is None
    cache.get("b", lambda: 1, lambda _: 2)
    cache.forget("b")
    assert cache.peek("b") is None


def test_a_failed_computation_leaves_the_next_call_to_compute() -> None:
    cache = RevisionCache[str, int](10)

    def fail(_: int | None) -> int:
        raise LookupError

    with pytest.raises(LookupError):
        cache.get("a", lambda: 1, fail)
    assert cache.get("a", lambda: 1, lambda _: 7) == 7


def test_keys_without_a_cached_value_take_no_room() -> None:
    cache = RevisionCache[str, int](10)

    def fail(_: int | None) -> int:
        raise LookupError

    for number in range(100):
        cache.get(f"no revision {number}", lambda: None, lambda _: 1)
        with pytest.raises(LookupError):
            cache.get(f"refused {number}", lambda: 1, fail)
    assert len(cache._entries) == 0


def test_concurrent_requests_share_one_computation() -> None:
    cache, compute = RevisionCache[str, int](10), Computation()
    all_there = threading.Barrier(8)

    def read(_: int) -> int:
        all_there.wait()
        return cache.get("a", lambda: 1, compute)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [1] * 8
    assert compute.given == [None]
