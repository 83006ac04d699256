"""The engine of one machine: generates, verifies, updates and saves, on the CPU or one CUDA GPU."""

from __future__ import annotations

import copy
import json
import math
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.sections import RolloutConfig
from bapo.draws import seed_of
from bapo.engines.base import BatchItem, DemonstrationCounts, Generation, GenerationStats, Policy, ResponseSample
from bapo.engines.finite_values import NotFiniteError, generation_problem, update_problem
from bapo.engines.local.batches import TrainingGroup, training_group
from bapo.engines.local.critic import Critic
from bapo.engines.local.decoding import Prefix
from bapo.engines.local.demonstrations import demonstrations
from bapo.engines.local.device import device_of
from bapo.engines.local.generating_process import Call, GeneratingProcess
from bapo.engines.local.overlap import Coming, start_overlap
from bapo.engines.local.partial import PartialRollouts
from bapo.engines.local.payload import GroupPayload, read_payloads, write_payloads
from bapo.engines.local.policy import load_language_model
from bapo.engines.local.prompts import encode_task
from bapo.engines.local.repeatable import use_repeatable_algorithms
from bapo.engines.local.sampler import Sampler
from bapo.engines.local.sampling import SampledGroup
from bapo.engines.local.update import Updater
from bapo.engines.shaping import shaped_batch
from bapo.records import Span, SupervisedStats, UpdateStats
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem, Task, has_images

CURRENT_FOLDER = "model"
"""Current weights and tokenizer within a checkpoint, a model folder like any other."""
ROLLOUT_FOLDER = "rollout-model"
"""α's weights, where they differ from the current ones."""
OPTIMIZER_FILE = "optimizer.safetensors"
CRITIC_FOLDER = "critic"
CRITIC_OPTIMIZER_FILE = "critic-optimizer.safetensors"
GROUPS_FILE = "groups.safetensors"
UNFINISHED_FILE = "unfinished.safetensors"
"""Groups with unfinished responses, of a run with partial rollouts."""
STATE_FILE = "engine.json"


class LocalEngine:
    """A model in training, its delayed copy α, its optimizer; a critic and a reference policy where they are needed.

    Every random draw comes from a separate generator, keyed by (seed, step, purpose): there is no running random
    state that a checkpoint would have to keep.
    """

    def __init__(self, config: RunConfig, task: Task) -> None:
        """Load the model and encode all prompts.

        Raises ConfigError where there is no such device, the model folder is unusable, or a prompt is too long.
        """
        _refuse_images(config, task)
        self._config = config
        self._task = task
        self._device = device_of(config)
        torch.set_num_threads(config.engine.threads)
        use_repeatable_algorithms(self._device)
        language_model = load_language_model(config.model.path, self._device)
        self._model = language_model.model
        self._tokenizer = language_model.tokenizer
        self._sampler = Sampler(config.engine, config.rollout, self._device, language_model.eos_token_ids)
        context = getattr(self._model.config, "max_position_embeddings", None)
        self._prompts = encode_task(task, self._tokenizer, config.rollout, context)
        self._demonstrations = demonstrations(config, task, self._tokenizer, self._prompts)
        self._critic = Critic(self._model, config, config.critic) if config.critic else None
        # Checkpoints do not hold it: it is the model that every attempt of the run loads first.
        self._reference = copy.deepcopy(self._model) if config.objective.needs_reference else None
        self._updater = Updater(self._model, config, self._critic, self._reference)
        self._process = psutil.Process()
        # α shares the current weights until the first update after a synchronisation; then it needs its own.
        self._rollout_version = 0
        self._rollout_is_current = True
        self._rollout_model: PreTrainedModel | None = None
        self._generating: GeneratingProcess | None = None
        if config.rollout.ahead == "overlap":
            self._rollout_model, self._generating = start_overlap(config, self._model)
        segment = config.rollout.max_segment_tokens
        self._partial = PartialRollouts(config.rollout, segment, self._sampler.repetition_stop) if segment else None

    # ------------------------------------------------------------ generation

    def sync_rollout_policy(self, version: int) -> None:
        """Set α ← current weights, known as policy version `version`."""
        self._rollout_version = version
        self._rollout_is_current = True
        if self._generating is not None:
            self._keep_rollout_weights()

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Answer each problem `group_size` times and verify the answers.

        Raises ConfigError where the policy gives tokens no probability, as with NaN among its weights.
        """
        if self._partial is not None and (policy, purpose) == (Policy.ROLLOUT, "rollout"):
            return self._generate_segments(self._partial, problems, step)
        return self._generate({step: problems}, group_size=group_size, policy=policy, purpose=purpose)[step]

    def generate_ahead(self, batches: Mapping[int, Sequence[Problem]], *, group_size: int) -> Mapping[int, Generation]:
        """Answer the fresh prompts of several steps with α; return the groups of each step.

        In one call, or where `rollout.ahead` is `overlap` in the generating process: taking a step's groups, once,
        waits for them.
        """
        if self._generating is None:
            return self._generate(batches, group_size=group_size, policy=Policy.ROLLOUT, purpose="rollout")
        self._keep_rollout_weights()
        self._generating.ask(
            [
                Call(
                    step=step,
                    seed=self._seed(step, "rollout"),
                    prompts=[self._prompts[problem.prompt_id] for problem in problems],
                    group_size=group_size,
                )
                for step, problems in batches.items()
            ]
        )
        return Coming(batches, partial(self._take, self._generating, version=self._rollout_version))

    def _take(
        self, generating: GeneratingProcess, step: int, problems: Sequence[Problem], *, version: int
    ) -> Generation:
        """Wait for the groups of a step that the generating process answers, and verify them."""
        begin = time.perf_counter()
        answer = generating.take(step)
        waited = time.perf_counter() - begin
        self._check_sampled(answer.groups, step, "rollout")
        stats = replace(
            _generation_stats(answer.groups, self._config.rollout),
            timing={"wait": waited, "generator": answer.seconds},
            spans=[
                Span(phase="wait", begin=begin, seconds=waited),
                Span(process="generator", phase="gen", begin=answer.begin, seconds=answer.seconds, step=step),
            ],
        )
        return Generation(self._verified(answer.groups, problems, step, version), stats)

    def _generate(
        self, batches: Mapping[int, Sequence[Problem]], *, group_size: int, policy: Policy, purpose: str
    ) -> dict[int, Generation]:
        """Answer the problems of each step with its own draws."""
        sampled = self._sample(
            self._policy_model(policy),
            self._prefixes([problem for problems in batches.values() for problem in problems], group_size),
            torch.cat([self._uniforms(step, purpose, len(each) * group_size) for step, each in batches.items()]),
            step=min(batches),
            purpose=purpose,
        )
        generations = {}
        for step, problems in batches.items():
            of_step, sampled = sampled[: len(problems)], sampled[len(problems) :]
            version = self._rollout_version if policy is Policy.ROLLOUT else step - 1
            groups = self._verified(of_step, problems, step, version)
            generations[step] = Generation(groups, _generation_stats(of_step, self._config.rollout))
        return generations

    def _generate_segments(self, unfinished: PartialRollouts, problems: Sequence[Problem], step: int) -> Generation:
        """Begin responses to these problems and continue those begun before; return the groups that are complete."""
        complete, segments = unfinished.generate(
            [(problem, self._prompts[problem.prompt_id]) for problem in problems],
            step=step,
            version=self._rollout_version,
            sample=lambda prefixes, uniforms: self._sample(
                self._policy_model(Policy.ROLLOUT),
                prefixes,
                uniforms,
                step=step,
                purpose="rollout",
                max_new_tokens=self._config.rollout.max_segment_tokens,
            ),
            uniforms=lambda begun, num_responses: self._uniforms(begun, "rollout", num_responses),
        )
        groups = [self._group(each.problem, each.sampled, each.versions[0], step) for each in complete]
        stats = _generation_stats([group.payload.sampled for group in groups], self._config.rollout)
        return Generation(groups, replace(stats, num_tokens=segments.num_tokens, segments=segments))

    def _prefixes(self, problems: Sequence[Problem], group_size: int) -> list[Prefix]:
        return [Prefix(self._prompts[problem.prompt_id], group_size) for problem in problems]

    def _seed(self, step: int, purpose: str) -> int:
        return seed_of(self._config.training.seed, step, purpose)

    def _uniforms(self, step: int, purpose: str, num_responses: int) -> Tensor:
        return self._sampler.uniforms(self._seed(step, purpose), num_responses)

    def _verified(
        self, sampled: Sequence[SampledGroup], problems: Sequence[Problem], step: int, version: int
    ) -> list[RolloutGroup]:
        return [self._group(*each, version, step) for each in zip(problems, sampled, strict=True)]

    def _group(self, problem: Problem, sampled: SampledGroup, version: int, step: int) -> RolloutGroup:
        """Return a group with the rewards of its responses."""
        rewards = tuple(self._task.reward(problem, text) for text in self._texts(sampled))
        prompt_id = problem.prompt_id
        payload = GroupPayload(self._prompts[prompt_id], sampled, rewards)
        is_demonstrated = prompt_id in self._demonstrations.examples
        return RolloutGroup(prompt_id, sum(rewards), len(rewards), version, step, payload, is_demonstrated)

    def greedy(self, problems: Sequence[Problem]) -> Sequence[int]:
        """Return the reward (0 or 1) of each problem's greedy answer under the current weights."""
        no_draws = torch.zeros(len(problems), self._config.rollout.max_response_tokens, dtype=torch.float64)
        prompts = self._prefixes(problems, 1)
        sampled = self._sample(self._model, prompts, no_draws, temperature=0.0, purpose="greedy answers")
        return [
            self._task.reward(problem, self._texts(group)[0]) for problem, group in zip(problems, sampled, strict=True)
        ]

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        """Return the group's responses as text."""
        payload = _payload(group)
        sampled = payload.sampled
        return [
            ResponseSample(text, reward, num_tokens, logprob_sum)
            for text, reward, num_tokens, logprob_sum in zip(
                self._texts(sampled), payload.rewards, sampled.lengths, sampled.logprob_sums(), strict=True
            )
        ]

    def _sample(
        self,
        model: PreTrainedModel,
        prefixes: Sequence[Prefix],
        uniforms: Tensor,
        *,
        purpose: str,
        step: int | None = None,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
    ) -> list[SampledGroup]:
        sampled = self._sampler.sample(
            model, prefixes, uniforms, temperature=temperature, max_new_tokens=max_new_tokens
        )
        self._check_sampled(sampled, step, purpose)
        return sampled

    def _check_sampled(self, sampled: Sequence[SampledGroup], step: int | None, purpose: str) -> None:
        if not all(math.isfinite(float(group.logprobs.sum())) for group in sampled):
            raise generation_problem(self._config, step, purpose)

    def _policy_model(self, policy: Policy) -> PreTrainedModel:
        if policy is Policy.CURRENT or self._rollout_is_current:
            return self._model
        assert self._rollout_model is not None
        return self._rollout_model

    def _texts(self, group: SampledGroup) -> list[str]:
        return self._tokenizer.batch_decode(group.responses(), skip_special_tokens=True)

    # ------------------------------------------------------------ update

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Train on X1 ∪ X2 ∪ X3. Raises ValueError on an empty batch, ConfigError where a value is NaN or infinite."""
        self._keep_rollout_weights()
        groups = [self._training_group(item, step) for item in shaped_batch(batch, self._config, _responses)]
        try:
            return self._updater.update(groups, step=step, passes=passes)
        except NotFiniteError as error:
            raise update_problem(error, self._config, step) from None

    def supervise(self, prompt_ids: Sequence[str], *, step: int) -> SupervisedStats:
        """Take one optimizer step on the cross-entropy of these prompts' demonstrations.

        Raises ConfigError where a value is NaN or infinite.
        """
        self._keep_rollout_weights()
        try:
            return self._updater.supervise([self._demonstrations.examples[prompt_id] for prompt_id in prompt_ids])
        except NotFiniteError as error:
            raise update_problem(error, self._config, step) from None

    def demonstrations(self) -> DemonstrationCounts | None:
        """Return what became of the worked solutions; None where the method needs none."""
        return self._demonstrations.counts

    def _training_group(self, item: BatchItem, step: int) -> TrainingGroup:
        payload, advantages, num_given_tokens = _trained_payload(item), item.advantages, 0
        if item.demonstration is not None:
            assert advantages is not None, "of the union of a group with its demonstration"
            given = self._demonstrations.examples[item.group.prompt_id].response
            payload, advantages = payload.with_demonstration(given), (*advantages, item.demonstration)
            num_given_tokens = len(given)
        return training_group(
            payload, item.source, advantages, is_on_policy=item.is_on_policy(step), num_given_tokens=num_given_tokens
        )

    def _keep_rollout_weights(self) -> None:
        """Give α its own weights before the current ones change."""
        if not self._rollout_is_current:
            return
        if self._generating is not None:
            self._generating.abandon()
        if self._rollout_model is None:
            # It keeps `requires_grad`, though it is never trained: PyTorch chooses kernels by it, whose last digits
            # differ, and α's log-probabilities shall be those that the same weights give as the current policy.
            self._rollout_model = copy.deepcopy(self._model)
            self._rollout_model.zero_grad(set_to_none=True)
        else:
            self._rollout_model.load_state_dict(self._model.state_dict())
        self._rollout_is_current = False

    # ------------------------------------------------------------ checkpoint

    def save(self, folder: Path, groups: Sequence[RolloutGroup]) -> None:
        """Write model, α, critic, optimizers and the groups' payloads; the models as Hugging Face folders.

        Raises OSError where the disk is full or refuses.
        """
        try:
            self._model.save_pretrained(folder / CURRENT_FOLDER)
            if not self._rollout_is_current:
                self._policy_model(Policy.ROLLOUT).save_pretrained(folder / ROLLOUT_FOLDER)
            save_file(self._updater.optimizer.state(), folder / OPTIMIZER_FILE)
            if self._critic is not None:
                self._critic.model.save_pretrained(folder / CRITIC_FOLDER)
                save_file(self._critic.optimizer.state(), folder / CRITIC_OPTIMIZER_FILE)
            write_payloads(folder / GROUPS_FILE, [_payload(group) for group in groups])
            if self._partial is not None:
                write_payloads(folder / UNFINISHED_FILE, self._partial.payloads())
        except SafetensorError as error:
            # The values are our own, so that only writing them can fail.
            raise OSError(str(error)) from error
        self._tokenizer.save_pretrained(folder / CURRENT_FOLDER)
        state: dict[str, Any] = {
            "rollout_version": self._rollout_version,
            "rollout_is_current": self._rollout_is_current,
        }
        if self._partial is not None:
            state["unfinished"] = {**self._draws_key(), "groups": self._partial.state_dict()}
        (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")

    def load(self, folder: Path) -> Sequence[object]:
        """Restore what `save` wrote; return the groups' payloads in the order in which they were given."""
        state = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        self._rollout_version = state["rollout_version"]
        self._rollout_is_current = True
        if not state["rollout_is_current"]:
            _load_weights(self._model, folder / ROLLOUT_FOLDER)
            self._keep_rollout_weights()
        _load_weights(self._model, folder / CURRENT_FOLDER)
        self._updater.optimizer.load_state(load_file(folder / OPTIMIZER_FILE))
        if self._critic is not None:
            _load_weights(self._critic.model, folder / CRITIC_FOLDER)
            self._critic.optimizer.load_state(load_file(folder / CRITIC_OPTIMIZER_FILE))
        # Checkpoints from before there were partial rollouts do not have it.
        unfinished = state.get("unfinished")
        if self._partial is not None and unfinished:
            self._load_unfinished(self._partial, unfinished, folder)
        return read_payloads(folder / GROUPS_FILE)

    def _load_unfinished(self, partial: PartialRollouts, state: Mapping[str, Any], folder: Path) -> None:
        """Restore the unfinished responses, or drop those of a fork's parent that other settings began."""
        payloads = read_payloads(folder / UNFINISHED_FILE)
        if {name: state[name] for name in self._draws_key()} == self._draws_key():
            problems = {problem.prompt_id: problem for problem in self._task.train}
            partial.load_state_dict(state["groups"], payloads, problems)
        else:
            partial.drop(sum(len(payload.rewards) for payload in payloads))

    def _draws_key(self) -> dict[str, Any]:
        """Return what a response's draws depend on besides its step and place."""
        config = self._config
        return {"rollout": config.rollout.model_dump(mode="json"), "seed": config.training.seed}

    # ------------------------------------------------------------ surroundings

    def utilisation(self) -> Mapping[str, float]:
        """Return memory now and at its peak, CPU load since the last call, GPU memory, and the verifier's failures."""
        memory = self._process.memory_info().rss
        # macOS counts the peak in bytes, Linux in KiB, and brings it up to date less often.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        values = {
            "memory_bytes": float(memory),
            "memory_peak_bytes": float(max(memory, peak)),
            "cpu_percent": self._process.cpu_percent(),
            "num_reward_failures": float(self._task.num_reward_failures),
        }
        if (generating := self._generating) is not None:
            values["memory_bytes"] += generating.memory_bytes()
            values["cpu_percent"] += generating.cpu_percent()
            values["num_steps_ready"] = float(generating.num_steps_ready)
            values["num_generator_restarts"] = float(generating.num_restarts)
        if self._device.type == "cuda":
            values |= {
                "gpu_memory_bytes": float(torch.cuda.memory_allocated(self._device)),
                "gpu_memory_peak_bytes": float(torch.cuda.max_memory_allocated(self._device)),
            }
        return values

    def close(self) -> None:
        """End the generating process, if there is one."""
        if self._generating is not None:
            self._generating.close()


def _refuse_images(config: RunConfig, task: Task) -> None:
    """Raise ConfigError for a task with images: the engine's models only read text."""
    if has_images(task):
        raise _problem(
            "engine.type",
            config.engine.type,
            f"the problems have images (column {getattr(config.task, 'image_column', 'images')}), and the local engine "
            "reads text alone: choose verl and a vision model, such as Qwen2.5-VL",
        )


def _load_weights(model: PreTrainedModel, folder: Path) -> None:
    """Copy the weights of a saved model of the same kind, bit for bit."""
    saved = type(model).from_pretrained(folder, dtype=model.dtype, local_files_only=True)
    model.load_state_dict(saved.state_dict())


class _Response(NamedTuple):
    reward: int
    length: int
    ended: bool


def _responses(item: BatchItem) -> list[_Response]:
    """Return what is known of the responses that the item trains on."""
    payload = _trained_payload(item)
    sampled = payload.sampled
    return [_Response(*each) for each in zip(payload.rewards, sampled.lengths, sampled.ended, strict=True)]


def _trained_payload(item: BatchItem) -> GroupPayload:
    payload = _payload(item.group)
    return payload if item.responses is None else payload.only(item.responses)


def _payload(group: RolloutGroup) -> GroupPayload:
    assert isinstance(group.payload, GroupPayload)
    return group.payload


def _generation_stats(sampled: Sequence[SampledGroup], rollout: RolloutConfig) -> GenerationStats:
    lengths = [length for group in sampled for length in group.lengths]
    ended = [each for group in sampled for each in group.ended]
    if not lengths:
        return GenerationStats(0, 0.0, 0, 0.0)
    # What has neither an end token nor all of its tokens repeated itself.
    is_repetitive = [
        not has_ended and length < rollout.max_response_tokens for length, has_ended in zip(lengths, ended, strict=True)
    ]
    return GenerationStats(
        num_tokens=sum(lengths),
        response_length_mean=sum(lengths) / len(lengths),
        response_length_max=max(lengths),
        response_clip_ratio=1 - sum(ended) / len(ended),
        response_repetition_ratio=(
            None if rollout.repetition_tokens is None else sum(is_repetitive) / len(is_repetitive)
        ),
    )


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(field, value, remedy)])
