"""Both engines do one update on the same weights and the same groups, and are held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.config.recipes import load_recipe
from bapo.engines.base import BatchItem
from bapo.rollout import RolloutGroup
from bapo.tasks import build_task

GROUP_SIZE = 4
SETTINGS = {
    "rollout.group_size": GROUP_SIZE,
    "task.num_test": 16,
    "task.num_train": 64,
    # Large enough to leave the gradient as it is.
    "training.max_grad_norm": 1000.0,
    # Adam then keeps the gradient, up to a factor, in its first moment.
    "training.learning_rate": 1e-3,
    "loss.kl_coefficient": 0.01,
    "loss.entropy_coefficient": 0.01,
    "method.c1": 0.25,
    "method.c2": [0.25, 0.5],
    "method.c3": [0.5, 0.75],
}
"""Of runs whose updates are held against each other."""


def run_config(**changes: Any) -> RunConfig:
    """Such a run of the local engine, changed."""
    explicit = load_recipe("countdown-quick").explicit
    return resolve(
        apply_changes(explicit, SETTINGS | {name.replace("__", "."): v for name, v in changes.items()})
    ).config


def configure(verl_engine: Any, config: RunConfig) -> None:
    """From now on the engine trains by another config."""
    from bapo.engines.local.demonstrations import demonstrations  # noqa: PLC0415
    from bapo.engines.local.prompts import encode_task  # noqa: PLC0415
    from bapo.engines.verl.loss import BapoLoss  # noqa: PLC0415

    verl_engine._config = config
    task = build_task(config.task)
    prompts = encode_task(task, verl_engine._tokenizer, config.rollout, None)
    verl_engine._demonstrations = demonstrations(config, task, verl_engine._tokenizer, prompts)
    verl_engine._trainer.actor_rollout_wg.set_loss_fn(BapoLoss(config.objective))


@contextmanager
def configured(verl_engine: Any, config: RunConfig) -> Iterator[None]:
    """The engine trains by another config for a while."""
    own = verl_engine._config
    configure(verl_engine, config)
    try:
        yield
    finally:
        configure(verl_engine, own)


def rows(groups: Sequence[RolloutGroup]) -> Any:
    """The groups' rows in TransferQueue."""
    import transfer_queue as tq  # noqa: PLC0415

    keys = [key for group in groups for key in group.payload.keys]
    return tq.kv_batch_get(keys=keys, partition_id="train")


def local_group(group: RolloutGroup) -> RolloutGroup:
    """A group of the verl engine as one of the local engine."""
    import torch  # noqa: PLC0415

    from bapo.engines.local.payload import GroupPayload  # noqa: PLC0415
    from bapo.engines.local.sampling import SampledGroup  # noqa: PLC0415

    data = rows([group])
    sampled = SampledGroup(
        token_ids=torch.cat(data["responses"].unbind()),
        logprobs=torch.cat(data["rollout_log_probs"].unbind()),
        lengths=tuple(response.length for response in group.payload.responses),
        ended=tuple(response.ended for response in group.payload.responses),
    )
    payload = GroupPayload(tuple(data["prompts"].unbind()[0].tolist()), sampled, group.payload.rewards)
    return RolloutGroup(group.prompt_id, group.num_correct, group.group_size, group.policy_version, group.step, payload)


def assert_equal_updates(verl_engine: Any, batch: Sequence[BatchItem], config: RunConfig, folder: Path) -> Any:
    """Both engines update the same weights on the same batch: the same statistics, and the same gradient."""
    from bapo.engines.local.engine import LocalEngine  # noqa: PLC0415

    before, after = folder / "before", folder / "after"
    local = _saved_for(before, verl_engine, config)
    after.mkdir()
    if local._critic is not None:
        local._critic.model.load_state_dict(weights(before / "critic"))
    if local._reference is not None:
        base = LocalEngine(config, build_task(config.task))._model
        local._reference.load_state_dict(base.state_dict())
    local_batch = [replace(item, group=local_group(item.group)) for item in batch]
    local_stats = local.update(local_batch, step=2)
    stats = verl_engine.update(batch, step=2)
    verl_engine.save(after, ())

    assert stats.num_tokens == local_stats.num_tokens
    assert stats.num_groups_skipped == local_stats.num_groups_skipped
    assert stats.ratio_histogram == pytest.approx(local_stats.ratio_histogram, abs=2)
    assert stats.effective_sample_share == pytest.approx(local_stats.effective_sample_share, rel=1e-3)
    assert stats.grad_norm == pytest.approx(local_stats.grad_norm, rel=1e-3)
    assert stats.loss == pytest.approx(local_stats.loss, abs=1e-5)
    assert stats.kl == pytest.approx(local_stats.kl, rel=1e-3)
    if local_stats.reference_kl is None:
        assert stats.reference_kl is None
    else:
        assert stats.reference_kl == pytest.approx(local_stats.reference_kl, rel=1e-3)
    assert stats.entropy == pytest.approx(local_stats.entropy, rel=1e-4)
    if local_stats.demonstrations is None:
        assert stats.demonstrations is None
    else:
        assert stats.demonstrations.model_dump() == pytest.approx(local_stats.demonstrations.model_dump(), rel=1e-3)
    assert stats.clip_fraction == pytest.approx(local_stats.clip_fraction, abs=2 / stats.num_tokens)
    for source in {item.source for item in batch}:
        assert stats.tv_tokens[source] == pytest.approx(local_stats.tv_tokens[source], rel=1e-3, abs=1e-5)
        assert stats.tv_sequences[source] == pytest.approx(local_stats.tv_sequences[source], rel=1e-3, abs=1e-5)
    _assert_close(_gradient(before / "actor", after / "actor"), _first_gradient(local._updater.optimizer))
    if local._critic is not None:
        assert local_stats.critic is not None
        _assert_close(_gradient(before / "critic", after / "critic"), _first_gradient(local._critic.optimizer))
        for name, value in local_stats.critic.model_dump().items():
            assert getattr(stats.critic, name) == pytest.approx(value, rel=1e-3, abs=1e-5), name
    return stats


def _saved_for(folder: Path, verl_engine: Any, config: RunConfig) -> Any:
    """A local engine with the weights of the verl engine, which are saved in the folder."""
    from bapo.engines.local.engine import LocalEngine  # noqa: PLC0415

    folder.mkdir()
    verl_engine.save(folder, ())
    explicit = apply_changes(config.model_dump(mode="json"), {"model.path": str(folder / "actor" / "huggingface")})
    return LocalEngine(resolve(explicit).config, build_task(config.task))


def assert_equal_supervised_steps(verl_engine: Any, prompt_ids: Sequence[str], config: RunConfig, folder: Path) -> None:
    """Both engines take a supervised step from the same weights: the same loss, and the same gradient."""
    before, after = folder / "before", folder / "after"
    local = _saved_for(before, verl_engine, config)
    after.mkdir()
    local_stats = local.supervise(prompt_ids, step=2)
    stats = verl_engine.supervise(prompt_ids, step=2)
    verl_engine.save(after, ())
    assert stats.num_responses == local_stats.num_responses == len(prompt_ids)
    assert stats.loss == pytest.approx(local_stats.loss, rel=1e-4)
    assert stats.grad_norm == pytest.approx(local_stats.grad_norm, rel=1e-3)
    _assert_close(_gradient(before / "actor", after / "actor"), _first_gradient(local._updater.optimizer))


def weights(folder: Path) -> dict[str, Any]:
    """Of the model that verl saved."""
    return _whole([_load(path) for path in _of_ranks(folder, "model")])


def _of_ranks(folder: Path, kind: str) -> list[Path]:
    """The files of a checkpoint, one for each training process."""
    return sorted(folder.glob(f"{kind}_world_size_*_rank_*.pt"), key=lambda path: int(path.stem.rpartition("_")[2]))


def _load(path: Path) -> Any:
    import torch  # noqa: PLC0415

    return torch.load(path, weights_only=False)


def _whole(shards: Sequence[dict[Any, Any]]) -> dict[Any, Any]:
    """Tensors put together again, which FSDP2 shares out by their first dimension."""
    import torch  # noqa: PLC0415

    return {
        name: torch.cat([getattr(shard[name], "_local_tensor", shard[name]) for shard in shards])
        if len(shards) > 1
        else getattr(value, "_local_tensor", value)
        for name, value in shards[0].items()
    }


def _assert_close(gradient: Any, expected: Any) -> None:
    import torch  # noqa: PLC0415

    cosine = torch.nn.functional.cosine_similarity(gradient, expected, dim=0)
    assert float(cosine) >= 0.9999
    assert float(gradient.norm()) == pytest.approx(float(expected.norm()), rel=1e-3)


def _first_gradient(optimizer: Any) -> Any:
    """Of the local engine: after one step of Adam, its first moment is (1 - β1) times the gradient."""
    import torch  # noqa: PLC0415

    moments = [value for name, value in optimizer.state().items() if name.endswith(":exp_avg")]
    return torch.cat([value.flatten() / 0.1 for value in moments])


def _gradient(before: Path, after: Path) -> Any:
    """Of the update between two checkpoints of the verl engine, from Adam's first moments m' = β1·m + (1 - β1)·g."""
    import torch  # noqa: PLC0415

    def moments(folder: Path) -> dict[int, Any]:
        """By position of the parameter in the model."""
        states = [_load(path)["state"] for path in _of_ranks(folder, "optim")]
        return _whole([{name: values["exp_avg"] for name, values in state.items()} for state in states])

    first, second = moments(before), moments(after)
    return torch.cat([((second[name] - 0.9 * first[name]) / 0.1).flatten() for name in sorted(second)])
