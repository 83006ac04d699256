"""The training processes' critic: verl's own worker with a value model, which begins with values of 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import TrainingWorker

from bapo.engines.verl import patches
from bapo.engines.verl.resharding import fitting


class BapoCriticWorker(TrainingWorker):  # type: ignore[misc]
    """One rank of the value model."""

    def __init__(self, config: Any) -> None:
        patches.load_value_models_as_configured()
        super().__init__(config)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def load_checkpoint(
        self, local_path: str, hdfs_path: str | None = None, del_local_after_load: bool = False
    ) -> None:
        """Restore model and optimizer, whichever number of ranks wrote them."""
        with fitting(Path(local_path), self.engine, rank=self.rank, world=self.world_size) as folder:
            super().load_checkpoint(str(folder), hdfs_path, del_local_after_load)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    @torch.no_grad()
    def reset(self) -> None:
        """Build the model, its head 0 as in the local engine: verl draws it at random."""
        super().reset()
        module = self.engine.module
        layers = {id(parameter) for parameter in module.base_model.parameters()}
        for parameter in module.parameters():
            if id(parameter) not in layers:
                (parameter.to_local() if isinstance(parameter, DTensor) else parameter).zero_()
