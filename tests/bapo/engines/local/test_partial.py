"""Partial rollouts on the local engine: which step completes which group, by which weights, and after a checkpoint."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bapo.config import RunConfig, apply_changes
from bapo.config.sections import RolloutConfig
from bapo.engines.base import BatchItem, Generation, Policy
from bapo.records import SegmentStats
from bapo.rollout import BatchSource, RolloutGroup, prompt_identity
from bapo.tasks.base import Problem
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    from bapo.engines.local.decoding import Prefix
    from bapo.engines.local.engine import LocalEngine
    from bapo.engines.local.partial import PartialRollouts
    from bapo.engines.local.sampling import SampledGroup

G = 4
LIMIT, SEGMENT = 8, 3


class EvenTask:
    """A response is right when the number of its digits is even."""

    name = "even"
    num_reward_failures = 0

    def __init__(self) -> None:
        self.train: Sequence[Problem] = [
            Problem(prompt_identity("even", text), "even", text, {}) for text in ("1", "23", "45", "678", "9", "02")
        ]
        self.evaluation_sets: Mapping[str, Sequence[Problem]] = {}

    def reward(self, problem: Problem, response_text: str) -> int:
        return int(sum(character.isdigit() for character in response_text) % 2 == 0)


TASK = EvenTask()


def make_engine(folder: Path, **changes: Any) -> LocalEngine:
    settings: dict[str, Any] = {
        "model.path": str(folder),
        "rollout.group_size": G,
        "rollout.max_response_tokens": LIMIT,
        "rollout.max_prompt_tokens": 5,
        "training.learning_rate": 0.01,
        "training.steps": 1,
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    return LocalEngine(RunConfig.model_validate(apply_changes({}, settings)), TASK)


@pytest.fixture
def engine(toy_folder: Path) -> LocalEngine:
    return make_engine(toy_folder, rollout__max_segment_tokens=SEGMENT)


def prompts_of(step: int) -> Sequence[Problem]:
    """The problems of a step: 0 and 1, 2 and 3, 4 and 5, and from the beginning."""
    begin = 2 * (step - 1) % len(TASK.train)
    return TASK.train[begin : begin + 2]


def generate(engine: LocalEngine, step: int, problems: Sequence[Problem] | None = None) -> Generation:
    asked = prompts_of(step) if problems is None else problems
    return engine.generate(asked, group_size=G, policy=Policy.ROLLOUT, step=step, purpose="rollout")


def train(engine: LocalEngine, step: int) -> None:
    """Update the policy on its own answers, with nonzero advantages, and copy it to α."""
    answers = engine.generate(prompts_of(1), group_size=G, policy=Policy.CURRENT, step=step, purpose="reevaluation")
    items = [BatchItem(each, BatchSource.REEVALUATED, advantages=(1.0, -1.0) * (G // 2)) for each in answers.groups]
    engine.update(items, step=step)
    engine.sync_rollout_policy(step)


def recomputed(model: PreTrainedModel, group: RolloutGroup, response: list[int]) -> Tensor:
    """Log-probabilities of a response from one forward pass of these weights."""
    prompt = list(group.payload.prompt)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + response]), use_cache=False).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(response).unsqueeze(1)).squeeze(1)


def responses(group: RolloutGroup) -> list[list[int]]:
    found: list[list[int]] = group.payload.sampled.responses()
    return found


def segments(generation: Generation) -> SegmentStats:
    assert generation.stats.segments is not None
    return generation.stats.segments


class Scripted:
    """Draws responses of given lengths: (step that begins it, row in that step) → tokens, and whether it ends then."""

    def __init__(self, lengths: Mapping[tuple[int, int], int]) -> None:
        self._lengths = lengths
        self.prefixes: list[list[Sequence[int]]] = []

    def uniforms(self, step: int, num_responses: int) -> Tensor:
        return torch.tensor([[step, row] for row in range(num_responses)])

    def sample(self, prefixes: Sequence[Prefix], uniforms: Tensor) -> list[SampledGroup]:
        self.prefixes.append([prefix.tokens for prefix in prefixes])
        rows = ((int(step), int(row)) for step, row in uniforms.tolist())
        return [
            SampledGroup.joined([self._segment(next(rows), prefix.num_begun) for _ in range(prefix.num_rows)])
            for prefix in prefixes
        ]

    def _segment(self, key: tuple[int, int], num_begun: int) -> SampledGroup:
        length = self._lengths[key]
        num_new = min(length - num_begun, SEGMENT)
        has_ended = num_begun + num_new == length < LIMIT
        return SampledGroup(
            torch.arange(num_begun, num_begun + num_new), torch.zeros(num_new), (num_new,), (has_ended,)
        )


def test_a_group_is_complete_in_the_step_that_ends_its_last_response() -> None:
    # Two responses to each prompt, 3 tokens of each in a step, at most 8 in all.
    rollout = RolloutConfig(group_size=2, max_response_tokens=LIMIT, max_segment_tokens=SEGMENT)
    partial = PartialRollouts(rollout, SEGMENT)
    script = Scripted({(1, 0): 2, (1, 1): 5, (1, 2): 3, (1, 3): 8, (2, 0): 1, (2, 1): 2})
    a, b, c = TASK.train[:3]

    def step(number: int, begun: Sequence[Problem]) -> tuple[list[tuple[str, list[int]]], SegmentStats]:
        prompts = [(problem, (9, TASK.train.index(problem))) for problem in begun]
        complete, stats = partial.generate(
            prompts, step=number, version=number - 1, sample=script.sample, uniforms=script.uniforms
        )
        return [(group.problem.prompt_id, group.versions) for group in complete], stats

    complete, stats = step(1, [a, b])
    # Tokens 2 + 3 of a, 3 + 3 of b: the second responses of both have not ended.
    assert (complete, stats) == ([], SegmentStats(
        num_tokens=11, num_continued=0, num_unfinished=2, num_dropped=0, segments_mean=None, segments_max=None
    ))  # fmt: skip
    complete, stats = step(2, [c])
    # 2 of a, 3 of b, 1 + 2 of c. The responses of a took 1 and 2 segments, those of c 1 each.
    assert (complete, stats) == ([(a.prompt_id, [0, 1]), (c.prompt_id, [1])], SegmentStats(
        num_tokens=8, num_continued=2, num_unfinished=1, num_dropped=0, segments_mean=5 / 4, segments_max=2
    ))  # fmt: skip
    complete, stats = step(3, [])
    # 2 of b, whose second response is cut at the limit after 3 segments.
    assert (complete, stats) == ([(b.prompt_id, [0, 1, 2])], SegmentStats(
        num_tokens=2, num_continued=1, num_unfinished=0, num_dropped=0, segments_mean=2, segments_max=3
    ))  # fmt: skip
    # A prompt is forwarded once for both responses, and with its beginning for each that is continued.
    assert script.prefixes == [
        [(9, 0), (9, 1)],
        [[9, 0, 0, 1, 2], [9, 1, 0, 1, 2], (9, 2)],
        [[9, 1, 0, 1, 2, 3, 4, 5]],
    ]


def test_while_the_weights_stay_segments_are_those_of_a_whole_response(engine: LocalEngine, toy_folder: Path) -> None:
    whole_engine = make_engine(toy_folder)
    whole = {(step, group.prompt_id): group for step in range(1, 4) for group in generate(whole_engine, step).groups}
    # Every response of 7 or 8 tokens takes three steps.
    complete = [group for step in range(1, 6) for group in generate(engine, step).groups]
    assert len(complete) >= 6
    for group in complete[:6]:
        (expected,) = (each for (_, prompt_id), each in whole.items() if prompt_id == group.prompt_id)
        assert responses(group) == responses(expected)
        assert (group.num_correct, group.policy_version) == (expected.num_correct, 0)
        torch.testing.assert_close(group.payload.sampled.logprobs, expected.payload.sampled.logprobs, atol=1e-5, rtol=0)


def test_each_segment_is_drawn_by_the_weights_of_its_step(engine: LocalEngine) -> None:
    weights: dict[int, PreTrainedModel] = {}
    num_continued = 0
    for step in range(1, 7):
        weights[step] = copy.deepcopy(engine._model)
        for group in generate(engine, step).groups:
            sampled = group.payload.sampled
            begun = step - math.ceil(max(sampled.lengths) / SEGMENT) + 1
            assert group.policy_version == begun - 1
            for response, logprobs in zip(responses(group), sampled.logprobs.split(sampled.lengths), strict=True):
                expected = [
                    recomputed(weights[begun + index], group, response)[first : first + SEGMENT]
                    for index, first in enumerate(range(0, len(response), SEGMENT))
                ]
                torch.testing.assert_close(logprobs, torch.cat(expected), atol=2e-5, rtol=0)
                num_continued += len(response) > SEGMENT
        train(engine, step)
    assert num_continued > 3


def test_of_two_groups_of_a_prompt_the_later_one_waits_for_the_next_step() -> None:
    partial = PartialRollouts(
        RolloutConfig(group_size=2, max_response_tokens=LIMIT, max_segment_tokens=SEGMENT), SEGMENT
    )
    a, b, c = TASK.train[:3]
    # The groups of a that steps 1 and 2 begin are both done in step 3.
    script = Scripted({(1, 0): 7, (1, 1): 1, (2, 0): 5, (2, 1): 1, (3, 0): 1, (3, 1): 1, (4, 0): 1, (4, 1): 1})
    completed = []
    for step, problem in enumerate((a, a, b, c), start=1):
        complete, stats = partial.generate(
            [(problem, (9,))], step=step, version=step - 1, sample=script.sample, uniforms=script.uniforms
        )
        completed.append([(group.problem, group.beginning.step) for group in complete])
    assert completed == [[], [], [(a, 1), (b, 3)], [(a, 2), (c, 4)]]
    assert stats.num_unfinished == 0


def test_a_restored_engine_completes_the_same_groups(engine: LocalEngine, toy_folder: Path, tmp_path: Path) -> None:
    generate(engine, 1)
    generate(engine, 2)
    engine.save(tmp_path, [])
    restored = make_engine(toy_folder, rollout__max_segment_tokens=SEGMENT)
    assert restored.load(tmp_path) == []
    for step in range(3, 6):
        one, other = (generate(each, step) for each in (engine, restored))
        assert one.stats == other.stats
        assert segments(one).num_continued > 0
        assert [group.without_payload() for group in one.groups] == [group.without_payload() for group in other.groups]
        for group, same in zip(one.groups, other.groups, strict=True):
            assert responses(group) == responses(same)
            assert torch.equal(group.payload.sampled.logprobs, same.payload.sampled.logprobs)


@pytest.mark.parametrize("change", [{"rollout__max_segment_tokens": 4}, {"training__seed": 7}])
def test_a_fork_with_other_sampling_settings_drops_what_is_unfinished(
    engine: LocalEngine, toy_folder: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    num_complete = len(generate(engine, 1).groups)
    assert num_complete < 2
    engine.save(tmp_path, [])
    fork = make_engine(toy_folder, **{"rollout__max_segment_tokens": SEGMENT, **change})
    fork.load(tmp_path)
    first, second = (segments(generate(fork, step)) for step in (2, 3))
    # All responses of the groups of which one was not complete.
    assert (first.num_dropped, second.num_dropped) == (G * (2 - num_complete), 0)
    assert first.num_continued == 0


def test_other_calls_answer_at_once(engine: LocalEngine) -> None:
    generation = engine.generate(prompts_of(1), group_size=G, policy=Policy.CURRENT, step=1, purpose="reevaluation")
    assert len(generation.groups) == 2
    assert max(max(group.payload.sampled.lengths) for group in generation.groups) > SEGMENT
    assert generation.stats.segments is None
