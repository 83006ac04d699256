"""An engine without PyTorch that a whole run can stop, resume and fork on: for tests of control flow.

It learns nothing, but it has weights: a digest of all that it was ever trained on. Every draw is keyed by seed, step,
purpose and the weights that generate. A run that loses or mixes up weights, α or stored groups draws other numbers
from then on, as it does on an engine that computes.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.paths import shipped_models
from bapo.draws import generator
from bapo.engines.base import BatchItem, Generation, GenerationStats, Policy, ResponseSample
from bapo.records import SupervisedStats, UpdateStats
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem, Task
from benchmarks.simulation import DrawnEngine

PACE_VARIABLE = "SIMULATED_SECONDS_PER_STEP"
"""How long each update sleeps; 0 where it is not set."""
STATE_FILE, GROUPS_FILE = "engine.json", "groups.json"
MODEL_FOLDER, WEIGHTS_FILE = "model", "model.safetensors"
NUM_WEIGHT_BYTES = 1 << 18
"""A checkpoint is larger than all else in a small run's folder, as that of a real model is."""


class SimulatedResponses(NamedTuple):
    """A group's responses, which the engine keeps in its payload."""

    rewards: tuple[int, ...]
    lengths: tuple[int, ...]
    """Tokens."""


class SimulatedEngine(DrawnEngine):
    """Answers as `DrawnEngine` does, and keeps all that it needs to go on in checkpoints."""

    def __init__(self, config: RunConfig, task: Task) -> None:
        """Begin untrained. Raises ConfigError where there is no such model folder."""
        path = config.model.path
        if path not in shipped_models() and not Path(path).is_dir():
            raise ConfigError([ConfigProblem("model.path", path, "this model folder does not exist")])
        super().__init__(config.training.seed, has_critic=config.critic is not None)
        self._config = config
        self._task = task
        self._seconds_per_step = float(os.environ.get(PACE_VARIABLE, "0"))
        self._version = 0
        self._weights = self._rollout_weights = "untrained"

    def sync_rollout_policy(self, version: int) -> None:
        """α ← current weights."""
        super().sync_rollout_policy(version)
        self._rollout_weights = self._weights

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Draw the responses to each problem."""
        self._draws = self._draws_of(
            step, purpose, self._rollout_weights if policy is Policy.ROLLOUT else self._weights
        )
        drawn = super().generate(problems, group_size=group_size, policy=policy, step=step, purpose=purpose)
        is_demonstrated = self._config.method.needs_demonstrations
        groups = [
            replace(group, payload=self._responses_of(group), has_demonstration=is_demonstrated)
            for group in drawn.groups
        ]
        lengths = [length for group in groups for length in group.payload.lengths]
        longest = self._config.rollout.max_response_tokens
        stats = GenerationStats(
            num_tokens=sum(lengths),
            response_length_mean=sum(lengths) / len(lengths),
            response_length_max=max(lengths),
            response_clip_ratio=sum(length == longest for length in lengths) / len(lengths),
            response_repetition_ratio=(
                None
                if self._config.rollout.repetition_tokens is None
                else sum(length == longest - 1 for length in lengths) / len(lengths)
            ),
        )
        return Generation(groups, stats)

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Mix the whole batch into the weights."""
        if not batch:
            raise ValueError("the batch is empty")
        if self._seconds_per_step:
            time.sleep(self._seconds_per_step)
        self._draws = self._draws_of(step, "update", self._weights)
        trained = [
            (
                item.source,
                item.responses,
                item.advantages,
                item.group.without_payload(),
                _responses(item.group),
                *([] if item.demonstration is None else [item.demonstration]),
            )
            for item in batch
        ]
        self._weights = hashlib.sha256(repr((self._weights, step, passes, trained)).encode()).hexdigest()
        self._version = step
        training = self._config.training
        changes = {
            "learning_rate": training.learning_rate,
            "num_mini_batches": passes * -(-len(batch) // (training.mini_batch_size or len(batch))),
            "num_tokens": sum(
                _responses(item.group).lengths[position]
                for item in batch
                for position in (range(item.group.group_size) if item.responses is None else item.responses)
            ),
        }
        return super().update(batch, step=step, passes=passes).model_copy(update=changes)

    def supervise(self, prompt_ids: Sequence[str], *, step: int) -> SupervisedStats:
        """Mix the prompts into the weights."""
        self._weights = hashlib.sha256(repr((self._weights, step, prompt_ids)).encode()).hexdigest()
        return super().supervise(prompt_ids, step=step)

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        """Say of each response whether it is right."""
        return [
            ResponseSample(f"{'right' if reward else 'wrong'}, in {length} tokens", reward, length, -0.5 * length)
            for reward, length in zip(*_responses(group), strict=True)
        ]

    def greedy(self, problems: Sequence[Problem]) -> Sequence[int]:
        """Return 1 for each problem whose responses are mostly right."""
        return [int(self.chance(problem.prompt_id, self._version) > 0.5) for problem in problems]

    def save(self, folder: Path, groups: Sequence[RolloutGroup]) -> None:
        """Write the weights and the groups' responses; the model into a folder like one of Hugging Face."""
        model = folder / MODEL_FOLDER
        model.mkdir()
        (model / "config.json").write_text('{"model_type": "simulated"}', encoding="utf-8")
        (model / WEIGHTS_FILE).write_bytes(random.Random(self._weights).randbytes(NUM_WEIGHT_BYTES))
        state = {
            "version": self._version,
            "weights": self._weights,
            "rollout_version": self.rollout_version,
            "rollout_weights": self._rollout_weights,
        }
        (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")
        payloads = [_responses(group) for group in groups]
        (folder / GROUPS_FILE).write_text(json.dumps(payloads), encoding="utf-8")

    def load(self, folder: Path) -> Sequence[object]:
        """Restore what `save` wrote."""
        state = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        self._version, self._weights = state["version"], state["weights"]
        self.rollout_version, self._rollout_weights = state["rollout_version"], state["rollout_weights"]
        payloads = json.loads((folder / GROUPS_FILE).read_text(encoding="utf-8"))
        return [SimulatedResponses(tuple(rewards), tuple(lengths)) for rewards, lengths in payloads]

    def utilisation(self) -> dict[str, float]:
        """Made up."""
        return {**super().utilisation(), "num_reward_failures": float(self._task.num_reward_failures)}

    def _draws_of(self, step: int, purpose: str, weights: str) -> random.Random:
        return generator(self._seed, step, f"{purpose} with {weights}")

    def _responses_of(self, group: RolloutGroup) -> SimulatedResponses:
        rewards = [1] * group.num_correct + [0] * (group.group_size - group.num_correct)
        self._draws.shuffle(rewards)
        longest = self._config.rollout.max_response_tokens
        return SimulatedResponses(tuple(rewards), tuple(self._draws.randint(1, longest) for _ in rewards))


def _responses(group: RolloutGroup) -> SimulatedResponses:
    assert isinstance(group.payload, SimulatedResponses)
    return group.payload
