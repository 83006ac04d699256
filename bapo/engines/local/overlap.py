"""Generation during training: α where another process finds it, and groups that are to come."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from transformers import PreTrainedModel

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.engines.base import Generation
from bapo.engines.local.generating_process import GeneratingProcess, Setup
from bapo.engines.local.memory import least_bytes_of_two_processes
from bapo.engines.local.shared_weights import share_weights, shared_memory
from bapo.tasks.base import Problem


class Overlap(NamedTuple):
    """α and the process that generates with it."""

    rollout_model: PreTrainedModel
    """On the CPU, in memory that both processes share."""
    process: GeneratingProcess


def start_overlap(config: RunConfig, model: PreTrainedModel) -> Overlap:
    """Start the generating process, with α equal to the model.

    Raises ConfigError where the memory reserved is too little for trainer and generating process.
    """
    given, least = config.resources.memory_gib, least_bytes_of_two_processes(model) / 2**30
    if given is not None and given < least:
        remedy = (
            f"rollout.ahead=overlap has a second process, and both take {least:.1f} GiB at least: reserve more, or "
            "choose rollout.ahead=off or rollout.ahead=window"
        )
        raise ConfigError([ConfigProblem("resources.memory_gib", given, remedy)])
    rollout_model = copy.deepcopy(model).cpu()
    memory = shared_memory(rollout_model)
    share_weights(rollout_model, memory, keep=True)
    setup = Setup(model_path=config.model.path, device=model.device.type, engine=config.engine, rollout=config.rollout)
    return Overlap(rollout_model, GeneratingProcess(setup, memory))


class Coming(Mapping[int, Generation]):
    """Generations by step, each waited for when it is taken."""

    def __init__(
        self, batches: Mapping[int, Sequence[Problem]], take: Callable[[int, Sequence[Problem]], Generation]
    ) -> None:
        self._batches = batches
        self._take = take

    def __getitem__(self, step: int) -> Generation:
        return self._take(step, self._batches[step])

    def __iter__(self) -> Iterator[int]:
        return iter(self._batches)

    def __len__(self) -> int:
        return len(self._batches)
