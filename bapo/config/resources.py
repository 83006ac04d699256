"""The `resources` section: what a run needs of the machine that takes it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from bapo.config.engine import EngineConfig
from bapo.config.section import Section


class ResourcesConfig(Section):
    """What a run needs of the machine that takes it. Nothing here changes what is trained."""

    gpus: Annotated[int, Field(ge=0, le=1024)] | None = None
    """GPUs of one machine that are reserved for the run; no other run gets them. Empty: as many as the engine uses."""
    memory_gib: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """Main memory in GiB that is reserved for the run. Empty: none is."""
    gpu_memory_gib: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Memory in GiB that each of its GPUs has at least. Empty: any GPU will do."""
    retries: Annotated[int, Field(ge=0, le=100)] | None = None
    """How often in a row the run is tried again, without a further step in between, when its machine fails: worker
    lost, trainer killed, disk full. 0: never. Empty: as the server is set. A failure of the run itself ends it."""


class Needs(NamedTuple):
    """What a machine must have free for a run."""

    gpus: int = 0
    gpus_optional: bool = False
    """A machine without any GPU will do too: the engine then trains on the CPU."""
    memory_gib: float = 0.0
    gpu_memory_gib: float | None = None
    cluster_gpus: int = 0
    """GPUs of a Ray cluster, which no worker reserves."""


def gpus_used(engine: EngineConfig) -> int:
    """GPUs of its machine that the engine uses where they are there.

    The local engine uses one, unless it is told to stay on the CPU; verl `gpus_per_node` · `nodes`. On a Ray cluster,
    `engine.verl.ray_address`, they are the cluster's: 0.
    """
    if engine.device == "cpu":
        return 0
    if engine.type == "local":
        return 1
    return 0 if engine.verl.ray_address is not None else engine.verl.gpus_per_node * engine.verl.nodes


def needs(engine: EngineConfig, resources: ResourcesConfig) -> Needs:
    """What the run needs: what is given, else what its engine uses.

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
