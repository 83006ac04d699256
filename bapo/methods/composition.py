"""Collection of a batch and of the outcome of each group, by which every method reports its batches the same way."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.engines.base import BatchItem
from bapo.methods.base import ComposedBatch
from bapo.records import PromptVisit, SourceCounts
from bapo.rollout import BatchSource, RolloutGroup


class Composition:
    """Collects the groups of one training batch and the reasons of those left out."""

    def __init__(self, batch_size: int, *, repeats_prompts: bool = False) -> None:
        """Take `repeats_prompts`: the batch may hold several groups of a prompt, of different steps or sources."""
        self.batch_size = batch_size
        self._repeats_prompts = repeats_prompts
        self.items: list[BatchItem] = []
        self._num_joined = 0
        self._visits: list[PromptVisit] = []
        self._num = dict.fromkeys(SourceCounts.model_fields, 0)

    @property
    def room(self) -> int:
        """Groups that still fit into the batch."""
        return self.batch_size - len(self.items) + self._num_joined

    @property
    def prompt_ids(self) -> set[str]:
        """Prompts in the batch so far."""
        return {item.group.prompt_id for item in self.items}

    def train_on(
        self,
        group: RolloutGroup,
        source: BatchSource,
        *,
        responses: tuple[int, ...] | None = None,
        advantages: tuple[float, ...] | None = None,
        demonstration: float | None = None,
    ) -> None:
        """Add a group, or some of its responses, to the batch; with its demonstration if that has an advantage."""
        assert self.room > 0, "the batch is full"
        self.items.append(BatchItem(group, source, responses, advantages, demonstration))
        self._visits.append(_visit(group, source, None))

    def train_on_fresh(
        self,
        group: RolloutGroup,
        *,
        advantages: tuple[float, ...] | None = None,
        demonstration: float | None = None,
    ) -> None:
        """Add a fresh group, or record that the batch had no room for it."""
        if self.room:
            self.train_on(group, BatchSource.FRESH, advantages=advantages, demonstration=demonstration)
        else:
            self.leave_out(group, BatchSource.FRESH, "no_room")

    def join(
        self, group: RolloutGroup, source: BatchSource, *, responses: tuple[int, ...], advantages: tuple[float, ...]
    ) -> None:
        """Add single responses to their prompt's group in the batch; they do not count towards B."""
        self.items.append(BatchItem(group, source, responses, advantages))
        self._visits.append(_visit(group, source, None))
        self._num_joined += 1

    def leave_out(self, group: RolloutGroup, source: BatchSource, reason: str) -> None:
        """Record why a generated group is not trained on."""
        self._visits.append(_visit(group, source, reason))

    def count(self, **num: int) -> None:
        """Set counts that do not follow from the items."""
        self._num.update(num)

    def _num_distinct(self) -> int:
        if self._repeats_prompts:
            return len({(item.group.prompt_id, item.source, item.group.step) for item in self.items})
        return len(self.prompt_ids)

    def result(self, fresh: Sequence[RolloutGroup], reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        """Return the finished batch. Asserts that it holds no prompt twice, or no group twice, and at most B groups.

        Joined responses come on top of B, so that the fill rate can exceed 1.
        """
        sources = [item.source for item in self.items]
        assert self._num_distinct() == len(self.items)
        assert self.room >= 0
        counts = self._num | {
            "fresh": len(fresh),
            "x1": sources.count(BatchSource.FRESH),
            "reevaluated": len(reevaluated),
            "x2": sources.count(BatchSource.REEVALUATED),
            "x3": sources.count(BatchSource.REUSED),
            "batch": len(sources),
            "batch_size": self.batch_size,
        }
        return ComposedBatch(
            self.items,
            SourceCounts(**counts | {"fill_rate": len(sources) / self.batch_size}),
            self._visits,
        )


def _visit(group: RolloutGroup, source: BatchSource, reason: str | None) -> PromptVisit:
    return PromptVisit(group.prompt_id, source, group.num_correct, group.policy_version, reason is None, reason)


def reason_left_out(group: RolloutGroup) -> str:
    """Return why a filter left a fresh group out."""
    if group.num_correct == 0:
        return "all_wrong"
    return "all_correct" if group.num_correct == group.group_size else "filtered"
