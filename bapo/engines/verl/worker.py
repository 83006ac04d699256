"""The training processes: verl's hybrid worker that also keeps α, the delayed rollout policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributed.tensor import DTensor
from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout.base import _ROLLOUT_REGISTRY

OPTIONS = "bapo"
"""Our section of verl's `rollout.checkpoint_engine.engine_kwargs`, of which verl reads that of its own engine."""
WEIGHT_UPDATE_SECONDS = "weight_update_seconds"


class BapoWorker(ActorRolloutRefWorker):  # type: ignore[misc]
    """One rank. Of α it keeps its own shard of each parameter, on the CPU, so that α costs one sharded copy in all."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def init_model(self) -> None:
        """Build the model, its optimizer and the line to vLLM, which is ours."""
        # verl has a registry of these lines, and no call that registers one.
        _ROLLOUT_REGISTRY["vllm", "async"] = "bapo.engines.verl.rollout.BapoServerAdapter"
        super().init_model()

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

    @torch.no_grad()
    def _exchange(self) -> None:
        """Swap α's shards with the current ones."""
        for name, shard in self._shards().items():
            current = shard.detach().to("cpu", copy=True)
            shard.copy_(self._rollout_shards[name])
            self._rollout_shards[name] = current


def weight_update_seconds(rollout: Any) -> int:
    """Returns the seconds that vLLM may take for new weights, from verl's `rollout` section."""
    return int(rollout.checkpoint_engine.engine_kwargs[OPTIONS][WEIGHT_UPDATE_SECONDS])
