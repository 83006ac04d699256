"""The engine of a cluster: verl's V1 trainer serves the loop's calls."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
import uuid
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import ray
import torch
import transfer_queue as tq
from transformers import AutoConfig, GenerationConfig

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.draws import seed_of
from bapo.engine import BatchItem, Generation, GenerationStats, Policy, ResponseSample, UpdateStats
from bapo.local.policy import load_tokenizer, model_folder
from bapo.local.update import mini_batches
from bapo.records import RATIO_BIN_EDGES
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem, Task
from bapo.verl_plugin.agent_loop import PARTITION, ResponseSummary
from bapo.verl_plugin.environment import worker_environment
from bapo.verl_plugin.leftovers import end_processes, remove_shared_memory
from bapo.verl_plugin.loss import SOURCES, BapoLoss, distance_sums
from bapo.verl_plugin.payload import GroupPayload, read_payloads, write_payloads
from bapo.verl_plugin.settings import logical_cpus, verl_settings
from bapo.verl_plugin.trainer import BapoTrainer

ACTOR_FOLDER = "actor"
"""verl's checkpoint of model and optimizer, with the model in Hugging Face format in `huggingface`."""
ROLLOUT_FOLDER = "rollout-model"
"""α's shards, where they differ from the current weights."""
STATE_FILE = "engine.json"
_RAY_STARTS = 4
"""Tries."""


class VerlEngine:
    """A model in training on verl's workers, and vLLM, which holds now its current weights, now α."""

    def __init__(self, config: RunConfig, task: Task) -> None:
        """Start Ray, the training processes and vLLM.

        Raises ConfigError where model, devices or the Ray cluster cannot be used.
        """
        self._config = config
        self._begin = time.time()
        self._process = psutil.Process()
        self._other_processes = set(self._process.children(recursive=True))
        folder = model_folder(config.model.path)
        self._tokenizer = load_tokenizer(config.model.path)
        self._end_token_ids = _end_token_ids(folder, self._tokenizer.eos_token_id)
        self._on_cpu = not torch.cuda.is_available()
        _check_sampling(config)
        self._ray_folder = Path(tempfile.mkdtemp(prefix="bapo-ray-"))
        self._released: list[str] = []
        self._num_reward_failures = 0
        # Number of updates that the current weights, α and the weights in vLLM have seen; α's own copy is made at the
        # first update after a synchronisation.
        self._current = 0
        self._rollout = 0
        self._held: int | None = None
        self._rollout_version = 0
        self._version = 0
        try:
            self._start_ray()
            settings = verl_settings(config, model_folder=str(folder), on_cpu=self._on_cpu)
            self._sleeps = bool(settings.actor_rollout_ref.rollout.free_cache_engine)
            tq.init(settings.transfer_queue)
            self._trainer = BapoTrainer(settings)
            self._trainer.start(BapoLoss(config.loss, config.loss_aggregation))
        except BaseException:
            self.close()
            raise

    def _start_ray(self) -> None:
        verl = self._config.engine.verl
        options = {
            "runtime_env": {"env_vars": worker_environment(self._config, on_cpu=self._on_cpu)},
            "log_to_driver": False,
            "namespace": f"bapo-{uuid.uuid4().hex[:8]}",
        }
        if verl.ray_address is not None:
            try:
                ray.init(address=verl.ray_address, **options)
            except ConnectionError as error:
                raise _problem("ray_address", verl.ray_address, f"no Ray cluster answers there ({error})") from error
        else:
            self._start_ray_here(
                num_cpus=logical_cpus(verl) if self._on_cpu else None,
                num_gpus=verl.gpus_per_node if self._on_cpu else None,
                include_dashboard=False,
                _temp_dir=str(self._ray_folder),
                **options,
            )
        num_gpus = int(ray.cluster_resources().get("GPU", 0))
        if num_gpus < verl.gpus_per_node * verl.nodes:
            raise _problem(
                "gpus_per_node",
                verl.gpus_per_node,
                f"with {verl.nodes} machine(s) it asks for {verl.gpus_per_node * verl.nodes} GPUs, and Ray has "
                f"{num_gpus}: ask for fewer",
            )

    def _start_ray_here(self, **options: object) -> None:
        """Start a Ray of our own; again where a busy machine was slower than the half minute that Ray allows."""
        for remaining in reversed(range(_RAY_STARTS)):
            try:
                ray.init(**options)
                return
            except Exception as error:
                self._end_processes()
                if not remaining or "timed out during startup" not in str(error):
                    raise

    def _end_processes(self) -> None:
        """End Ray and every process that this engine has started."""
        started = [each for each in self._process.children(recursive=True) if each not in self._other_processes]
        ray.shutdown()
        end_processes(started)

    # ------------------------------------------------------------ generation

    def sync_rollout_policy(self, version: int) -> None:
        """α ← current weights, known as policy version `version`."""
        self._rollout_version = self._version = version
        self._rollout = self._current

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Answer each problem `group_size` times and verify the answers."""
        version = self._rollout_version if policy is Policy.ROLLOUT else step - 1
        self._hold(policy, version)
        seed = seed_of(self._config.training.seed, step, purpose)
        payloads = self._roll_out(problems, group_size=group_size, greedy=False, seed=seed, version=version)
        groups = [
            RolloutGroup(problem.prompt_id, sum(payload.rewards), group_size, version, step, payload)
            for problem, payload in zip(problems, payloads, strict=True)
        ]
        return Generation(groups, _generation_stats(payloads))

    def greedy(self, problems: Sequence[Problem]) -> Sequence[int]:
        """Reward (0 or 1) of each problem's greedy answer under the current weights."""
        self._hold(Policy.CURRENT, self._current)
        payloads = self._roll_out(problems, group_size=1, greedy=True, seed=0, version=self._current)
        return [payload.rewards[0] for payload in payloads]

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        """The group's responses as text."""
        payload = _payload(group)
        data = tq.kv_batch_get(keys=payload.keys, partition_id=PARTITION, select_fields=["responses"])
        texts = self._tokenizer.batch_decode(
            [row.tolist() for row in data["responses"].unbind()], skip_special_tokens=True
        )
        return [
            ResponseSample(text, each.reward, each.length, each.logprob_sum)
            for text, each in zip(texts, payload.responses, strict=True)
        ]

    def _hold(self, policy: Policy, version: int) -> None:
        """Have vLLM hold the policy's weights; those that it holds already are not sent again."""
        wanted = self._rollout if policy is Policy.ROLLOUT else self._current
        if self._held == wanted:
            return
        if wanted == self._current:
            self._trainer.hold_current_weights(version)
        else:
            self._trainer.hold_rollout_weights(version)
        self._held = wanted

    def _roll_out(
        self, problems: Sequence[Problem], *, group_size: int, greedy: bool, seed: int, version: int
    ) -> list[GroupPayload]:
        self._free_released_rows()
        uids = [uuid.uuid4().hex for _ in problems]
        summaries = self._trainer.roll_out(
            problems,
            uids,
            group_size=group_size,
            greedy=greedy,
            seed=seed,
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
        return payloads

    def _watch(self, payload: GroupPayload) -> None:
        """Have the group's rows removed once nothing refers to it."""
        weakref.finalize(payload, self._released.extend, payload.keys).atexit = False

    def _free_released_rows(self) -> None:
        keys, self._released[:] = list(self._released), []
        if keys:
            tq.kv_clear(keys=keys, partition_id=PARTITION)

    # ------------------------------------------------------------ update

    def update(self, batch: Sequence[BatchItem], *, step: int) -> UpdateStats:
        """Train on X1 ∪ X2 ∪ X3. Raises ValueError on an empty batch."""
        if not batch:
            raise ValueError("the training batch is empty: a step without groups makes no update")
        if self._rollout == self._current:
            self._trainer.actor_rollout_wg.keep_rollout_weights()
        if self._sleeps and self._held is not None:
            self._trainer.sleep()
            self._held = None
        training = self._config.training
        batches = [
            [batch[position] for position in positions]
            for positions in mini_batches(len(batch), training.mini_batch_size, seed=training.seed, step=step)
        ]
        later = self._distances_of_later(batches[1:])
        sums = [self._train(items, is_first=index == 0) for index, items in enumerate(batches)]
        self._current += 1
        return _update_stats(sums, later, num_groups_skipped=sum(not self._has_gradient(item) for item in batch))

    def _train(self, items: Sequence[BatchItem], *, is_first: bool) -> dict[str, float]:
        """One optimizer step on a mini-batch."""
        # Where no group has a gradient, Adam still moves by its momentum: one group, with advantages 0, sees to that.
        trained = [item for item in items if self._has_gradient(item)]
        payloads = [_payload(item.group) for item in items]
        sums = self._trainer.update_mini_batch(
            *_rows(trained or items[:1]),
            num_tokens=sum(payload.num_tokens for payload in payloads),
            num_responses=sum(len(payload.responses) for payload in payloads),
            measure_distance=is_first,
        )
        if not trained:
            # Its tokens were not trained on.
            return {"bapo/tokens": 0.0, "bapo/loss": 0.0, "grad_norm": sums["grad_norm"]}
        return sums

    def _distances_of_later(self, batches: Sequence[Sequence[BatchItem]]) -> dict[str, float]:
        """|ρ - 1| before the update in the mini-batches after the first, which need a forward pass of their own."""
        items = [item for batch in batches for item in batch if self._has_gradient(item)]
        if not items:
            return {}
        keys, lengths, sources = _rows(items)
        logprobs = self._trainer.logprobs(keys, lengths)
        data = tq.kv_batch_get(keys=keys, partition_id=PARTITION, select_fields=["rollout_log_probs"])
        log_ratios = torch.cat(logprobs) - data["rollout_log_probs"].values()
        return distance_sums(log_ratios, [len(part) for part in logprobs], sources)

    def _has_gradient(self, item: BatchItem) -> bool:
        """Without advantages, KL penalty and entropy bonus, the loss of a group is constant."""
        loss = self._config.loss
        return bool(not item.group.is_homogeneous or loss.kl_coefficient or loss.entropy_coefficient)

    # ------------------------------------------------------------ checkpoint

    def save(self, folder: Path, groups: Sequence[RolloutGroup]) -> None:
        """Write model, optimizer, α and the groups' rows. Raises OSError where the disk is full or refuses."""
        workers = self._trainer.actor_rollout_wg
        try:
            workers.save_checkpoint(str(folder / ACTOR_FOLDER), None, self._current, max_ckpt_to_keep=None)
            if self._rollout != self._current:
                workers.save_rollout_weights(str(folder / ROLLOUT_FOLDER))
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
        """Restore what `save` wrote; return the groups' payloads in the order in which they were given."""
        state = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        workers = self._trainer.actor_rollout_wg
        workers.load_checkpoint(str(folder / ACTOR_FOLDER), None, del_local_after_load=False)
        self._rollout_version = state["rollout_version"]
        self._current = self._rollout = state["num_updates"]
        self._held = None
        if not state["rollout_is_current"]:
            workers.load_rollout_weights(str(folder / ROLLOUT_FOLDER))
            self._rollout = -1
        payloads = read_payloads(folder)
        for payload in payloads:
            self._watch(payload)
        return payloads

    # ------------------------------------------------------------ surroundings

    def utilisation(self) -> Mapping[str, float]:
        """Resident memory and CPU load of all processes, shared pages counted in each; verifier failures so far."""
        processes = [self._process, *self._process.children(recursive=True)]
        memory = 0
        for process in processes:
            try:
                memory += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return {
            "memory_bytes": float(memory),
            "num_processes": float(len(processes)),
            "num_reward_failures": float(self._num_reward_failures),
        }

    def close(self) -> None:
        """End all processes and remove what they leave behind."""
        if ray.is_initialized():
            tq.close()
        self._end_processes()
        remove_shared_memory(self._begin)
        shutil.rmtree(self._ray_folder, ignore_errors=True)


def _rows(items: Sequence[BatchItem]) -> tuple[list[str], list[int], list[int]]:
    """Key, number of prompt and response tokens, and source of each row."""
    keys, lengths, sources = [], [], []
    for item in items:
        payload = _payload(item.group)
        keys += payload.keys
        lengths += [response.prompt_length + response.length for response in payload.responses]
        sources += [SOURCES.index(item.source)] * len(payload.responses)
    return keys, lengths, sources


def _payload(group: RolloutGroup) -> GroupPayload:
    assert isinstance(group.payload, GroupPayload)
    return group.payload


def _generation_stats(payloads: Sequence[GroupPayload]) -> GenerationStats:
    responses: list[ResponseSummary] = [response for payload in payloads for response in payload.responses]
    num_tokens = sum(response.length for response in responses)
    return GenerationStats(
        num_tokens=num_tokens,
        response_length_mean=num_tokens / len(responses),
        response_length_max=max(response.length for response in responses),
        response_clip_ratio=1 - sum(response.ended for response in responses) / len(responses),
    )


def _update_stats(
    batches: Sequence[Mapping[str, float]], later: Mapping[str, float], *, num_groups_skipped: int
) -> UpdateStats:
    """Token means over the mini-batches' sums. Where all groups were skipped: no deviation, ratio 1."""

    def total(name: str) -> float:
        return math.fsum(sums.get(f"bapo/{name}", 0.0) for sums in batches)

    num_tokens = int(total("tokens"))

    def mean(name: str, empty: float = 0.0) -> float:
        return total(name) / num_tokens if num_tokens else empty

    def half_means(kind: str) -> dict[BatchSource, float]:
        found = {}
        for source in BatchSource:
            name = f"tv_{kind}_{{}}_{source}"
            count = total(name.format("count")) + later.get(name.format("count"), 0.0)
            if count:
                found[source] = (total(name.format("sum")) + later.get(name.format("sum"), 0.0)) / count / 2
        return found

    return UpdateStats(
        loss=total("loss") / len(batches),
        entropy=mean("entropy"),
        grad_norm=math.fsum(sums["grad_norm"] for sums in batches) / len(batches),
        kl=mean("kl"),
        clip_fraction=mean("clipped"),
        ratio_mean=mean("ratio", 1.0),
        ratio_max=max((sums.get("bapo/ratio_largest", 0.0) for sums in batches), default=1.0) or 1.0,
        ratio_histogram=[int(total(f"bin_{index}")) for index in range(len(RATIO_BIN_EDGES) + 1)],
        num_mini_batches=len(batches),
        num_tokens=num_tokens,
        num_groups_skipped=num_groups_skipped,
        tv_tokens=half_means("token"),
        tv_sequences=half_means("sequence"),
    )


def _end_token_ids(folder: Path, tokenizer_end: int | None) -> tuple[int, ...]:
    """Tokens that end a response."""
    generation = GenerationConfig.from_pretrained(folder) if (folder / "generation_config.json").is_file() else None
    named = [tokenizer_end, AutoConfig.from_pretrained(folder).eos_token_id]
    if generation is not None:
        named.append(generation.eos_token_id)
    flat = [token for each in named for token in (each if isinstance(each, list) else [each])]
    return tuple(sorted({token for token in flat if token is not None}))


def _check_sampling(config: RunConfig) -> None:
    """vLLM's log-probabilities are those after top-p and top-k, to which π_θ's would be no match."""
    rollout = config.rollout
    for field, value, everything in (("top_p", rollout.top_p, 1.0), ("top_k", rollout.top_k, -1)):
        if value != everything:
            raise ConfigError(
                [ConfigProblem(f"rollout.{field}", value, f"the verl engine samples from all tokens: {everything}")]
            )


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(f"engine.verl.{field}", value, remedy)])
