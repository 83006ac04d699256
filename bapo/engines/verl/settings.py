"""Translates a run's config to verl's."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_module
from omegaconf import DictConfig, OmegaConf, open_dict

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.engine import VerlConfig
from bapo.engines.verl.saved_weights import largest_weight
from bapo.engines.verl.trainer import ADVANTAGE_ESTIMATOR
from bapo.engines.verl.worker import OPTIONS, WEIGHT_UPDATE_SECONDS

_CPU_BUNDLE = 3
"""CPUs that verl reserves with each training process."""
_OTHER_CPUS = 5
"""Number of CPUs for TransferQueue's controller, and for actors that Ray places on one CPU at a time and returns at
once.
"""
_FLASH, _SDPA = "flash_attention_2", "sdpa"
_IN_ONE_PROCESS = "vllm.v1.executor.uniproc_executor.UniProcExecutor"
"""vLLM's scheduler and its worker."""


def verl_settings(config: RunConfig, *, model_folder: str, on_cpu: bool) -> DictConfig:
    """Merge the run's config into verl's own defaults. Raises ConfigError for what needs a GPU, without one."""
    strategy = config.engine.verl.strategy
    if on_cpu and strategy == "megatron":
        raise ConfigError([ConfigProblem("engine.verl.strategy", strategy, "Megatron needs GPUs: choose fsdp2")])
    if config.critic is not None and strategy == "megatron":
        raise ConfigError(
            [ConfigProblem("engine.verl.strategy", strategy, f"{config.method.type} has a critic: choose fsdp2")]
        )
    with initialize_config_module("verl.trainer.config", version_base=None):
        settings = compose("ppo_trainer", overrides=_GROUPS[strategy])
    with open_dict(settings):
        for path, value in _changes(config, model_folder, on_cpu=on_cpu).items():
            OmegaConf.update(settings, path, value, force_add=True)
    OmegaConf.resolve(settings)
    return settings


def reserved_cpus(verl: VerlConfig, *, on_cpu: bool) -> int:
    """Count the CPUs that verl's processes reserve with Ray before they start; with fewer, they wait without an end."""
    return _CPU_BUNDLE * verl.gpus_per_node * verl.nodes + _storage_units(on_cpu=on_cpu) + _OTHER_CPUS


def dtype(config: RunConfig, *, on_cpu: bool) -> str:
    """Return `float32` or `bfloat16`, for forward passes and rollouts; weights and optimizer are float32.

    Raises ConfigError for bfloat16 without a GPU: vLLM then packs its weights in a way that cannot be updated.
    """
    wanted = config.engine.verl.dtype
    if on_cpu and wanted == "bfloat16":
        raise ConfigError([ConfigProblem("engine.verl.dtype", wanted, "without a GPU choose float32 or auto")])
    if wanted != "auto":
        return wanted
    return "float32" if on_cpu else "bfloat16"


def attention(config: RunConfig, *, on_cpu: bool) -> str:
    """Return `flash_attention_2` or `sdpa`. Raises ConfigError for flash attention if it is not installed."""
    wanted = config.engine.verl.attention
    if wanted == _FLASH and on_cpu:
        raise ConfigError([ConfigProblem("engine.verl.attention", wanted, "without a GPU choose sdpa or auto")])
    # flash-attn has no wheel that pip would find: users must build it themselves.
    has_flash = find_spec("flash_attn") is not None
    if wanted == _FLASH and not has_flash:
        remedy = "flash-attn is not installed in the trainer's environment: install it there, or choose sdpa or auto"
        raise ConfigError([ConfigProblem("engine.verl.attention", wanted, remedy)])
    is_flash = has_flash and not on_cpu and dtype(config, on_cpu=on_cpu) == "bfloat16"
    return (_FLASH if is_flash else _SDPA) if wanted == "auto" else wanted


def _storage_units(*, on_cpu: bool) -> int:
    return 1 if on_cpu else 8


def _fsdp(verl: VerlConfig, precision: str) -> dict[str, Any]:
    return {
        "fsdp_config.entropy_from_logits_with_chunking": True,
        "fsdp_config.param_offload": verl.offload,
        "fsdp_config.optimizer_offload": verl.offload,
        "fsdp_config.mixed_precision": {
            "param_dtype": _SHORT[precision],
            "reduce_dtype": "fp32",
            "buffer_dtype": "fp32",
        },
    }


def _forward_pass(config: RunConfig, *, on_cpu: bool) -> dict[str, Any]:
    """Return how the training processes compute a forward pass."""
    verl = config.engine.verl
    if verl.strategy == "megatron":
        return {"use_remove_padding": True}
    kind = attention(config, on_cpu=on_cpu)
    return {
        "override_config": {"attn_implementation": kind},
        # Of the two, only flash attention keeps responses apart that lie in one row without padding between them.
        "use_remove_padding": kind == _FLASH,
        "use_fused_kernels": verl.fused_kernels,
        "fused_kernel_options": {"impl_backend": "torch"},
    }


def _megatron(verl: VerlConfig, precision: str) -> dict[str, Any]:
    return {
        "megatron.param_offload": verl.offload,
        "megatron.optimizer_offload": verl.offload,
        "megatron.tensor_model_parallel_size": verl.megatron_tensor_parallel,
        "megatron.pipeline_model_parallel_size": verl.megatron_pipeline_parallel,
        "megatron.dtype": precision,
    }


def _changes(config: RunConfig, model_folder: str, *, on_cpu: bool) -> dict[str, Any]:
    rollout, training, verl = config.rollout, config.training, config.engine.verl
    longest = rollout.max_prompt_tokens + rollout.max_response_tokens
    tokens = max(training.micro_batch_tokens, longest)
    num_processes = verl.gpus_per_node * verl.nodes
    precision = dtype(config, on_cpu=on_cpu)
    changes: dict[str, Any] = {
        "data.train_batch_size": rollout.batch_size,
        "data.max_prompt_length": rollout.max_prompt_tokens,
        "data.max_response_length": rollout.max_response_tokens,
        "trainer.device": "cpu" if on_cpu else "cuda",
        "trainer.n_gpus_per_node": verl.gpus_per_node,
        "trainer.nnodes": verl.nodes,
        "trainer.resume_mode": "disable",
        "trainer.v1.trainer_mode": "sync",
        "algorithm.adv_estimator": ADVANTAGE_ESTIMATOR,
        # The ratio is π_θ / the behaviour policy: no log-probabilities of a third policy are computed.
        "algorithm.rollout_correction.bypass_mode": True,
        "critic.enable": config.critic is not None,
        # The agent loop verifies by itself.
        "reward.num_workers": 0,
        "transfer_queue.enable": True,
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": _storage_units(on_cpu=on_cpu),
    }
    model = {
        "path": model_folder,
        "enable_gradient_checkpointing": verl.gradient_checkpointing,
        **_forward_pass(config, on_cpu=on_cpu),
    }
    actor = {
        "strategy": verl.strategy,
        "optim.lr": training.learning_rate,
        "optim.weight_decay": training.weight_decay,
        "optim.clip_grad": training.max_grad_norm,
        "ppo_mini_batch_size": training.mini_batch_size or training.batch_size,
        "use_dynamic_bsz": True,
        "ppo_max_token_len_per_gpu": tokens,
        "use_kl_loss": False,
        "checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
        "checkpoint.load_contents": ["model", "optimizer", "extra"],
        **(_megatron(verl, precision) if verl.strategy == "megatron" else _fsdp(verl, precision)),
    }
    server = {
        "name": "vllm",
        "mode": "async",
        "n": rollout.group_size,
        "temperature": rollout.temperature,
        "top_p": rollout.top_p,
        "top_k": rollout.top_k,
        "prompt_length": rollout.max_prompt_tokens,
        "response_length": rollout.max_response_tokens,
        "max_model_len": longest,
        "max_num_batched_tokens": max(8192, longest),
        "tensor_model_parallel_size": verl.tensor_parallel,
        "gpu_memory_utilization": verl.gpu_memory_utilization,
        "dtype": precision,
        "max_num_seqs": verl.max_num_seqs,
        "calculate_log_probs": True,
        # Of the distribution before top-p and top-k, as the ratio's numerator is.
        "logprobs_mode": "processed_logprobs",
        "log_prob_use_dynamic_bsz": True,
        "log_prob_max_token_len_per_gpu": tokens,
        "agent.num_workers": verl.agent_workers or (1 if on_cpu else max(8, num_processes)),
        "load_format": "auto",
        "checkpoint_engine.engine_kwargs": {OPTIONS: {WEIGHT_UPDATE_SECONDS: verl.weight_update_seconds}},
    }
    if on_cpu:
        # verl sends float32 weights through shared memory of this size then, each weight in one piece.
        piece_mib = -(-4 * largest_weight(Path(model_folder)) >> 20)
        actor |= {"use_torch_compile": False, "fsdp_config.use_torch_compile": False}
        server |= {
            "enforce_eager": True,
            "enable_sleep_mode": False,
            "free_cache_engine": False,
            "checkpoint_engine.update_weights_bucket_megabytes": max(16, piece_mib),
        }
        if verl.tensor_parallel == 1:
            # By its path: vllm/platforms/cpu.py:147 turns the name "uni" into "mp", a process more that imports all of
            # vLLM, because that process could choose its number of threads. Ours have OMP_NUM_THREADS from the start.
            server["engine_kwargs.vllm.distributed_executor_backend"] = _IN_ONE_PROCESS
    if config.critic is not None:
        value_model = {
            # A value head has no logits to fuse.
            **{f"model.{name}": value for name, value in model.items() if "fused" not in name},
            "strategy": verl.strategy,
            "optim.lr": config.critic.learning_rate,
            "optim.weight_decay": training.weight_decay,
            "optim.clip_grad": training.max_grad_norm,
            "use_dynamic_bsz": True,
            "ppo_max_token_len_per_gpu": tokens,
            "ppo_infer_max_token_len_per_gpu": tokens,
            "fsdp.param_offload": verl.offload,
            "fsdp.optimizer_offload": verl.offload,
            "fsdp.mixed_precision": actor["fsdp_config.mixed_precision"],
            "fsdp.use_torch_compile": not on_cpu,
        }
        changes |= {f"critic.{name}": value for name, value in value_model.items()}
    for section, values in (("model", model), ("actor", actor), ("rollout", server)):
        changes |= {f"actor_rollout_ref.{section}.{name}": value for name, value in values.items()}
    return changes


_SHORT = {"float32": "fp32", "bfloat16": "bf16"}
_GROUPS = {"fsdp2": [], "megatron": ["model_engine=megatron"]}
"""Groups from which Hydra composes verl's settings."""
