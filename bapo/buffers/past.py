"""Past groups per prompt, for methods that retrieve a prompt's own responses (arXiv:2506.09340)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.buffers.store import Flow, GroupStore
from bapo.rollout import RolloutGroup


class PastGroups(GroupStore[tuple[str, int]]):
    """The newest `groups_per_prompt` groups of each prompt; those older than `max_age_steps`, if set, are removed.

    Keys are prompt and step; every stored group counts as entered.
    """

    def __init__(self, groups_per_prompt: int, max_age_steps: int | None) -> None:
        super().__init__()
        self.groups_per_prompt = groups_per_prompt
        self.max_age_steps = max_age_steps
        self._steps: dict[str, list[int]] = {}
        """The steps of each prompt's groups, oldest first."""

    def put(self, group: RolloutGroup) -> None:
        """Store a group of the current step; the oldest of its prompt makes room."""
        self._flow.entered += 1
        self._add(group)

    def _add(self, group: RolloutGroup) -> None:
        steps = self._steps.setdefault(group.prompt_id, [])
        steps.append(group.step)
        self._groups[group.prompt_id, group.step] = group
        while len(steps) > self.groups_per_prompt:
            del self._groups[group.prompt_id, steps.pop(0)]
            self._flow.evicted += 1

    def of(self, prompt_id: str) -> Sequence[RolloutGroup]:
        """Return the prompt's groups, oldest first."""
        return [self._groups[prompt_id, step] for step in self._steps.get(prompt_id, ())]

    def expire(self, next_step: int) -> None:
        """Remove the groups that will be older than `max_age_steps` in `next_step`."""
        if self.max_age_steps is None:
            return
        while self._groups:
            prompt_id, step = next(iter(self._groups))
            if next_step - step <= self.max_age_steps:
                return
            del self._groups[prompt_id, step]
            # The oldest of all is the oldest of its prompt.
            self._steps[prompt_id].pop(0)
            if not self._steps[prompt_id]:
                del self._steps[prompt_id]
            self._flow.expired += 1

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        """Restore the state from `state_dict`, with the payloads of `groups()`; a fork may hold fewer per prompt."""
        self._groups.clear()
        self._steps.clear()
        for entry, payload in zip(state["groups"], payloads, strict=True):
            self._add(RolloutGroup.restored(entry, payload))
        self._flow = Flow()
