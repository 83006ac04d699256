"""Machines as the queue sees them: capacity, and the part of it in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of a machine."""

    index: int
    memory_gib: float | None = None
    """`None` if the machine could not say."""


class Machine(NamedTuple):
    """A worker, and what its runs hold."""

    id: str
    name: str
    host: str
    slots: int
    gpus: Sequence[Gpu] = ()
    memory_gib: float | None = None
    """`None` if it has not said: then it counts as enough."""
    slots_held: int = 0
    gpus_held: frozenset[int] = frozenset()
    memory_held_gib: float = 0.0
    seconds_left: float | None = None
    """Until it ends; None where that is not known."""
