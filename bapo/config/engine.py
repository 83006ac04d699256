"""The `engine` section."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from bapo.config.errors import broken_rule
from bapo.config.section import PlainText, Section

_RAY_ADDRESS = re.compile(r"auto|(ray://)?([\w.-]+|\[[\da-fA-F:.]+\]):\d{1,5}")


def _is_ray_address(value: str) -> str:
    # Ray imports the module that any other scheme names.
    if not _RAY_ADDRESS.fullmatch(value):
        raise ValueError("not an address of a Ray cluster: give host and port, such as 10.0.0.1:6379, or auto")
    return value


class VerlConfig(Section):
    """Processes, memory and number format of the verl engine."""

    gpus_per_node: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs per machine, each with one training process. On a machine without GPUs: training processes."""
    nodes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Machines. More than one needs `engine.verl.ray_address`."""
    tensor_parallel: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs that share one copy of the model for generation."""
    ray_address: Annotated[PlainText, AfterValidator(_is_ray_address)] | None = None
    """Address of a running Ray cluster, such as 10.0.0.1:6379. Empty: the run starts Ray on its machine."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number format of forward passes and rollouts. `auto`: bfloat16 on a GPU, float32 without one."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Share of a GPU's memory that vLLM uses for weights and cache during generation."""
    attention: Literal["auto", "flash_attention_2", "sdpa"] = "auto"
    """Attention in training. `auto`: flash attention on a GPU if flash-attn is installed, else PyTorch's `sdpa`."""
    fused_kernels: bool = True
    """Compute log-probabilities and entropies in chunks of tokens, so that the logits of a micro-batch never exist at
    once. For `fsdp2` only."""
    max_num_seqs: Annotated[int, Field(ge=1, le=65_536)] = 256
    """Responses that one copy of vLLM generates at the same time."""
    agent_workers: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Processes that send prompts to vLLM and verify responses. Empty: one for each training process and at least 8;
    without a GPU 1."""
    gradient_checkpointing: bool = False
    """Recompute activations instead of storing them: less memory, slower."""
    offload: bool = False
    """Keep weights and optimizer in main memory while they are not in use."""
    weight_update_seconds: Annotated[int, Field(ge=1, le=86_400)] = 300
    """Time limit for vLLM to load new weights, in seconds; after it the run fails."""
    start_seconds: Annotated[int, Field(ge=1, le=86_400)] = 1800
    """Time limit for the processes of verl and vLLM to start, in seconds; after it the run fails."""
    strategy: Literal["fsdp2", "megatron"] = "fsdp2"
    """Distribution of training over the GPUs. `megatron` also needs Megatron-Core and its bridge."""
    megatron_tensor_parallel: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs that share each layer in training. For `megatron` only."""
    megatron_pipeline_parallel: Annotated[int, Field(ge=1, le=1024)] = 1
    """GPUs that the layers are divided among in training. For `megatron` only."""


class EngineConfig(Section):
    """The trainer's engine, and where it computes."""

    type: Literal["local", "verl"] = "local"
    """`local`: one process, on the CPU or one CUDA GPU. `verl`: Ray, FSDP and vLLM, from one GPU to a cluster."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: a CUDA GPU if available, else the CPU."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """CPU threads of the trainer, or of each training process with verl."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Number format of the local engine's forward passes. Weights, optimizer and probabilities stay float32. verl has
    `engine.verl.dtype`."""
    rollout_weights: Literal["float32", "bfloat16"] = "float32"
    """Number format of the local engine's weights while it generates. bfloat16: faster for large models on a GPU and on
    a CPU with AMX or AVX512-BF16; log-probabilities differ from those in training by some 0.01."""
    verl: VerlConfig = VerlConfig()
    """For the verl engine only."""

    @model_validator(mode="after")
    def _verl_fields_belong_to_verl(self) -> Self:
        if self.type == "local" and self.verl != VerlConfig():
            field = next(name for name in VerlConfig.model_fields if getattr(self.verl, name) != _DEFAULTS[name])
            raise broken_rule(f"engine.verl.{field}", "the local engine takes no such field: set engine.type to verl")
        return self

    @model_validator(mode="after")
    def _verl_has_a_number_format_of_its_own(self) -> Self:
        if self.type == "verl" and self.dtype != "float32":
            raise broken_rule("engine.dtype", f"this is the local engine's: set engine.verl.dtype to {self.dtype}")
        if self.type == "verl" and self.rollout_weights != "float32":
            raise broken_rule(
                "engine.rollout_weights", f"this is the local engine's: set engine.verl.dtype to {self.rollout_weights}"
            )
        return self

    @model_validator(mode="after")
    def _model_copies_fill_the_gpus(self) -> Self:
        num_gpus = self.verl.gpus_per_node * self.verl.nodes
        if num_gpus % self.verl.tensor_parallel:
            raise broken_rule(
                "engine.verl.tensor_parallel",
                f"{num_gpus} GPUs cannot be divided among copies of the model on "
                f"{self.verl.tensor_parallel} each: choose a divisor of {num_gpus}",
            )
        for field in ("megatron_tensor_parallel", "megatron_pipeline_parallel"):
            if self.verl.strategy != "megatron" and getattr(self.verl, field) > 1:
                raise broken_rule(
                    f"engine.verl.{field}", "FSDP has no such field: set engine.verl.strategy to megatron"
                )
        per_copy = self.verl.megatron_tensor_parallel * self.verl.megatron_pipeline_parallel
        if num_gpus % per_copy:
            raise broken_rule(
                "engine.verl.megatron_pipeline_parallel",
                f"{num_gpus} GPUs cannot be divided among copies of the model "
                f"on {per_copy} each (tensor times pipeline): choose sizes whose product divides {num_gpus}",
            )
        if self.verl.strategy == "megatron" and self.device == "cpu":
            raise broken_rule("engine.verl.strategy", "Megatron trains on GPUs only: choose fsdp2")
        if self.verl.strategy == "megatron" and self.verl.attention != "auto":
            raise broken_rule("engine.verl.attention", "Megatron chooses its own attention: choose auto")
        if self.verl.attention == "flash_attention_2" and self.verl.dtype == "float32":
            raise broken_rule("engine.verl.attention", "flash attention computes in bfloat16 only: choose sdpa or auto")
        if self.verl.strategy == "megatron" and self.verl.dtype == "float32":
            raise broken_rule("engine.verl.dtype", "Megatron computes in bfloat16 only: choose bfloat16 or auto")
        if self.verl.nodes > 1 and self.verl.ray_address is None:
            raise broken_rule(
                "engine.verl.ray_address", "several machines need a Ray cluster that runs on them: give its address"
            )
        return self


_DEFAULTS = VerlConfig().model_dump()
