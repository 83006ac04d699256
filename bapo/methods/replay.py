"""The common part of methods that keep the groups of earlier steps in one buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from bapo.buffers import HighQualityBuffer, PastGroups
from bapo.config.run import RunConfig
from bapo.methods.lines import (
    REUSE,
    STORE,
    Line,
    Rule,
    WalkedStep,
    chosen_line,
    reused_line,
    roll_out_line,
    stored_line,
    sync_line,
    update_line,
)
from bapo.methods.plain import PlainMethod
from bapo.records import BufferState
from bapo.rollout import RolloutGroup

BufferT = TypeVar("BufferT", bound=HighQualityBuffer | PastGroups)


class ReplayMethod(PlainMethod, Generic[BufferT]):
    """Base of methods with one buffer; a subclass says which groups are stored and which are trained on again."""

    name_in_checkpoint: ClassVar[str] = "buffer"
    """Name of the buffer's state in a checkpoint."""
    stores: ClassVar[Rule] = STORE
    """Rule in words by which groups are stored."""
    reuses: ClassVar[Rule] = REUSE
    """Rule in words by which stored groups are trained on again."""

    def __init__(self, buffer: BufferT, config: RunConfig | None = None) -> None:
        self._buffer = buffer
        super().__init__(config)

    def lines(self, step: WalkedStep) -> Sequence[Line]:
        return [
            *([sync_line(step)] if self._sync_interval > 1 else []),
            roll_out_line(step, self.rolls_out),
            stored_line(step, self.stores),
            chosen_line(step, self.chooses),
            reused_line(step, self.reuses),
            update_line(step, self.updates),
        ]

    def buffers(self, step: int) -> tuple[BufferState | None, BufferState | None]:
        return None, self._buffer.state(step)

    def finish_step(self, step: int) -> None:
        super().finish_step(step)
        self._buffer.expire(next_step=step + 1)

    def stored_groups(self) -> Sequence[RolloutGroup]:
        return self._buffer.groups()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), self.name_in_checkpoint: self._buffer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        super().load_state_dict(state, payloads)
        self._buffer.load_state_dict(state[self.name_in_checkpoint], payloads)


class StoredGroups(ReplayMethod[HighQualityBuffer]):
    """Base of methods that store one group per prompt; a subclass says which, and what becomes of them.

    Its section has `capacity` and `max_age_steps`.
    """

    _method: Any

    def __init__(self, config: RunConfig) -> None:
        self._candidates: Sequence[RolloutGroup] = ()
        super().__init__(HighQualityBuffer(None, None), config)

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
        self._buffer.capacity = self._capacity()
        self._buffer.max_age_steps = self._method.max_age_steps

    def _capacity(self) -> int | None:
        """Return the maximum number of groups stored; None if there is none."""
        capacity: int | None = self._method.capacity
        return capacity

    def _is_stored(self, group: RolloutGroup, step: int) -> bool:
        """Return whether a fresh group enters the buffer."""
        raise NotImplementedError

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        self._buffer.begin_step()
        # Fixed before today's groups enter: a group is never reused in the step that generated it.
        self._candidates = self._buffer.groups()
        for group in fresh:
            if self._is_stored(group, step):
                self._buffer.put(group)
