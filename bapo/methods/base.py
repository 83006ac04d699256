"""The protocol of a method: which prompts to roll out, which to re-evaluate, which groups to train on.

The loop (`bapo.loop`) asks in the order of Algorithm 1; a method holds the buffers and thresholds it needs. Torch-free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bapo.config.run import RunConfig
from bapo.engines.base import BatchItem
from bapo.methods.lines import Line, WalkedStep
from bapo.records import BufferState, PromptVisit, SourceCounts, ThresholdValues
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


@dataclass(frozen=True, slots=True)
class ComposedBatch:
    """The training batch of one step, and the outcome of every group that was considered."""

    items: Sequence[BatchItem]
    """X1, then X2, then X3."""
    counts: SourceCounts
    visits: Sequence[PromptVisit]
    """Every fresh and re-evaluated group, and every reused one."""
    supervised: Sequence[str] = ()
    """Prompts whose demonstrations the step trains on in a supervised step, after its update."""


class Method(Protocol):
    """One training method; `step` counts from 1 in every call."""

    def syncs_rollout_policy(self, step: int) -> bool:
        """Return whether α takes the current weights before this step generates (Algorithm 1, lines 3–5)."""

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        """Return the prompts to roll out: those that the shuffled pass schedules, or others of the pool."""

    def wants_more_prompts(self, step: int, fresh: Sequence[RolloutGroup]) -> bool:
        """Return whether to roll out another batch of prompts in this step; called again after each one.

        `fresh` holds all fresh groups of the step so far.
        """

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        """Take this step's fresh groups: fix the candidates of X3, then store groups (lines 8 and 9)."""

    def prompts_to_reevaluate(self, step: int) -> Sequence[str]:
        """Return the ids of the prompts that the current policy answers again in this step (lines 13 and 14)."""

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        """Return X1 ∪ X2 ∪ X3 from the observed fresh groups, no prompt twice (lines 11–17)."""

    def num_passes(self, step: int) -> int:
        """Return the number of passes over the step's batch, at least one."""

    def thresholds(self) -> ThresholdValues:
        """Return the thresholds of the current step."""

    def buffers(self, step: int) -> tuple[BufferState | None, BufferState | None]:
        """Return the states of the difficult and the high-quality buffer after the step; None if it has none."""

    def finish_step(self, step: int) -> None:
        """Move to the thresholds of the next step (Eq. 8) and drop entries that are too old."""

    def lines(self, step: WalkedStep) -> Sequence[Line]:
        """Return the method's rule line by line, with what each line did in a recorded step; reads no state."""

    def reconfigure(self, config: RunConfig) -> None:
        """Apply the config of a parameter change from the next step on; buffers and r_tot are kept."""

    def stored_groups(self) -> Sequence[RolloutGroup]:
        """Return the groups whose payloads a checkpoint must keep, in the order that `load_state_dict` expects."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state without payloads, ready for JSON."""

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        """Restore the state from `state_dict`, with the payloads of `stored_groups`."""
