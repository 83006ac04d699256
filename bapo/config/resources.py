"""The `resources` section: what a run requires of the machine that trains it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from bapo.config.engine import EngineConfig
from bapo.config.section import Section


class ResourcesConfig(Section):
    """Requirements on the machine that trains the run. None of these fields affects the training itself."""

    gpus: Annotated[int, Field(ge=0, le=1024)] | None = None
    """GPUs reserved for the run on one machine; no other run uses them. Empty: as many as the engine uses."""
    memory_gib: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """Main memory in GiB reserved for the run. Empty: none."""
    gpu_memory_gib: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Minimum memory of each GPU in GiB. Empty: any GPU."""
    retries: Annotated[int, Field(ge=0, le=100)] | None = None
    """Maximum number of retries in a row, without a completed step in between, after a failure of the machine: worker
    lost, trainer killed, disk full. 0: no retry. Empty: the server's setting. A failure of the run itself is not
    retried."""


class Needs(NamedTuple):
    """Resources that a machine must have free for a run."""

    gpus: int = 0
    gpus_optional: bool = False
    """A machine without a GPU is enough: the engine then trains on the CPU."""
    memory_gib: float = 0.0
    gpu_memory_gib: float | None = None
    cluster_gpus: int = 0
    """GPUs of a Ray cluster, which no worker reserves."""


def gpus_used(engine: EngineConfig) -> int:
    """Return the number of GPUs of its machine that the engine uses if they are available.

    The local engine uses one, unless its device is the CPU; verl `gpus_per_node` · `nodes`. On a Ray cluster,
    `engine.verl.ray_address`, they are the cluster's: 0.
    """
    if engine.device == "cpu":
        return 0
    if engine.type == "local":
        return 1
    return 0 if engine.verl.ray_address is not None else engine.verl.gpus_per_node * engine.verl.nodes


def needs(engine: EngineConfig, resources: ResourcesConfig) -> Needs:
    """Return the given requirements, or those of the engine if there are none.

    The local engine with the device `auto` takes one GPU of a machine that has GPUs, and none of one that has none.
    """
    is_cluster = engine.type == "verl" and engine.verl.ray_address is not None and engine.device != "cpu"
    return Needs(
        gpus=gpus_used(engine) if resources.gpus is None else resources.gpus,
        gpus_optional=engine.type == "local" and engine.device == "auto" and resources.gpus is None,
        memory_gib=resources.memory_gib or 0.0,
        gpu_memory_gib=resources.gpu_memory_gib,
        cluster_gpus=engine.verl.gpus_per_node * engine.verl.nodes if is_cluster else 0,
    )
