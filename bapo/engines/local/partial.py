"""Partial rollouts (arXiv:2501.12599, §2.6.2): responses that are generated in segments, one in each step.

A response that has not ended after `rollout.max_segment_tokens` tokens is continued in the next step, by the weights
that α has then. Its random numbers are those of its positions in the step that began it, so that one whose weights did
not change in between has the tokens that a single call would have drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bapo.config.sections import RolloutConfig
from bapo.engines.local.decoding import Prefix
from bapo.engines.local.payload import GroupPayload
from bapo.engines.local.repetition import RepetitionStop
from bapo.engines.local.sampling import SampledGroup
from bapo.records import SegmentStats
from bapo.tasks.base import Problem


class Beginning(NamedTuple):
    """The step that began a group, and its place among the prompts of that step: where its random numbers lie."""

    step: int
    place: int
    num_prompts: int


@dataclass(slots=True, eq=False)
class PartialGroup:
    """A group whose responses are generated in segments."""

    problem: Problem
    prompt: tuple[int, ...]
    """Token ids."""
    beginning: Beginning
    responses: list[SampledGroup]
    """Each response as a group of one."""
    unfinished: list[int]
    """Responses that have neither ended nor reached the token limit."""
    versions: list[int]
    """Policy version of each segment."""

    @property
    def sampled(self) -> SampledGroup:
        """The responses so far."""
        return SampledGroup.joined(self.responses)


class _Segment(NamedTuple):
    """The next tokens of some responses that have the same prefix."""

    group: PartialGroup
    responses: Sequence[int]
    prefix: Prefix


class PartialRollouts:
    """The groups with unfinished responses, in the order in which they were begun."""

    def __init__(
        self, rollout: RolloutConfig, max_segment_tokens: int, repetition_stop: RepetitionStop | None = None
    ) -> None:
        self._group_size = rollout.group_size
        self._max_response_tokens = rollout.max_response_tokens
        self._max_segment_tokens = max_segment_tokens
        self._repetition_stop = repetition_stop
        self._groups: list[PartialGroup] = []
        self._num_dropped = 0

    def generate(
        self,
        begun: Sequence[tuple[Problem, tuple[int, ...]]],
        *,
        step: int,
        version: int,
        sample: Callable[[Sequence[Prefix], Tensor], Sequence[SampledGroup]],
        uniforms: Callable[[int, int], Tensor],
    ) -> tuple[Sequence[PartialGroup], SegmentStats]:
        """Generate the next segment of every unfinished response, and the first of the responses to these problems and
        prompts; return the groups that are complete.

        `uniforms` returns the random numbers of so many responses that a step begins. Of a prompt with two complete
        groups, as at the turn of an epoch, the later one waits for the next step.
        """
        num_continued = self._num_unfinished()
        for place, (problem, prompt) in enumerate(begun):
            beginning, all_responses = Beginning(step, place, len(begun)), list(range(self._group_size))
            responses = [_NO_TOKENS] * self._group_size
            self._groups.append(PartialGroup(problem, prompt, beginning, responses, all_responses, []))
        segments = [segment for group in self._groups for segment in self._next_segments(group)]
        beginnings = {segment.group.beginning.step: segment.group.beginning for segment in segments}
        draws = {each.step: uniforms(each.step, each.num_prompts * self._group_size) for each in beginnings.values()}
        drawn = sample(
            [segment.prefix for segment in segments],
            torch.cat([draws[segment.group.beginning.step][self._rows(segment)] for segment in segments]),
        )
        for segment, tokens in zip(segments, drawn, strict=True):
            for place, response in enumerate(segment.responses):
                earlier = segment.group.responses[response]
                segment.group.responses[response] = _continued(earlier, tokens.only([place]))
        for group in dict.fromkeys(segment.group for segment in segments):
            group.versions.append(version)
            group.unfinished = [each for each in group.unfinished if self._continues(group, each)]
        complete = self._take_complete()
        num_segments = [
            math.ceil(length / self._max_segment_tokens) for group in complete for length in group.sampled.lengths
        ]
        num_dropped, self._num_dropped = self._num_dropped, 0
        return complete, SegmentStats(
            num_tokens=sum(sum(each.lengths) for each in drawn),
            num_continued=num_continued,
            num_unfinished=self._num_unfinished(),
            num_dropped=num_dropped,
            segments_mean=sum(num_segments) / len(num_segments) if num_segments else None,
            segments_max=max(num_segments, default=None),
        )

    def _num_unfinished(self) -> int:
        return sum(len(group.unfinished) for group in self._groups)

    def _continues(self, group: PartialGroup, index: int) -> bool:
        """Return whether only the end of its segment cut a response."""
        response = group.responses[index]
        length = len(group.versions) * self._max_segment_tokens
        is_cut = response.ended == (False,) and response.lengths == (length,) and length < self._max_response_tokens
        return is_cut and not (self._repetition_stop and self._repetition_stop.applies(response.token_ids))

    def _next_segments(self, group: PartialGroup) -> list[_Segment]:
        if not group.versions:
            return [_Segment(group, group.unfinished, Prefix(group.prompt, self._group_size))]
        return [
            _Segment(group, [response], Prefix([*group.prompt, *tokens], 1, len(tokens)))
            for response in group.unfinished
            for tokens in group.responses[response].responses()
        ]

    def _rows(self, segment: _Segment) -> list[int]:
        """Return the places of a segment's responses among those that were begun in the same step."""
        return [segment.group.beginning.place * self._group_size + response for response in segment.responses]

    def _take_complete(self) -> Sequence[PartialGroup]:
        complete: dict[str, PartialGroup] = {}
        for group in self._groups:
            if not group.unfinished:
                complete.setdefault(group.problem.prompt_id, group)
        self._groups = [group for group in self._groups if complete.get(group.problem.prompt_id) is not group]
        return list(complete.values())

    def payloads(self) -> Sequence[GroupPayload]:
        """Return the responses so far of each group; rewards are not known yet."""
        return [GroupPayload(group.prompt, group.sampled, (0,) * self._group_size) for group in self._groups]

    def state_dict(self) -> list[Any]:
        """Return what else there is to know of the groups, ready for JSON."""
        return [[group.problem.prompt_id, group.beginning, group.unfinished, group.versions] for group in self._groups]

    def load_state_dict(
        self, state: Sequence[Any], payloads: Sequence[GroupPayload], problems: Mapping[str, Problem]
    ) -> None:
        """Restore the groups from `state_dict` and `payloads`."""
        self._groups = [
            PartialGroup(
                problems[prompt_id],
                payload.prompt,
                Beginning(*beginning),
                [payload.sampled.only([response]) for response in range(self._group_size)],
                unfinished,
                versions,
            )
            for (prompt_id, beginning, unfinished, versions), payload in zip(state, payloads, strict=True)
        ]

    def drop(self, num_responses: int) -> None:
        """Count responses of a checkpoint that other settings began, and that are not continued."""
        self._num_dropped += num_responses


_NO_TOKENS = SampledGroup(torch.empty(0, dtype=torch.long), torch.empty(0), (0,), (False,))


def _continued(response: SampledGroup, segment: SampledGroup) -> SampledGroup:
    return SampledGroup(
        torch.cat([response.token_ids, segment.token_ids]),
        torch.cat([response.logprobs, segment.logprobs]),
        (len(response.token_ids) + len(segment.token_ids),),
        segment.ended,
    )
