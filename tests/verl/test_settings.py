"""From a run's config to verl's settings, several machines and Megatron included: what is set, not that it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError, RunConfig, apply_changes, resolve


def _config(**changes: Any) -> RunConfig:
    changes = {name.replace("__", "."): value for name, value in changes.items()}
    return resolve(apply_changes({}, {"engine.type": "verl"} | changes)).config


def _settings(*, on_cpu: bool = False, **changes: Any) -> Any:
    from bapo.engines.verl.settings import verl_settings  # noqa: PLC0415

    return verl_settings(_config(**changes), model_folder="/models/base", on_cpu=on_cpu)


def test_several_machines_share_the_work() -> None:
    settings = _settings(
        engine__verl__nodes=2,
        engine__verl__gpus_per_node=8,
        engine__verl__ray_address="10.0.0.1:6379",
        engine__verl__tensor_parallel=4,
    )
    assert (settings.trainer.nnodes, settings.trainer.n_gpus_per_node) == (2, 8)
    assert settings.actor_rollout_ref.rollout.tensor_model_parallel_size == 4
    # An agent loop worker for each training process.
    assert settings.actor_rollout_ref.rollout.agent.num_workers == 16


def test_attention_is_pytorchs_own_where_flash_attention_is_not_installed() -> None:
    model = _settings().actor_rollout_ref.model
    assert model.override_config.attn_implementation == "sdpa"
    # Without flash attention, responses that lie side by side in one row would see one another.
    assert not model.use_remove_padding
    assert (model.use_fused_kernels, model.fused_kernel_options.impl_backend) == (True, "torch")
    with pytest.raises(
        ConfigError, match=r"engine\.verl\.attention = 'flash_attention_2': flash-attn is not installed"
    ):
        _settings(engine__verl__attention="flash_attention_2")
    with pytest.raises(ConfigError, match=r"engine\.verl\.attention = .*without a GPU choose sdpa or auto"):
        _settings(on_cpu=True, engine__verl__attention="flash_attention_2")


def test_flash_attention_is_taken_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flash_attn.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    model = _settings().actor_rollout_ref.model
    assert (model.override_config.attn_implementation, model.use_remove_padding) == ("flash_attention_2", True)
    chosen = _settings(engine__verl__attention="sdpa").actor_rollout_ref.model
    assert (chosen.override_config.attn_implementation, chosen.use_remove_padding) == ("sdpa", False)
    precise = _settings(engine__verl__dtype="float32").actor_rollout_ref.model
    assert precise.override_config.attn_implementation == "sdpa", "flash attention computes in bfloat16 only"


def test_logits_are_never_held_whole() -> None:
    separate = _settings(engine__verl__fused_kernels=False).actor_rollout_ref
    assert not separate.model.use_fused_kernels
    assert separate.actor.fsdp_config.entropy_from_logits_with_chunking


def test_rollout_workers_and_responses_at_once_may_be_chosen() -> None:
    rollout = _settings().actor_rollout_ref.rollout
    assert (rollout.agent.num_workers, rollout.max_num_seqs) == (8, 256)
    rollout = _settings(engine__verl__agent_workers=3, engine__verl__max_num_seqs=1024).actor_rollout_ref.rollout
    assert (rollout.agent.num_workers, rollout.max_num_seqs) == (3, 1024)
    assert _settings(on_cpu=True).actor_rollout_ref.rollout.agent.num_workers == 1


def test_cpus_are_counted_that_rays_placement_reserves() -> None:
    from bapo.engines.verl.settings import reserved_cpus  # noqa: PLC0415

    verl = _config(engine__verl__gpus_per_node=8).engine.verl
    # Three for each of 8 processes, 8 units of TransferQueue and its controller, 4 that are given back.
    assert reserved_cpus(verl, on_cpu=False) == 37
    assert reserved_cpus(_config().engine.verl, on_cpu=True) == 9


def test_fsdp2_trains_unless_said_otherwise() -> None:
    actor = _settings(engine__verl__offload=True).actor_rollout_ref.actor
    assert (actor.strategy, actor._target_) == ("fsdp2", "verl.workers.config.FSDPActorConfig")
    assert actor.fsdp_config.param_offload
    assert actor.fsdp_config.mixed_precision.param_dtype == "bf16"


def test_megatron_trains_where_it_is_asked_for() -> None:
    actor = _settings(
        engine__verl__strategy="megatron",
        engine__verl__gpus_per_node=8,
        engine__verl__megatron_tensor_parallel=2,
        engine__verl__megatron_pipeline_parallel=2,
        engine__verl__offload=True,
        training__learning_rate=2e-6,
    ).actor_rollout_ref.actor
    assert (actor.strategy, actor._target_) == ("megatron", "verl.workers.config.McoreActorConfig")
    assert (actor.megatron.tensor_model_parallel_size, actor.megatron.pipeline_model_parallel_size) == (2, 2)
    assert (actor.megatron.param_offload, actor.megatron.dtype) == (True, "bfloat16")
    assert actor.optim.lr == 2e-6
    assert "fsdp_config" not in actor


def test_megatron_settings_are_what_verl_takes() -> None:
    from verl.utils.config import omega_conf_to_dataclass  # noqa: PLC0415

    settings = _settings(engine__verl__strategy="megatron", engine__verl__gpus_per_node=2)
    assert omega_conf_to_dataclass(settings.actor_rollout_ref.actor).strategy == "megatron"
    assert omega_conf_to_dataclass(_settings().actor_rollout_ref.actor).strategy == "fsdp2"


def test_megatron_needs_a_gpu() -> None:
    with pytest.raises(ConfigError, match=r"engine\.verl\.strategy = 'megatron': .*choose fsdp2"):
        _settings(on_cpu=True, engine__verl__strategy="megatron")


def test_a_critic_is_set_up_where_the_method_has_one() -> None:
    critic = _settings(
        method__type="ba_ppo",
        method__critic={"learning_rate": 1e-5},
        training__weight_decay=0.1,
        engine__verl__offload=True,
    ).critic
    assert (critic.enable, critic.strategy, critic.model.path) == (True, "fsdp2", "/models/base")
    assert (critic.optim.lr, critic.optim.weight_decay, critic.optim.clip_grad) == (1e-5, 0.1, 1.0)
    assert critic.fsdp.param_offload
    assert not _settings().critic.enable


def test_megatron_trains_no_critic() -> None:
    with pytest.raises(ConfigError, match=r"engine\.verl\.strategy = 'megatron': ppo has a critic: choose fsdp2"):
        _settings(method__type="ppo", engine__verl__strategy="megatron")


def test_bfloat16_needs_a_gpu() -> None:
    with pytest.raises(ConfigError, match=r"engine\.verl\.dtype = 'bfloat16': without a GPU"):
        _settings(on_cpu=True, engine__verl__dtype="bfloat16")


def test_the_time_for_new_weights_reaches_the_workers() -> None:
    from bapo.engines.verl.worker import weight_update_seconds  # noqa: PLC0415

    assert weight_update_seconds(_settings(engine__verl__weight_update_seconds=42).actor_rollout_ref.rollout) == 42
