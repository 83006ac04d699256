"""The training processes: verl's hybrid worker that also keeps α, the delayed rollout policy."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributed.tensor import DTensor
from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import ActorRolloutRefWorker


class BapoWorker(ActorRolloutRefWorker):  # type: ignore[misc]
    """One rank. Of α it keeps its own shard of each parameter, on the CPU, so that α costs one sharded copy in all."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def keep_rollout_weights(self) -> None:
        """α ← current weights."""
        self._rollout_shards = {name: shard.detach().to("cpu", copy=True) for name, shard in self._shards().items()}

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)  # type: ignore[untyped-decorator]
    async def push_rollout_weights(self, version: int) -> None:
        """Load α into the rollout engine, by the way that verl takes for the current weights.

        For as long as it takes, α's shards stand in the places of the current ones, which come back bit for bit.
        """
        self._exchange()
        try:
            await self.update_weights(global_steps=version, mode="naive")
        finally:
            self._exchange()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def save_rollout_weights(self, folder: str) -> None:
        """Write this rank's shards of α."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file(self._rollout_shards, self._file(folder))

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def load_rollout_weights(self, folder: str) -> None:
        """Restore this rank's shards of α."""
        self._rollout_shards = load_file(self._file(folder))

    def _file(self, folder: str) -> Path:
        return Path(folder) / f"rank-{self.rank}-of-{self.world_size}.safetensors"

    def _shards(self) -> dict[str, Tensor]:
        """This rank's part of each parameter; writing into it changes the model."""
        return {
            name: parameter.to_local() if isinstance(parameter, DTensor) else parameter.data
            for name, parameter in self.actor.engine.module.named_parameters()
        }

    @torch.no_grad()
    def _exchange(self) -> None:
        """Swap α's shards with the current ones."""
        for name, shard in self._shards().items():
            current = shard.detach().to("cpu", copy=True)
            shard.copy_(self._rollout_shards[name])
            self._rollout_shards[name] = current
