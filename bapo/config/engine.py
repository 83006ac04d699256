"""The `engine` section."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bapo.config.section import PlainText, Section


class VerlConfig(Section):
    """Of `engine.type = "verl"` alone: processes, memory and number format."""

    gpus_per_node: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs per machine, with a training process on each. Without a GPU: training processes."""
    nodes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Machines. More than one needs `engine.verl.ray_address`."""
    tensor_parallel: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs over which one copy of the model is spread for generating."""
    ray_address: PlainText | None = None
    """Address of a running Ray cluster, such as 10.0.0.1:6379. Empty: Ray is started on this machine for the run."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number format of forward passes and rollouts. `auto`: bfloat16 on a GPU, float32 without one."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Share of a GPU's memory that vLLM takes for weights and cache while it generates."""
    gradient_checkpointing: bool = False
    """Compute activations twice instead of keeping them: less memory, slower."""
    offload: bool = False
    """Keep weights and optimizer in main memory while they are not at work."""
    weight_update_seconds: Annotated[int, Field(ge=1, le=86_400)] = 300
    """Seconds that vLLM may take for new weights; after that the run fails instead of waiting on."""
    strategy: Literal["fsdp2", "megatron"] = "fsdp2"
    """How training is spread over the GPUs. `megatron` needs Megatron-Core and its bridge beside verl."""
    megatron_tensor_parallel: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs over which each layer is spread in training. Of `megatron` alone."""
    megatron_pipeline_parallel: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs over which the layers are shared out in training. Of `megatron` alone."""


class EngineConfig(Section):
    """What trains."""

    type: Literal["local", "verl"] = "local"
    """`local`: one process, on the CPU or one CUDA GPU. `verl`: Ray, FSDP and vLLM, from one GPU to a cluster."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: the CUDA GPU if there is one, else the CPU."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """CPU threads of the trainer; of each training process with verl."""
    verl: VerlConfig = VerlConfig()
    """Of the verl engine alone."""

    @model_validator(mode="after")
    def _verl_fields_belong_to_verl(self) -> Self:
        if self.type == "local" and self.verl != VerlConfig():
            field = next(name for name in VerlConfig.model_fields if getattr(self.verl, name) != _DEFAULTS[name])
            raise ValueError(f"engine.verl.{field}|the local engine takes no such field: set engine.type to verl")
        return self

    @model_validator(mode="after")
    def _model_copies_fill_the_gpus(self) -> Self:
        num_gpus = self.verl.gpus_per_node * self.verl.nodes
        if num_gpus % self.verl.tensor_parallel:
            raise ValueError(
                f"engine.verl.tensor_parallel|{num_gpus} GPUs cannot be shared out to copies of the model on "
                f"{self.verl.tensor_parallel} each: choose a divisor of {num_gpus}"
            )
        for field in ("megatron_tensor_parallel", "megatron_pipeline_parallel"):
            if self.verl.strategy != "megatron" and getattr(self.verl, field) > 1:
                raise ValueError(f"engine.verl.{field}|FSDP has no such field: set engine.verl.strategy to megatron")
        per_copy = self.verl.megatron_tensor_parallel * self.verl.megatron_pipeline_parallel
        if num_gpus % per_copy:
            raise ValueError(
                f"engine.verl.megatron_pipeline_parallel|{num_gpus} GPUs cannot be shared out to copies of the model "
                f"on {per_copy} each (tensor times pipeline): choose sizes whose product divides {num_gpus}"
            )
        if self.verl.strategy == "megatron" and self.device == "cpu":
            raise ValueError("engine.verl.strategy|Megatron trains on GPUs only: choose fsdp2")
        if self.verl.strategy == "megatron" and self.verl.dtype == "float32":
            raise ValueError("engine.verl.dtype|Megatron computes in bfloat16 only: choose bfloat16 or auto")
        if self.verl.nodes > 1 and self.verl.ray_address is None:
            raise ValueError(
                "engine.verl.ray_address|several machines need a Ray cluster that runs on them: give its address"
            )
        return self


_DEFAULTS = VerlConfig().model_dump()
