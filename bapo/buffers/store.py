"""Common part of buffers: counts of entries that entered and left in one step, and groups kept by their age."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from bapo.records import BufferState
from bapo.rollout import RolloutGroup

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Flow:
    """Counts of one step; a buffer starts a new one when the step begins."""

    entered: int = 0
    """New prompts."""
    refreshed: int = 0
    """Prompts that were already stored, and were replaced."""
    left_improved: int = 0
    """Prompts whose accuracy a newer group raised above c1."""
    evicted: int = 0
    """Removed to keep within the capacity."""
    expired: int = 0
    """Removed for their age."""

    def state(self, ages: Sequence[int], capacity: int | None) -> BufferState:
        """Return the buffer after the step, from its entries' ages in steps, oldest first, and this flow."""
        return BufferState(
            size=len(ages),
            capacity=capacity,
            age_mean=sum(ages) / len(ages) if ages else None,
            age_max=ages[0] if ages else None,
            **asdict(self),
        )


class GroupStore(Generic[K]):
    """Groups by key, the longest stored first."""

    capacity: int | None = None

    def __init__(self) -> None:
        # Not a plain dict: taking its first entry passes over the places of all those taken before.
        self._groups: OrderedDict[K, RolloutGroup] = OrderedDict()
        self._flow = Flow()

    def __len__(self) -> int:
        return len(self._groups)

    def begin_step(self) -> None:
        """Start counting the flow of a new step."""
        self._flow = Flow()

    def groups(self) -> Sequence[RolloutGroup]:
        """Return all groups, the longest stored first."""
        return list(self._groups.values())

    def state(self, step: int) -> BufferState:
        """Return size, ages and flow after the step."""
        return self._flow.state([step - group.step for group in self._groups.values()], self.capacity)

    def state_dict(self) -> dict[str, Any]:
        """Return the groups in order, ready for JSON, without payloads."""
        return {"groups": [group.without_payload() for group in self._groups.values()]}
