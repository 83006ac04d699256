"""The training processes: verl's hybrid worker that also keeps other policies: α and the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.distributed.tensor import DTensor
from verl.single_controller.base.decorator import Dispatch, register
from verl.utils.device import get_torch_device
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout.base import _ROLLOUT_REGISTRY

from bapo.engines.verl import patches
from bapo.engines.verl.resharding import fitting, shares_of, weights_file

OPTIONS = "bapo"
"""Our section of verl's `rollout.checkpoint_engine.engine_kwargs`, from which verl reads only the section of its
engine.
"""
WEIGHT_UPDATE_SECONDS = "weight_update_seconds"
ROLLOUT = "rollout"
"""The policy α."""
REFERENCE = "reference"
"""The policy that the KL penalty is to."""


class BapoWorker(ActorRolloutRefWorker):  # type: ignore[misc]
    """One rank. Of each policy that is kept, it has its own shard of each parameter, on the CPU, so that a policy costs
    one sharded copy in all."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def init_model(self) -> None:
        """Build the model, its optimizer and the line to vLLM, which is ours."""
        # verl has a registry of these lines, and no call that registers one.
        _ROLLOUT_REGISTRY["vllm", "async"] = "bapo.engines.verl.rollout.BapoServerAdapter"
        patches.leave_heads_to_the_model()
        patches.keep_positions_of_equal_rows()
        super().init_model()
        self._kept: dict[str, dict[str, Tensor]] = {}

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def keep_weights(self, policy: str) -> None:
        """Set the policy's weights ← current weights."""
        self._kept[policy] = {name: shard.detach().to("cpu", copy=True) for name, shard in self._shards().items()}

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)  # type: ignore[untyped-decorator]
    async def push_rollout_weights(self, version: int) -> None:
        """Load α into the rollout engine, by the way that verl takes for the current weights.

        For as long as it takes, α's shards replace the current ones, which come back bit for bit.
        """
        self.exchange_weights(ROLLOUT)
        try:
            await self.update_weights(global_steps=version, mode="naive")
        finally:
            self.exchange_weights(ROLLOUT)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def save_rollout_weights(self, folder: str) -> None:
        """Write this rank's shards of α."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file(self._kept[ROLLOUT], weights_file(Path(folder), rank=self.rank, world=self.world_size))

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def load_rollout_weights(self, folder: str) -> None:
        """Restore this rank's shards of α, whichever number of ranks wrote them."""
        self._kept[ROLLOUT] = shares_of(Path(folder), self.actor.engine, rank=self.rank, world=self.world_size)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def load_checkpoint(
        self, local_path: str, hdfs_path: str | None = None, del_local_after_load: bool = False
    ) -> None:
        """Restore model and optimizer, whichever number of ranks wrote them."""
        with fitting(Path(local_path), self.actor.engine, rank=self.rank, world=self.world_size) as folder:
            super().load_checkpoint(str(folder), hdfs_path, del_local_after_load)

    def _shards(self) -> dict[str, Tensor]:
        """Return this rank's part of each parameter; writing into it changes the model."""
        # verl moves offloaded parameters without waiting for their copies (verl/utils/fsdp_utils.py:198).
        get_torch_device().synchronize()
        module = self.actor.engine.module
        # Megatron's is a list: one part of the model for each of its virtual pipeline stages.
        parts = module if isinstance(module, list) else [module]
        return {
            f"{index}.{name}" if index else name: (
                parameter.to_local() if isinstance(parameter, DTensor) else parameter.data
            )
            for index, part in enumerate(parts)
            for name, parameter in part.named_parameters()
        }

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    @torch.no_grad()
    def exchange_weights(self, policy: str) -> None:
        """Swap the policy's shards with the current ones; a second call puts both back, bit for bit."""
        kept = self._kept[policy]
        for name, shard in self._shards().items():
            current = shard.detach().to("cpu", copy=True)
            shard.copy_(kept[name])
            kept[name] = current


def weight_update_seconds(rollout: Any) -> int:
    """Return the seconds that vLLM may take for new weights, from verl's `rollout` section."""
    return int(rollout.checkpoint_engine.engine_kwargs[OPTIONS][WEIGHT_UPDATE_SECONDS])
