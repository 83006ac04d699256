"""From a run's config to verl's settings, several machines and Megatron included: what is set, not that it runs."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.config import ConfigError, apply_changes, resolve


def _settings(*, on_cpu: bool = False, **changes: Any) -> Any:
    from bapo.engines.verl.settings import verl_settings  # noqa: PLC0415

    changes = {name.replace("__", "."): value for name, value in changes.items()}
    config = resolve(apply_changes({}, {"engine.type": "verl"} | changes)).config
    return verl_settings(config, model_folder="/models/base", on_cpu=on_cpu)


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
