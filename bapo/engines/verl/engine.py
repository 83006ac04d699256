"""The engine of a cluster: verl's V1 trainer serves the loop's calls."""

from __future__ import annotations

import json
import math
import os
import uuid
import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import ray
import torch
import transfer_queue as tq
from transformers import AutoConfig, GenerationConfig

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.draws import seed_of
from bapo.engines.base import TRAINED_PURPOSES, BatchItem, DemonstrationCounts, Generation, Policy, ResponseSample
from bapo.engines.finite_values import generation_problem
from bapo.engines.local.batches import mini_batches
from bapo.engines.local.demonstrations import demonstrations
from bapo.engines.local.policy import load_tokenizer, model_folder
from bapo.engines.local.prompts import encode_task
from bapo.engines.shaping import shaped_batch
from bapo.engines.verl.agent_loop import PARTITION
from bapo.engines.verl.cluster import Cluster, start_limit
from bapo.engines.verl.critic import VerlCritic
from bapo.engines.verl.environment import PLATFORM_VARIABLE
from bapo.engines.verl.failures import REMEDY_ROLLOUT
from bapo.engines.verl.loss import (
    CURRENT_FIELD,
    REFERENCE_FIELD,
    BapoLoss,
    BapoValueLoss,
    distance_sums,
    gap_on_policy,
    largest_ratio,
    logprob_fields,
    recorded_gap,
    recorded_sums,
)
from bapo.engines.verl.payload import GroupPayload, put_demonstrations, read_payloads, write_payloads
from bapo.engines.verl.phases import Phases
from bapo.engines.verl.rows import Rows, responses_of
from bapo.engines.verl.saved_weights import name_number_format
from bapo.engines.verl.settings import verl_settings
from bapo.engines.verl.stats import generation_stats, update_stats
from bapo.engines.verl.trainer import BapoTrainer
from bapo.engines.verl.vision import check_images
from bapo.engines.verl.worker import REFERENCE, ROLLOUT
from bapo.logprob_gap import GapSums, gap_sums
from bapo.losses import LossInputs, policy_loss, token_weights
from bapo.records import SupervisedStats, UpdateStats
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem, Task

ACTOR_FOLDER = "actor"
"""verl's checkpoint of model and optimizer, with the model in Hugging Face format in MODEL_FOLDER."""
MODEL_FOLDER = "huggingface"
ROLLOUT_FOLDER = "rollout-model"
"""α's shards, where they differ from the current weights."""
CRITIC_FOLDER = "critic"
STATE_FILE = "engine.json"


class VerlEngine:
    """A model in training on verl's workers, and vLLM, which holds now its current weights, now α."""

    def __init__(self, config: RunConfig, task: Task) -> None:
        """Start Ray, the training processes and vLLM.

        Raises ConfigError where model, devices or the Ray cluster cannot be used.
        """
        self._config = config
        on_cpu = os.environ.get(PLATFORM_VARIABLE) == "cpu"
        folder = model_folder(config.model.path)
        self._tokenizer = load_tokenizer(config.model.path)
        # Of a model that reads images as well, the part that writes.
        model = AutoConfig.from_pretrained(folder).get_text_config()
        check_images(config, task, folder)
        context = getattr(model, "max_position_embeddings", None)
        prompts = encode_task(task, self._tokenizer, config.rollout, context)
        self._demonstrations = demonstrations(config, task, self._tokenizer, prompts)
        self._end_token_ids = _end_token_ids(folder, model.eos_token_id, self._tokenizer.eos_token_id)
        _check_sampling(config)
        settings = verl_settings(config, model_folder=str(folder), on_cpu=on_cpu)
        self._sleeps = bool(settings.actor_rollout_ref.rollout.free_cache_engine)
        self._released: list[str] = []
        self._num_reward_failures = 0
        self._phases = Phases()
        self._gpu_memory_peak = None if on_cpu else 0.0
        # Number of updates that the current weights, α and the weights in vLLM have seen; α's own copy is made at the
        # first update after a synchronisation.
        self._current = 0
        self._rollout = 0
        self._held: int | None = None
        self._rollout_version = 0
        # Measured where log-probabilities are computed again, and the step that generated the responses.
        self._recomputed = (0, GapSums())
        self._critic: VerlCritic | None = None
        self._cluster = Cluster(config, on_cpu=on_cpu)
        try:
            with (
                self._cluster.plain_errors("the processes of verl did not start"),
                start_limit(config.engine.verl.start_seconds),
            ):
                tq.init(settings.transfer_queue)
                self._trainer = BapoTrainer(settings, self._phases)
                self._trainer.start(
                    BapoLoss(config.objective), BapoValueLoss(config.critic.value_clip) if config.critic else None
                )
                if config.objective.needs_reference:
                    # Checkpoints do not hold it: it is the model that every attempt of the run loads first.
                    self._trainer.actor_rollout_wg.keep_weights(REFERENCE)
        except BaseException:
            self.close()
            raise
        if config.critic is not None:
            self._critic = VerlCritic(self._trainer, config.critic)

    # ------------------------------------------------------------ generation

    def sync_rollout_policy(self, version: int) -> None:
        """Set α ← current weights, known as policy version `version`."""
        self._rollout_version = version
        self._rollout = self._current

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Answer each problem `group_size` times and verify the answers."""
        return self._generate({step: problems}, group_size=group_size, policy=policy, purpose=purpose)[step]

    def generate_ahead(self, batches: Mapping[int, Sequence[Problem]], *, group_size: int) -> Mapping[int, Generation]:
        """Answer the fresh prompts of several steps with α in one call; return the groups of each step."""
        return self._generate(batches, group_size=group_size, policy=Policy.ROLLOUT, purpose="rollout")

    def _generate(
        self, batches: Mapping[int, Sequence[Problem]], *, group_size: int, policy: Policy, purpose: str
    ) -> dict[int, Generation]:
        """Answer the problems of each step with its own seeds; the first step has the time of all."""
        # What evaluation took since the last step belongs to none.
        self._phases.take()
        first = min(batches)
        version = self._rollout_version if policy is Policy.ROLLOUT else first - 1
        self._hold(policy, version)
        asked = [(step, problem) for step, problems in batches.items() for problem in problems]
        seeds = {step: seed_of(self._config.training.seed, step, purpose) for step in batches}
        payloads = self._roll_out(
            [problem for _, problem in asked],
            group_size=group_size,
            greedy=False,
            seeds=[seeds[step] for step, _ in asked],
            version=version,
        )
        groups = [
            RolloutGroup(
                problem.prompt_id,
                sum(payload.rewards),
                group_size,
                version,
                step,
                payload,
                has_demonstration=problem.prompt_id in self._demonstrations.examples,
            )
            for (step, problem), payload in zip(asked, payloads, strict=True)
        ]
        if self._config.objective.ratio_level == "sequence" and purpose.partition(":")[0] in TRAINED_PURPOSES:
            self._recompute_logprobs(groups, policy, first)
        timing = self._phases.take()
        generations = {}
        for step in batches:
            of_step = [group for group in groups if group.step == step]
            stats = generation_stats([_payload(group) for group in of_step], timing if step == first else {})
            generations[step] = Generation(of_step, stats)
        return generations

    def greedy(self, problems: Sequence[Problem]) -> Sequence[int]:
        """Return the reward (0 or 1) of each problem's greedy answer under the current weights."""
        self._hold(Policy.CURRENT, self._current)
        no_seeds = [0] * len(problems)
        payloads = self._roll_out(problems, group_size=1, greedy=True, seeds=no_seeds, version=self._current)
        return [payload.rewards[0] for payload in payloads]

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        """Return the group's responses as text."""
        payload = _payload(group)
        data = tq.kv_batch_get(keys=payload.keys, partition_id=PARTITION, select_fields=["responses"])
        texts = self._tokenizer.batch_decode(
            [row.tolist() for row in data["responses"].unbind()], skip_special_tokens=True
        )
        return [
            ResponseSample(text, each.reward, each.length, each.logprob_sum)
            for text, each in zip(texts, payload.responses, strict=True)
        ]

    def _recompute_logprobs(self, groups: Sequence[RolloutGroup], policy: Policy, step: int) -> None:
        """Replace vLLM's log-probabilities by those of the training processes under the same weights.

        The difference between both, in bfloat16, alone takes ratios of whole responses out of a clip range of 3e-4.
        It is recorded with the step's update.
        """
        self._sleep()
        rows = Rows.of([BatchItem(group, BatchSource.FRESH) for group in groups])
        data = tq.kv_batch_get(keys=rows.keys, partition_id=PARTITION, select_fields=["rollout_log_probs"])
        is_delayed = policy is Policy.ROLLOUT and self._rollout != self._current
        with (
            self._cluster.plain_errors("recomputing log-probabilities failed"),
            self._trainer.weights_of(ROLLOUT) if is_delayed else nullcontext(),
        ):
            logprobs = self._trainer.put_logprobs(rows, "rollout_log_probs")
        gap = gap_sums(logprobs - data["rollout_log_probs"].values(), rows.response_lengths, self._config.objective)
        self._recomputed = (step, self._recomputed_in(step) + gap)

    def _recomputed_in(self, step: int) -> GapSums:
        known, gap = self._recomputed
        return gap if known == step else GapSums()

    def _hold(self, policy: Policy, version: int) -> None:
        """Load the policy's weights into vLLM, unless it holds them already."""
        wanted = self._rollout if policy is Policy.ROLLOUT else self._current
        if self._held == wanted:
            return
        # verl hands weights to a sleeping vLLM, which it wakes for that.
        self._sleep()
        with self._cluster.plain_errors("vLLM did not take new weights", REMEDY_ROLLOUT):
            if wanted == self._current:
                self._trainer.hold_current_weights(version)
            else:
                self._trainer.hold_rollout_weights(version)
        self._held = wanted

    def _sleep(self) -> None:
        """Free vLLM's memory on the GPU; without one there is nothing to free, and it keeps its weights."""
        if self._sleeps and self._held is not None:
            self._trainer.sleep()
            self._held = None

    def _roll_out(
        self, problems: Sequence[Problem], *, group_size: int, greedy: bool, seeds: Sequence[int], version: int
    ) -> list[GroupPayload]:
        self._free_released_rows()
        uids = [uuid.uuid4().hex for _ in problems]
        with self._cluster.plain_errors("generating failed", REMEDY_ROLLOUT):
            summaries = self._trainer.roll_out(
                problems,
                uids,
                group_size=group_size,
                greedy=greedy,
                seeds=seeds,
                version=version,
                task=self._config.task,
                end_token_ids=self._end_token_ids,
            )
        payloads = [
            GroupPayload(uid, tuple(summaries[f"{uid}_{index}_0"] for index in range(group_size))) for uid in uids
        ]
        for payload in payloads:
            self._watch(payload)
            self._num_reward_failures += sum(response.reward_failed for response in payload.responses)
        sums = (each.logprob_sum for payload in payloads for each in payload.responses)
        if not greedy and not all(map(math.isfinite, sums)):
            raise generation_problem(self._config, None, f"policy of step {version}")
        return payloads

    def _watch(self, payload: GroupPayload) -> None:
        """Remove the group's rows once nothing refers to it."""
        weakref.finalize(payload, self._released.extend, payload.keys).atexit = False

    def _free_released_rows(self) -> None:
        keys, self._released[:] = list(self._released), []
        if keys:
            tq.kv_clear(keys=keys, partition_id=PARTITION)

    # ------------------------------------------------------------ update

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Train on X1 ∪ X2 ∪ X3. Raises ValueError on an empty batch."""
        if not batch:
            raise ValueError("the training batch is empty: a step without groups makes no update")
        self._sleep()
        batch = shaped_batch(batch, self._config, responses_of)
        training = self._config.training
        batches = [
            [batch[position] for position in positions]
            for positions in mini_batches(
                len(batch), training.mini_batch_size, seed=training.seed, step=step, passes=passes
            )
        ]
        one_pass = batches[: len(batches) // passes]
        critic_stats = None
        with self._cluster.plain_errors("the update failed"):
            given = self._put_demonstrations([item.group.prompt_id for item in batch if item.demonstration is not None])
            if self._critic is not None:
                critic_stats = self._critic.update(batch, batches)
            later, gap = self._distances_of_later(one_pass[1:], step)
            self._put_logprobs(batch, given)
            if self._critic is not None and self._critic.warms_up(step):
                sums = [self._measure(items, step, is_first=index == 0) for index, items in enumerate(one_pass)]
            else:
                if self._rollout == self._current:
                    self._trainer.actor_rollout_wg.keep_weights(ROLLOUT)
                sums = [self._train(items, given, step, is_first=index == 0) for index, items in enumerate(batches)]
                self._current += 1
        num_skipped = sum(not self._has_gradient(item) for item in batch)
        return update_stats(
            sums,
            later,
            gap + self._recomputed_in(step),
            num_groups_skipped=num_skipped,
            num_demonstrations=len(given),
            learning_rate=self._config.training.learning_rate,
            timing=self._phases.take(),
            critic=critic_stats,
        )

    def supervise(self, prompt_ids: Sequence[str], *, step: int) -> SupervisedStats:
        """Take one optimizer step on the cross-entropy of these prompts' demonstrations."""
        self._sleep()
        with self._cluster.plain_errors("the supervised step failed"):
            given = self._put_demonstrations(prompt_ids)
            rows = Rows.of(())
            for payload in given.values():
                rows.add_demonstration(payload)
            if self._rollout == self._current:
                self._trainer.actor_rollout_wg.keep_weights(ROLLOUT)
            sums = self._trainer.supervise(rows)
            self._current += 1
        return SupervisedStats(num_responses=len(given), loss=sums["bapo/loss"], grad_norm=sums["grad_norm"])

    def demonstrations(self) -> DemonstrationCounts | None:
        """Return what became of the worked solutions; None where the method needs none."""
        return self._demonstrations.counts

    def _put_demonstrations(self, prompt_ids: Sequence[str]) -> dict[str, GroupPayload]:
        """Put the demonstrations' rows into TransferQueue, for as long as what is returned lives."""
        payloads = put_demonstrations([self._demonstrations.examples[prompt_id] for prompt_id in prompt_ids])
        for payload in payloads:
            self._watch(payload)
        return dict(zip(prompt_ids, payloads, strict=True))

    def _train(
        self, items: Sequence[BatchItem], given: Mapping[str, GroupPayload], step: int, *, is_first: bool
    ) -> dict[str, float]:
        """Take one optimizer step on a mini-batch, with the demonstrations of its items."""
        # Where no group has a gradient, Adam still moves by its momentum: one group, with advantages 0, sees to that.
        trained = [item for item in items if self._has_gradient(item)]
        demonstrated = [given[item.group.prompt_id] for item in items if item.demonstration is not None]
        sampled = [response for item in items for response in responses_of(item)]
        sums = self._trainer.update_mini_batch(
            Rows.of(trained or items[:1], step=step, demonstrations=given),
            num_tokens=sum(each.length for each in sampled) + sum(payload.num_tokens for payload in demonstrated),
            num_responses=len(sampled) + len(demonstrated),
            measure_distance=is_first,
            logprob_fields=list(logprob_fields(self._config.objective).values()),
        )
        if self._gpu_memory_peak is not None:
            self._gpu_memory_peak = max(self._gpu_memory_peak, sums["perf/max_memory_allocated_gb"] * 2**30)
        if not trained:
            # Its tokens were not trained on.
            return {"bapo/tokens": 0.0, "bapo/loss": 0.0, "grad_norm": sums["grad_norm"]}
        return sums

    def _measure(self, items: Sequence[BatchItem], step: int, *, is_first: bool) -> dict[str, float]:
        """Measure the statistics of an update on the mini-batch without making one."""
        rows = Rows.of(items, step=step)
        logprobs, entropies = self._trainer.logprobs(rows, entropies=True)
        objective = self._config.objective
        known = logprob_fields(objective)
        fields = ["rollout_log_probs", "advantages", *known.values()]
        data = tq.kv_batch_get(keys=rows.keys, partition_id=PARTITION, select_fields=fields)
        rollout_logprobs = data["rollout_log_probs"].values()
        lengths = rows.response_lengths
        inputs = LossInputs(
            policy_logprobs=torch.cat(logprobs),
            rollout_logprobs=rollout_logprobs,
            advantages=data["advantages"].values(),
            entropies=torch.cat(entropies),
            weights=token_weights(lengths, objective.aggregation, num_tokens=sum(lengths), num_responses=len(lengths)),
            lengths=lengths,
            **{name: data[field].values() for name, field in known.items()},
        )
        output = policy_loss(inputs, objective)
        sums = recorded_sums(output)
        if is_first:
            log_ratios = inputs.policy_logprobs - rollout_logprobs
            gap = gap_on_policy(log_ratios, lengths, rows.is_on_policy, objective)
            sums |= distance_sums(log_ratios, lengths, rows.sources) | recorded_gap(gap)
            sums["gap_largest"] = gap.largest
        named = {f"bapo/{name}": float(value) for name, value in sums.items()}
        return {**named, "bapo/ratio_largest": largest_ratio(output), "grad_norm": 0.0}

    def _put_logprobs(self, batch: Sequence[BatchItem], given: Mapping[str, GroupPayload]) -> None:
        """Add log-probabilities of other policies to the rows, if the objective needs them."""
        fields, rows = logprob_fields(self._config.objective).values(), Rows.of(batch, demonstrations=given)
        if CURRENT_FIELD in fields:
            self._trainer.put_logprobs(rows, CURRENT_FIELD)
        if REFERENCE_FIELD in fields:
            with self._trainer.weights_of(REFERENCE):
                self._trainer.put_logprobs(rows, REFERENCE_FIELD)

    def _distances_of_later(
        self, batches: Sequence[Sequence[BatchItem]], step: int
    ) -> tuple[dict[str, float], GapSums]:
        """Return |ρ - 1| and the gap before the update in the mini-batches after the first, which need a separate
        forward pass.
        """
        items = [item for batch in batches for item in batch if self._has_gradient(item)]
        if not items:
            return {}, GapSums()
        rows = Rows.of(items, step=step)
        logprobs, _ = self._trainer.logprobs(rows)
        data = tq.kv_batch_get(keys=rows.keys, partition_id=PARTITION, select_fields=["rollout_log_probs"])
        log_ratios = torch.cat(logprobs) - data["rollout_log_probs"].values()
        return (
            distance_sums(log_ratios, rows.response_lengths, rows.sources),
            gap_on_policy(log_ratios, rows.response_lengths, rows.is_on_policy, self._config.objective),
        )

    def _has_gradient(self, item: BatchItem) -> bool:
        """Return whether the item's loss depends on the weights: without advantages, KL penalty and entropy bonus it is
        constant.
        """
        if self._critic is not None:
            return True
        objective = self._config.objective
        if item.advantages is not None:
            has_advantages = any(item.advantages) or bool(item.demonstration)
        else:
            has_advantages = len({response.reward for response in responses_of(item)}) > 1
        return bool(has_advantages or objective.kl_coefficient or objective.entropy_coefficient)

    # ------------------------------------------------------------ checkpoint

    def save(self, folder: Path, groups: Sequence[RolloutGroup]) -> None:
        """Write model, optimizer, α, critic and the groups' rows. Raises OSError where the disk is full or refuses."""
        workers = self._trainer.actor_rollout_wg
        try:
            workers.save_checkpoint(str(folder / ACTOR_FOLDER), None, self._current, max_ckpt_to_keep=None)
            name_number_format(folder / ACTOR_FOLDER / MODEL_FOLDER)
            if self._rollout != self._current:
                workers.save_rollout_weights(str(folder / ROLLOUT_FOLDER))
            if self._critic is not None:
                self._trainer.critic_wg.save_checkpoint(
                    str(folder / CRITIC_FOLDER), None, self._current, max_ckpt_to_keep=None
                )
        except ray.exceptions.RayTaskError as error:
            # What is written is our own, so that only writing it can fail.
            raise OSError(str(error.cause)) from error
        write_payloads(folder, [_payload(group) for group in groups])
        state = {
            "rollout_version": self._rollout_version,
            "rollout_is_current": self._rollout == self._current,
            "num_updates": self._current,
        }
        (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")

    def load(self, folder: Path) -> Sequence[object]:
        """Restore what `save` wrote; return the groups' payloads in the order in which they were given.

        Any number of training processes may have written it. Raises ConfigError where it was another with Megatron.
        """
        _check_num_processes(self._config, folder / ROLLOUT_FOLDER)
        state = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        workers = self._trainer.actor_rollout_wg
        workers.load_checkpoint(str(folder / ACTOR_FOLDER), None, del_local_after_load=False)
        self._rollout_version = state["rollout_version"]
        self._current = self._rollout = state["num_updates"]
        self._held = None
        if not state["rollout_is_current"]:
            workers.load_rollout_weights(str(folder / ROLLOUT_FOLDER))
            self._rollout = -1
        if self._critic is not None:
            self._trainer.critic_wg.load_checkpoint(str(folder / CRITIC_FOLDER), None, del_local_after_load=False)
        payloads = read_payloads(folder)
        for payload in payloads:
            self._watch(payload)
        return payloads

    # ------------------------------------------------------------ surroundings

    def utilisation(self) -> Mapping[str, float]:
        """Return memory and load of all processes, the most GPU memory in training, and the verifiers' failures."""
        values = {**self._cluster.utilisation(), "num_reward_failures": float(self._num_reward_failures)}
        if self._gpu_memory_peak is not None:
            values["gpu_memory_peak_bytes"] = self._gpu_memory_peak
        return values

    def close(self) -> None:
        """End all processes and remove what they leave behind."""
        self._cluster.close()


def _check_num_processes(config: RunConfig, folder: Path) -> None:
    """Raise ConfigError if a saved state with Megatron needs another number of processes: each reads back its part of
    α.
    """
    verl = config.engine.verl
    wrote = len(list(folder.glob("rank-*-of-*.safetensors")))
    if verl.strategy == "megatron" and wrote not in (0, verl.gpus_per_node * verl.nodes):
        name = folder.parent.name
        remedy = f"the checkpoint {name} was written by {wrote} training processes: resume with as many"
        field = "gpus_per_node" if verl.nodes == 1 else "nodes"
        raise ConfigError([ConfigProblem(f"engine.verl.{field}", getattr(verl, field), remedy)])


def _payload(group: RolloutGroup) -> GroupPayload:
    assert isinstance(group.payload, GroupPayload)
    return group.payload


def _end_token_ids(folder: Path, *named_elsewhere: object) -> tuple[int, ...]:
    """Return tokens that end a response."""
    named: list[Any] = list(named_elsewhere)
    if (folder / "generation_config.json").is_file():
        named.append(GenerationConfig.from_pretrained(folder).eos_token_id)
    flat = [token for each in named for token in (each if isinstance(each, list) else [each])]
    return tuple(sorted({token for token in flat if token is not None}))


def _check_sampling(config: RunConfig) -> None:
    """Raise ConfigError for top-p and top-k, whose log-probabilities in vLLM would not match π_θ's."""
    rollout = config.rollout
    for field, value, everything in (("top_p", rollout.top_p, 1.0), ("top_k", rollout.top_k, -1)):
        if value != everything:
            raise ConfigError(
                [ConfigProblem(f"rollout.{field}", value, f"the verl engine samples from all tokens: {everything}")]
            )
