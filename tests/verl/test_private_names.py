"""Names that verl and vLLM do not promise, each as the engine uses it: the next release fails here, not at a step."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest


def _found(path: str) -> Any:
    """What `module:Class.name` names, in the class itself or above it."""
    module, _, names = path.partition(":")
    found = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


TRAINER = "verl.trainer.ppo.v1.trainer_sync:PPOTrainerSync"
AGENT_LOOPS = "verl.trainer.ppo.v1.agent_loop_tq:AgentLoopWorkerTQ.__ray_metadata__.modified_class"


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        # Overridden, so that verl must call them with these.
        (f"{TRAINER}._init_dataloader", ["self"]),
        (f"{TRAINER}._init_resource_pool_mgr", ["self"]),
        (f"{TRAINER}._get_required_batch_multiple", ["self", "dp_size"]),
        (f"{TRAINER}.on_init_end", ["self"]),
        (f"{AGENT_LOOPS}._run_agent_loop", ["self", "sampling_params", "trajectory", "agent_name", "trace", "kwargs"]),
        (f"{AGENT_LOOPS}._agent_loop_postprocess", ["self", "output", "validate", "kwargs"]),
        (
            "verl.workers.rollout.vllm_rollout:ServerAdapter._execute_method",
            ["self", "method", "non_block", "timeout", "args", "kwargs"],
        ),
        ("verl.workers.rollout.vllm_rollout.vllm_async_server:vLLMHttpServer._get_worker_extension_cls", ["self"]),
        ("verl.utils.model:load_valuehead_model", ["local_path", "torch_dtype", "model_config", "trust_remote_code"]),
        # Called.
        (f"{TRAINER}._balance_batch", ["self", "batch", "metrics", "logging_prefix", "keep_minibatch"]),
        (f"{TRAINER}._compute_advantage", ["self", "batch", "metrics"]),
        (f"{TRAINER}._compute_values", ["self", "batch", "metrics"]),
    ],
)
def test_a_method_that_is_not_promised_takes_what_we_give_and_get(path: str, parameters: list[str]) -> None:
    # Ray adds one of its own to an actor's methods.
    assert [name for name in inspect.signature(_found(path)).parameters if name != "_ray_trace_ctx"] == parameters


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("verl.workers.rollout.base:_ROLLOUT_REGISTRY", dict),
        ("vllm._custom_ops:_supports_onednn", bool),
        ("transformers:PreTrainedConfig._attn_implementation", property),
    ],
)
def test_a_value_that_is_not_promised_is_what_we_take_it_for(path: str, kind: type) -> None:
    assert isinstance(_found(path), kind)


def test_the_line_to_vllm_is_registered_under_its_name() -> None:
    assert ("vllm", "async") in _found("verl.workers.rollout.base:_ROLLOUT_REGISTRY")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        # Attributes that a constructor sets, and places from which ours are read.
        ("verl.trainer.ppo.v1.trainer_base:PPOTrainer._init_resource_pool_mgr", "self.role_worker_mapping[role] ="),
        ("verl.trainer.ppo.v1.trainer_base:PPOTrainer._setup", "self._init_resource_pool_mgr()"),
        (f"{AGENT_LOOPS}.generate_sequences", "self.background_tasks.add(task)"),
        ("verl.experimental.agent_loop.agent_loop:AgentLoopManager", "self.agent_loop_workers_class"),
        ("verl.workers.rollout.base:get_rollout_class", "_ROLLOUT_REGISTRY["),
        ("verl.workers.engine_workers:ActorRolloutRefWorker.init_model", "self.actor = self.actor_worker_cls("),
        ("verl.utils.fsdp_utils:offload_fsdp2_model_to_cpu", "non_blocking=True"),
        # What a chart of observed runs draws.
        ("verl.utils.debug.metrics:calculate_debug_metrics", '"training/rollout_probs_diff_mean": torch.mean('),
        ("verl.utils.debug.metrics:calculate_debug_metrics", '"training/rollout_probs_diff_max": torch.max('),
    ],
)
def test_upstream_still_reads_and_sets_what_we_rely_on(path: str, text: str) -> None:
    assert text in inspect.getsource(_found(path))
