"""verl's V1 trainer without its loop: it builds and holds the workers, and does one thing when asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue as tq
from omegaconf import DictConfig
from torch import Tensor
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.metric import reduce_metrics
from verl.workers.rollout.replica import RolloutReplicaRegistry

from bapo.advantages import group_advantages
from bapo.config.task import TaskSection
from bapo.engines.verl.agent_loop import AGENT_NAME, PARTITION, BapoAgentLoopManager, ResponseSummary
from bapo.engines.verl.chat_content import chat_messages
from bapo.engines.verl.critic_worker import BapoCriticWorker
from bapo.engines.verl.loss import (
    MEASURE_DISTANCE,
    NUM_RESPONSES,
    NUM_TOKENS,
    ON_POLICY_FIELD,
    SOURCE_FIELD,
    SUPERVISED,
    BapoLoss,
    BapoValueLoss,
)
from bapo.engines.verl.patches import keep_verl_out_of_the_load_balancer
from bapo.engines.verl.phases import Phases
from bapo.engines.verl.rows import Rows
from bapo.engines.verl.worker import BapoWorker, weight_update_seconds
from bapo.tasks.base import Problem

ADVANTAGE_ESTIMATOR = "bapo_group"
INPUT_FIELDS = [
    "prompts",
    "responses",
    "response_mask",
    "loss_mask",
    "input_ids",
    "position_ids",
    "multi_modal_inputs",
    "rollout_log_probs",
]
"""Fields of the rows that a forward pass reads."""
TRAINED_FIELDS = [*INPUT_FIELDS, "advantages", SOURCE_FIELD, ON_POLICY_FIELD]
"""Fields that an update of the policy reads."""
TARGET_FIELDS = ("advantages", "returns", "values")
"""Fields that the critic adds to the rows."""
_GRACE_SECONDS = 30
"""For the training processes to say themselves that vLLM did not answer in time."""


@register_adv_est(ADVANTAGE_ESTIMATOR)  # type: ignore[untyped-decorator]
def group_relative_advantages(
    token_level_rewards: Tensor, response_mask: Tensor, index: np.ndarray[Any, Any], config: Any = None
) -> tuple[Tensor, Tensor]:
    """Compute Eq. (2) over the rows of each group, spread over their tokens [rows, tokens].

    verl's own GRPO estimator divides by the sample standard deviation plus ε, and leaves groups of equal rewards to
    rounding.
    """
    rewards = token_level_rewards.sum(dim=-1)
    advantages = torch.zeros_like(rewards)
    for group in dict.fromkeys(index):
        rows = torch.from_numpy(index == group)
        advantages[rows] = group_advantages(rewards[rows].unsqueeze(0)).squeeze(0)
    spread = advantages.unsqueeze(-1) * response_mask
    return spread, spread


class BapoTrainer(PPOTrainerSync):  # type: ignore[misc]
    """Serves the engine; `fit`, verl's own loop, is never called."""

    def __init__(self, config: DictConfig, phases: Phases) -> None:
        super().__init__(config)
        self._phases = phases

    def start(self, loss: BapoLoss, value_loss: BapoValueLoss | None) -> None:
        """Start the workers, the rollout servers and the agent loop."""
        if self.config.trainer.device == "cpu":
            RolloutReplicaRegistry.register("vllm", _cpu_replica)
        keep_verl_out_of_the_load_balancer()
        self.init()
        self.actor_rollout_wg.set_loss_fn(loss)
        if value_loss is not None:
            self.critic_wg.set_loss_fn(value_loss)
        self.agent_loop_manager = BapoAgentLoopManager.create(
            config=self.config,
            llm_client=self.get_llm_client(),
            teacher_client=None,
            reward_loop_worker_handles=self.get_reward_handles(),
        )

    # ------------------------------------------------------------ what verl asks for

    def _init_dataloader(self) -> None:
        """Do nothing: prompts come from the loop."""
        self.total_training_steps = -1

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        self.role_worker_mapping[Role.ActorRollout] = ray.remote(BapoWorker)
        if self.use_critic:
            self.role_worker_mapping[Role.Critic] = ray.remote(BapoCriticWorker)

    def _get_required_batch_multiple(self, dp_size: int) -> int:
        """Return the number of ranks; verl fills a mini-batch of any size up with rows without response tokens."""
        return dp_size

    def on_init_end(self) -> None:
        """Do nothing: weights are pushed when they are needed."""

    # ------------------------------------------------------------ rollout

    def hold_current_weights(self, version: int) -> None:
        """Load the current weights into the rollout engine, waking it where it sleeps."""
        self._await_weights(self.actor_rollout_wg.update_weights(version, "naive"))

    def hold_rollout_weights(self, version: int) -> None:
        """Load α into the rollout engine, waking it where it sleeps."""
        self._await_weights(self.actor_rollout_wg.push_rollout_weights(version))

    def _await_weights(self, answers: Sequence[ray.ObjectRef]) -> None:
        """Wait for all training processes, a little longer than each of them waits for its vLLM."""
        seconds = weight_update_seconds(self.config.actor_rollout_ref.rollout)
        try:
            with self._phases.timed("update_weights"):
                ray.get(answers, timeout=seconds + _GRACE_SECONDS)
        except ray.exceptions.GetTimeoutError as error:
            raise TimeoutError(
                f"no answer for {seconds} s, the most that engine.verl.weight_update_seconds allows"
            ) from error

    def sleep(self) -> None:
        """Free the rollout engine's memory, weights included."""
        self.checkpoint_manager.sleep_replicas()

    def roll_out(
        self,
        problems: Sequence[Problem],
        uids: Sequence[str],
        *,
        group_size: int,
        greedy: bool,
        seeds: Sequence[int],
        version: int,
        task: TaskSection,
        end_token_ids: Sequence[int],
    ) -> Mapping[str, ResponseSummary]:
        """Generate `group_size` responses to each problem with its seed; row j of problem i is `{uids[i]}_{j}_0`."""
        columns: dict[str, list[Any]] = {
            "uid": list(uids),
            "prompt_id": [problem.prompt_id for problem in problems],
            "data_source": [problem.data_source for problem in problems],
            "prompt": [problem.prompt for problem in problems],
            "raw_prompt": [chat_messages(problem) for problem in problems],
            "answer": [dict(problem.answer) for problem in problems],
            "agent_name": [AGENT_NAME] * len(problems),
            "seed": list(seeds),
        }
        batch = tu.get_tensordict({name: _objects(values) for name, values in columns.items()})
        batch["index"] = torch.arange(len(problems))
        for name, value in (
            ("global_steps", version),
            ("__rollout_n__", group_size),
            ("__do_sample__", not greedy),
        ):
            tu.assign_non_tensor_data(batch, name, value)
        summaries: Mapping[str, ResponseSummary]
        with self._phases.timed("gen"):
            summaries, reward_seconds = self.agent_loop_manager.roll_out(batch, task, end_token_ids)
        # Within the time above: responses are verified while others are still being written.
        self._phases.add("reward", reward_seconds)
        return summaries

    # ------------------------------------------------------------ update

    def update_mini_batch(
        self,
        rows: Rows,
        *,
        num_tokens: int,
        num_responses: int,
        measure_distance: bool,
        logprob_fields: Sequence[str] = (),
    ) -> dict[str, float]:
        """Take one optimizer step on these rows; the numbers count the whole mini-batch, skipped groups included.

        `logprob_fields` were added to the rows with `put_logprobs`.
        """
        tq.kv_batch_put(
            keys=rows.keys,
            partition_id=PARTITION,
            fields=tu.get_tensordict(
                {SOURCE_FIELD: torch.tensor(rows.sources), ON_POLICY_FIELD: torch.tensor(rows.is_on_policy)}
            ),
        )
        batch = self._balanced(rows.keys, rows.lengths)
        # After balancing, so that the rows which that may add have one as well.
        with self._phases.timed("adv"):
            if self.use_critic:
                _zero_padding(batch, TARGET_FIELDS)
            else:
                self._compute_advantage(batch, {})
                self._put_given_advantages(rows)
            _zero_padding(batch, logprob_fields)
        batch.fields = [*TRAINED_FIELDS, *logprob_fields]
        batch.extra_info.update(
            {
                **self._one_step(batch),
                "calculate_entropy": True,
                NUM_TOKENS: num_tokens,
                NUM_RESPONSES: num_responses,
                MEASURE_DISTANCE: measure_distance,
                SUPERVISED: False,
            }
        )
        return self._update_actor(batch)

    def supervise(self, rows: Rows) -> dict[str, float]:
        """Take one optimizer step on the mean cross-entropy of these rows, at temperature 1."""
        batch = self._balanced(rows.keys, rows.lengths)
        batch.fields = INPUT_FIELDS
        batch.extra_info.update(
            {
                **self._one_step(batch),
                "temperature": 1.0,
                "calculate_entropy": False,
                NUM_TOKENS: sum(rows.response_lengths),
                SUPERVISED: True,
            }
        )
        return self._update_actor(batch)

    def _update_actor(self, batch: KVBatchMeta) -> dict[str, float]:
        with self._phases.timed("update_actor"):
            output = self.actor_rollout_wg.update_actor(batch)
        _clear_padding(batch)
        return {name: float(value) for name, value in reduce_metrics(dict(output["metrics"])).items()}

    def _put_given_advantages(self, rows: Rows) -> None:
        """Put the method's own in the place of the group-relative ones."""
        keys, spread = [], []
        for key, length, advantage in zip(rows.keys, rows.response_lengths, rows.advantages, strict=True):
            if advantage is not None:
                keys.append(key)
                spread.append(torch.full((length,), advantage))
        if keys:
            nested = torch.nested.as_nested_tensor(spread, layout=torch.jagged)
            tq.kv_batch_put(keys=keys, partition_id=PARTITION, fields=tu.get_tensordict({"advantages": nested}))

    def _one_step(self, batch: KVBatchMeta) -> dict[str, Any]:
        """Return the settings that make one optimizer step of the whole batch."""
        return {
            "global_batch_size": len(batch),
            "mini_batch_size": len(batch),
            "epochs": 1,
            "seed": 0,
            "dataloader_kwargs": {"shuffle": False},
            "temperature": self.config.actor_rollout_ref.rollout.temperature,
        }

    def logprobs(self, rows: Rows, *, entropies: bool = False) -> tuple[list[Tensor], list[Tensor]]:
        """Return log π_θ of each row's response tokens under the current weights, and the entropies if they are asked
        for.
        """
        batch = self._balanced(rows.keys, rows.lengths)
        batch.fields = INPUT_FIELDS
        batch.extra_info.update(
            {
                "calculate_entropy": entropies,
                "compute_loss": False,
                "temperature": self.config.actor_rollout_ref.rollout.temperature,
            }
        )
        with self._phases.timed("log_prob"):
            self.actor_rollout_wg.compute_log_prob(batch)
        _clear_padding(batch)
        names = ["log_probs", "entropy"] if entropies else ["log_probs"]
        data = tq.kv_batch_get(keys=rows.keys, partition_id=PARTITION, select_fields=names)
        found = [_before_responses(data[name], rows.response_lengths) for name in names]
        return found[0], found[1] if entropies else []

    @contextmanager
    def weights_of(self, policy: str) -> Iterator[None]:
        """Hold a policy that the training processes keep in the place of the current weights."""
        self.actor_rollout_wg.exchange_weights(policy)
        try:
            yield
        finally:
            self.actor_rollout_wg.exchange_weights(policy)

    def put_logprobs(self, rows: Rows, field: str) -> Tensor:
        """Put log π of each row's response tokens under the weights that the training processes hold; return them."""
        logprobs, _ = self.logprobs(rows)
        nested = torch.nested.as_nested_tensor(logprobs, layout=torch.jagged)
        tq.kv_batch_put(keys=rows.keys, partition_id=PARTITION, fields=tu.get_tensordict({field: nested}))
        return torch.cat(logprobs)

    # ------------------------------------------------------------ critic

    def values(self, rows: Rows) -> list[Tensor]:
        """Return V of the state before each row's response tokens."""
        batch = self._balanced(rows.keys, rows.lengths)
        batch.fields = INPUT_FIELDS
        with self._phases.timed("values"):
            self._compute_values(batch, {})
        _clear_padding(batch)
        data = tq.kv_batch_get(keys=rows.keys, partition_id=PARTITION, select_fields=["values"])
        return list(data["values"].unbind())

    def put_targets(self, rows: Rows, advantages: Tensor, returns: Tensor) -> None:
        """Add the tokens' advantages and returns to the rows."""
        with self._phases.timed("adv"):
            fields = {
                name: torch.nested.as_nested_tensor(
                    list(torch.split(values, rows.response_lengths)), layout=torch.jagged
                )
                for name, values in (("advantages", advantages), ("returns", returns))
            }
            tq.kv_batch_put(keys=rows.keys, partition_id=PARTITION, fields=tu.get_tensordict(fields))

    def update_critic(self, rows: Rows) -> dict[str, float]:
        """Take one optimizer step of the critic on these rows, which have values and returns."""
        batch = self._balanced(rows.keys, rows.lengths)
        _zero_padding(batch, TARGET_FIELDS)
        batch.fields = [*INPUT_FIELDS, "values", "returns"]
        batch.extra_info.update({**self._one_step(batch), NUM_TOKENS: sum(rows.response_lengths)})
        with self._phases.timed("update_critic"):
            output = self.critic_wg.train_mini_batch(batch).get()
        _clear_padding(batch)
        return {name: float(value) for name, value in reduce_metrics(dict(output["metrics"])).items()}

    def _balanced(self, keys: Sequence[str], lengths: Sequence[int]) -> KVBatchMeta:
        """Return the rows, spread over the ranks by length, filled up where their number needs it."""
        tags = [{"seq_len": length} for length in lengths]
        return self._balance_batch(KVBatchMeta(keys=list(keys), tags=tags, partition_id=PARTITION), metrics={})


def _cpu_replica() -> type[Any]:
    from bapo.engines.verl.vllm_cpu import CpuReplica  # noqa: PLC0415  (imports vLLM)

    return CpuReplica


def _clear_padding(batch: KVBatchMeta) -> None:
    padding = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if tag.get("is_padding")]
    if padding:
        tq.kv_clear(keys=padding, partition_id=PARTITION)


def _zero_padding(batch: KVBatchMeta, names: Sequence[str]) -> None:
    """Set zeros at the one token of each row of padding: verl copies these fields from another row."""
    padding = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if tag.get("is_padding")]
    if padding and names:
        zeros = torch.nested.as_nested_tensor([torch.zeros(1) for _ in padding], layout=torch.jagged)
        fields = tu.get_tensordict(dict.fromkeys(names, zeros))
        tq.kv_batch_put(keys=padding, partition_id=PARTITION, fields=fields)


def _before_responses(values: Any, response_lengths: Sequence[int]) -> list[Tensor]:
    """Return the parts of a nested tensor over prompt and response tokens that predict each response token."""
    ends = values.offsets()[1:].tolist()
    flat = values.values()
    return [flat[end - length - 1 : end - 1] for end, length in zip(ends, response_lengths, strict=True)]


def _objects(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return an array of one object per row, lists and dicts included."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
