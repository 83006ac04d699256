"""The protocol of a method: what to roll out with, what to answer again, what to train on.

The loop (`bapo.loop`) asks in the order of Algorithm 1; a method holds the buffers and thresholds it needs. Torch-free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bapo.config.run import RunConfig
from bapo.engines.base import BatchItem
from bapo.records import BufferState, PromptVisit, SourceCounts, ThresholdValues
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


@dataclass(frozen=True, slots=True)
class ComposedBatch:
    """The training batch of one step, and what became of every group that was considered."""

    items: Sequence[BatchItem]
    """X1, then X2, then X3."""
    counts: SourceCounts
    visits: Sequence[PromptVisit]
    """Every fresh and re-evaluated group, and every reused one."""


class Method(Protocol):
    """One training method; `step` counts from 1 in every call."""

    def syncs_rollout_policy(self, step: int) -> bool:
        """Whether α takes the current weights before this step generates (Algorithm 1, lines 3–5)."""

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        """The prompts rolled out: those that are due in the shuffled pass, or others of all training problems."""

    def wants_more_prompts(self, step: int, fresh: Sequence[RolloutGroup]) -> bool:
        """Whether another batch of prompts is rolled out before the rest of the step; asked anew after each one.

        `fresh` holds all fresh groups of the step so far.
        """

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        """See this step's fresh groups: fix the candidates of X3, then store (lines 8 and 9)."""

    def prompts_to_reevaluate(self, step: int) -> Sequence[str]:
        """Prompt ids that the current policy shall answer again in this step (lines 13 and 14)."""

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        """X1 ∪ X2 ∪ X3 of the observed fresh groups, no prompt twice (lines 11–17)."""

    def num_passes(self, step: int) -> int:
        """How often the step trains on its batch, at least once."""

    def thresholds(self) -> ThresholdValues:
        """The thresholds in force in the step under way."""

    def buffers(self, step: int) -> tuple[BufferState | None, BufferState | None]:
        """Difficult and high-quality buffer after the step; None where the method has none."""

    def finish_step(self, step: int) -> None:
        """Move to the thresholds of the next step (Eq. 8) and drop what is too old."""

    def reconfigure(self, config: RunConfig) -> None:
        """Take the config of a parameter change, from the next step on; buffers and r_tot stay."""

    def stored_groups(self) -> Sequence[RolloutGroup]:
        """Groups whose payloads a checkpoint must keep, in the order that `load_state_dict` expects them."""

    def state_dict(self) -> dict[str, Any]:
        """JSON-ready state without payloads."""

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        """Restore what `state_dict` gave, with the payloads of `stored_groups`."""
