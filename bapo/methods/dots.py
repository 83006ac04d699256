"""DOTS: difficulty-targeted online data selection with rollout replay (arXiv:2506.05316)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bapo.config.method import DotsConfig
from bapo.config.run import RunConfig
from bapo.difficulty_predictor import Vectors, predicted_accuracies, text_features
from bapo.draws import generator
from bapo.methods.lines import Rule
from bapo.methods.mixing import MixingMethod
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


class Answered(NamedTuple):
    """A prompt's latest fresh group."""

    num_correct: int
    group_size: int


class Dots(MixingMethod):
    """Rolls out prompts whose predicted success rate is near the target, and fills up with recent valid groups."""

    rolls_out: ClassVar[Rule] = Rule(
        "Predict each candidate's success rate from prompts like it, and roll out those near the target.",
        "Prompts of middling difficulty have the largest gradient (arXiv:2506.05316).",
    )
    stores: ClassVar[Rule] = Rule(
        "Store the fresh groups with mixed rewards, the oldest making room.",
        "Only these can teach when they are trained on again.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Fill the batch with recent stored groups.",
        "A fixed share of the batch costs no rollout.",
    )

    def __init__(self, config: RunConfig) -> None:
        method = _section(config)
        super().__init__(config, capacity=_capacity(config), max_age_steps=method.max_age_steps)
        self._references: OrderedDict[str, Answered] = OrderedDict()
        """Least recently answered first."""
        self._features: dict[str, Vectors] = {}
        """Features of the references, and of the prompts chosen for the current step."""
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        self._method = _section(config)
        self._sync_interval = self._method.v
        self._buffer.capacity = _capacity(config)
        self._buffer.max_age_steps = self._method.max_age_steps
        self._take_common(config)
        self._forget_references()

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        num_chosen = min(self._num_fresh(step), len(pool))
        if not self._references:
            chosen = list(scheduled[:num_chosen])
            self._features |= {problem.prompt_id: text_features(problem.prompt) for problem in chosen}
            return chosen
        num_candidates = min(self._method.candidates * num_chosen, len(pool))
        candidates = generator(self._seed, step, "candidates").sample(pool, num_candidates)
        features = [text_features(problem.prompt) for problem in candidates]
        predicted = predicted_accuracies(
            np.array(features),
            np.array(self._reference_features(pool)),
            [each.num_correct / each.group_size for each in self._references.values()],
        )
        places = self._drawn(step, predicted.tolist(), num_chosen)
        self._features |= {candidates[place].prompt_id: features[place] for place in places}
        return [candidates[place] for place in places]

    def _drawn(self, step: int, predicted: Sequence[float], num_chosen: int) -> list[int]:
        """Draw without replacement with chances ∝ exp(-|p̂ - γ*|/τ): the largest after adding Gumbel noise."""
        draw, method = generator(self._seed, step, "choice"), self._method
        scores = [
            -abs(each - method.target_accuracy) / method.selection_temperature - math.log(draw.expovariate(1.0))
            for each in predicted
        ]
        ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return ranked[:num_chosen]

    def _reference_features(self, pool: Sequence[Problem]) -> list[Vectors]:
        missing = self._references.keys() - self._features.keys()
        if missing:
            # After a checkpoint, which does not keep them.
            self._features |= {
                problem.prompt_id: text_features(problem.prompt) for problem in pool if problem.prompt_id in missing
            }
        return [self._features[prompt_id] for prompt_id in self._references]

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        for group in fresh:
            self._references.pop(group.prompt_id, None)
            self._references[group.prompt_id] = Answered(group.num_correct, group.group_size)
        self._forget_references()

    def _forget_references(self) -> None:
        while len(self._references) > self._method.reference_prompts:
            prompt_id, _ = self._references.popitem(last=False)
            self._features.pop(prompt_id, None)

    def _reused_share(self, step: int) -> Fraction:
        return 1 - Fraction(str(self._method.fresh_share))

    def _is_stored(self, group: RolloutGroup, step: int) -> bool:
        return not group.is_homogeneous

    def state_dict(self) -> dict[str, Any]:
        references = [[prompt_id, *answered] for prompt_id, answered in self._references.items()]
        return {**super().state_dict(), "references": references}

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        super().load_state_dict(state, payloads)
        self._references = OrderedDict(
            (prompt_id, Answered(num_correct, group_size)) for prompt_id, num_correct, group_size in state["references"]
        )
        self._features = {}
        self._forget_references()


def _capacity(config: RunConfig) -> int:
    return _section(config).capacity or config.training.batch_size


def _section(config: RunConfig) -> DotsConfig:
    assert isinstance(config.method, DotsConfig)
    return config.method
