"""A Ray actor's handle in an envelope: one process may keep it without the packages of the actor's class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ray.cloudpickle


class SealedHandle:
    """A handle as bytes. It stays closed on its first way, to who keeps it, and is the handle again after the next.

    Ray imports an actor's class wherever it unpickles a handle.
    """

    def __init__(self, handle: bytes, *, arrived: bool = False) -> None:
        self._handle = handle
        self._arrived = arrived

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        """Return the call by which the next process rebuilds the handle."""
        return (ray.cloudpickle.loads if self._arrived else _arrived, (self._handle,))


def sealed(handle: Any) -> SealedHandle:
    """Close the envelope."""
    return SealedHandle(ray.cloudpickle.dumps(handle))


def _arrived(handle: bytes) -> SealedHandle:
    return SealedHandle(handle, arrived=True)
