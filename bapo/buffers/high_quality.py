"""B_high: complete groups of good quality from the last steps (arXiv:2602.20722, §3.2 and Alg. 1, line 9)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from bapo.buffers.store import GroupStore
from bapo.rollout import RolloutGroup


class HighQualityBuffer(GroupStore[str]):
    """One group per prompt, the newest wins; groups leave when they are older than `max_age_steps`, if that is set."""

    def __init__(self, capacity: int | None, max_age_steps: int | None) -> None:
        super().__init__()
        self.capacity = capacity
        self.max_age_steps = max_age_steps

    def put(self, group: RolloutGroup) -> None:
        """Store a group of the current step, replacing one of the same prompt; the oldest makes room."""
        if self._groups.pop(group.prompt_id, None) is None:
            self._flow.entered += 1
        else:
            self._flow.refreshed += 1
        self._groups[group.prompt_id] = group
        if self.capacity is not None and len(self._groups) > self.capacity:
            self._groups.popitem(last=False)
            self._flow.evicted += 1

    def expire(self, next_step: int) -> None:
        """Remove the groups that will be older than `max_age_steps` in `next_step`."""
        if self.max_age_steps is None:
            return
        while self._groups and next_step - next(iter(self._groups.values())).step > self.max_age_steps:
            self._groups.popitem(last=False)
            self._flow.expired += 1

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        """Restore the state from `state_dict`, with the payloads of `groups()`."""
        restored = (
            RolloutGroup.restored(entry, payload) for entry, payload in zip(state["groups"], payloads, strict=True)
        )
        self._groups = OrderedDict((group.prompt_id, group) for group in restored)
        # A fork may have less room than its parent.
        while self.capacity is not None and len(self._groups) > self.capacity:
            self._groups.popitem(last=False)
