"""The rows of TransferQueue that an update runs over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bapo.engines.base import BatchItem
from bapo.engines.verl.agent_loop import ResponseSummary
from bapo.engines.verl.loss import GIVEN, SOURCES
from bapo.engines.verl.payload import GroupPayload


@dataclass(frozen=True, slots=True)
class Rows:
    """One row per response, those of an item together."""

    keys: list[str]
    lengths: list[int]
    """Prompt and response tokens."""
    sources: list[int]
    """Positions in SOURCES; GIVEN for demonstrations."""
    response_lengths: list[int]
    advantages: list[float | None]
    """Advantages, if the method defines them; None if they follow from the rewards of the item's rows."""
    is_on_policy: list[bool]
    """True if the weights before the step's update generated them; False outside an update."""

    @classmethod
    def of(
        cls,
        items: Sequence[BatchItem],
        *,
        step: int | None = None,
        demonstrations: Mapping[str, GroupPayload] | None = None,
    ) -> Rows:
        """Return the rows of the responses that these items train on, in the update of a step; with those of their
        `demonstrations`, by prompt, if these are given.
        """
        rows = cls([], [], [], [], [], [])
        for item in items:
            responses = responses_of(item)
            keys = _payload(item).keys
            rows.keys.extend(keys if item.responses is None else [keys[position] for position in item.responses])
            rows.lengths.extend(response.prompt_length + response.length for response in responses)
            rows.sources.extend([SOURCES.index(item.source)] * len(responses))
            rows.response_lengths.extend(response.length for response in responses)
            rows.advantages.extend(item.advantages or [None] * len(responses))
            rows.is_on_policy.extend([step is not None and item.is_on_policy(step)] * len(responses))
            if demonstrations is not None and item.demonstration is not None:
                rows.add_demonstration(demonstrations[item.group.prompt_id], item.demonstration)
        return rows

    def add_demonstration(self, payload: GroupPayload, advantage: float | None = None) -> None:
        """Add the row of a demonstration; without an advantage in a supervised step."""
        (response,) = payload.responses
        self.keys.extend(payload.keys)
        self.lengths.append(response.prompt_length + response.length)
        self.sources.append(GIVEN)
        self.response_lengths.append(response.length)
        self.advantages.append(advantage)
        self.is_on_policy.append(False)


def responses_of(item: BatchItem) -> Sequence[ResponseSummary]:
    """Return the responses that the item trains on."""
    responses = _payload(item).responses
    return responses if item.responses is None else [responses[position] for position in item.responses]


def _payload(item: BatchItem) -> GroupPayload:
    assert isinstance(item.group.payload, GroupPayload)
    return item.group.payload
