"""Forks: runs that continue from a checkpoint of another run, with a few fields changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bapo.config import ConfigProblem, RunConfig
from bapo.config.method import MethodSection
from bapo.config.resolve import difference
from bapo.files.locks import held
from bapo.run.checkpoint import CHECKPOINTS_FOLDER, checkpoint_name, copy_checkpoint
from bapo.run.run_folder import write_atomically

ORIGIN_FILE = "origin.json"
LOCK_FILE = ".origin.lock"


class ForkOrigin(BaseModel):
    """The run and step from which a fork continues."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    step: int
    """Completed steps of the other run's checkpoint."""


_FROZEN: Mapping[str, str] = {
    "model.path": "the checkpoint holds the weights and the vocabulary of the parent's model",
    "engine.type": "each engine writes checkpoints of a different kind",
    "engine.verl.strategy": "FSDP and Megatron write checkpoints of their own kinds",
    "task.": "the buffers and the shuffled passes hold the parent's prompts, judged by its verifier",
    "warm_start.": "the checkpoint began with the model of the parent's warm start",
    "rollout.group_size": "the buffers hold groups of the parent's size",
}
"""Field, or section with a dot, and why a checkpoint is of no use with another value."""
_SPLIT_BY_MEGATRON = frozenset(
    f"engine.verl.{field}"
    for field in ("gpus_per_node", "nodes", "megatron_tensor_parallel", "megatron_pipeline_parallel")
)


def fork_problems(config: RunConfig, parent: RunConfig, step: int) -> list[ConfigProblem]:
    """Return the reasons why the parent's checkpoint of `step` completed steps cannot continue with this config."""
    problems = []
    for field, (theirs, ours) in difference(config, parent).items():
        reason = next((why for frozen, why in _FROZEN.items() if field == frozen or _is_inside(field, frozen)), None)
        if field == "method.type" and not _keep_the_same_state(config.method, parent.method):
            reason = f"the checkpoint holds the state of {theirs}"
        if field in _SPLIT_BY_MEGATRON and config.engine.verl.strategy == "megatron":
            reason = "Megatron's checkpoint is split over the parent's training processes"
        if reason is not None:
            remedy = f"a fork keeps {theirs!r}: {reason}; clone the run to start over with another value"
            problems.append(ConfigProblem(field, ours, remedy))
    if config.training.steps is not None and config.training.steps <= step:
        further = parent.training.steps or config.training.steps
        remedy = f"the fork begins after step {step}: give more steps than that, such as {step + further}"
        problems.append(ConfigProblem("training.steps", config.training.steps, remedy))
    return problems


def _keep_the_same_state(method: MethodSection, other: MethodSection) -> bool:
    return method.state_family is not None and method.state_family == other.state_family


def _is_inside(field: str, section: str) -> bool:
    return section.endswith(".") and field.startswith(section)


def begin_fork(run_folder: Path, parent_folder: Path, origin: ForkOrigin) -> None:
    """Give a new run's folder the checkpoint that it continues from; a second call changes nothing.

    Raises CheckpointError where the parent's checkpoint is gone or damaged.
    """
    run_folder.mkdir(parents=True, exist_ok=True)
    with _alone(run_folder):
        if read_origin(run_folder) is not None:
            return
        copy_checkpoint(parent_folder / CHECKPOINTS_FOLDER / checkpoint_name(origin.step), run_folder)
        # Last: with it the copy is known to be whole.
        write_atomically(run_folder / ORIGIN_FILE, origin.model_dump_json().encode())


@contextmanager
def _alone(run_folder: Path) -> Iterator[None]:
    """Hold the folder of a waiting run, which may be started while its checkpoint is being kept."""
    with held(run_folder / LOCK_FILE, waits=True):
        yield


def read_origin(run_folder: Path) -> ForkOrigin | None:
    """Read the origin of the run in this folder; None if it is no fork."""
    path = run_folder / ORIGIN_FILE
    return ForkOrigin.model_validate_json(path.read_bytes()) if path.exists() else None
