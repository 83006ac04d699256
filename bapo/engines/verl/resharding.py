"""Checkpoints of FSDP that another number of processes wrote: each process takes its own part of all their files.

Imports nothing of verl; the names of the files are those of its FSDPCheckpointManager.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.distributed.tensor import DTensor

_MODEL, _OPTIMIZER, _EXTRA = "model", "optim", "extra_state"


class Trained(Protocol):
    """verl's engine: a model that FSDP has sharded, and its optimizer."""

    module: Any
    optimizer: Any


@contextmanager
def fitting(folder: Path, trained: Trained, *, rank: int, world: int) -> Iterator[Path]:
    """Yield a folder with this rank's files of the checkpoint: the checkpoint itself, or copies that end with the
    block."""
    num_writers = len(list(folder.glob(f"{_MODEL}_world_size_*_rank_*.pt")))
    # Megatron's checkpoints have no such files.
    if num_writers in (0, world):
        yield folder
        return
    module, optimizer = trained.module, trained.optimizer
    with tempfile.TemporaryDirectory(prefix="bapo-reshard-") as name:
        own = Path(name)
        models = _parts(folder, _MODEL, num_writers)
        torch.save(
            {key: _placed([part[key] for part in models], like) for key, like in module.state_dict().items()},
            own / _file(_MODEL, world, rank),
        )
        optimizers = _parts(folder, _OPTIMIZER, num_writers)
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        state = {
            index: {
                key: _placed([part["state"][index][key] for part in optimizers], parameters[index]) for key in first
            }
            for index, first in optimizers[0]["state"].items()
        }
        torch.save({**optimizers[0], "state": state}, own / _file(_OPTIMIZER, world, rank))
        # The schedule is the same for all; random numbers are drawn for nothing.
        shutil.copy(folder / _file(_EXTRA, num_writers, min(rank, num_writers - 1)), own / _file(_EXTRA, world, rank))
        yield own


def weights_file(folder: Path, *, rank: int, world: int) -> Path:
    """Return the file of a rank's rows of weights that verl knows nothing of."""
    return folder / f"rank-{rank}-of-{world}.safetensors"


def shares_of(folder: Path, trained: Trained, *, rank: int, world: int) -> dict[str, Tensor]:
    """Return this rank's rows of such weights, by the parameter's name, whichever number of ranks wrote them."""
    own = weights_file(folder, rank=rank, world=world)
    if own.is_file():
        return load_file(own)
    num_writers = len(list(folder.glob("rank-*-of-*.safetensors")))
    parts = [load_file(weights_file(folder, rank=writer, world=num_writers)) for writer in range(num_writers)]
    return {name: _share([part[name] for part in parts], like) for name, like in trained.module.named_parameters()}


def _file(kind: str, world: int, rank: int) -> str:
    return f"{kind}_world_size_{world}_rank_{rank}.pt"


def _parts(folder: Path, kind: str, num_writers: int) -> list[dict[Any, Any]]:
    """Return what each writer wrote; mapped, so that of each only what is read takes memory."""
    files = [folder / _file(kind, num_writers, writer) for writer in range(num_writers)]
    return [torch.load(file, map_location="cpu", mmap=True, weights_only=False) for file in files]


def _share(parts: Sequence[Tensor], like: Tensor) -> Tensor:
    """Return the rows that FSDP gives this rank of a parameter; the whole of what is not shared out."""
    if not isinstance(like, DTensor):
        return parts[0]
    whole = torch.cat([part.to_local() if isinstance(part, DTensor) else part for part in parts])
    chunks = whole.chunk(like.device_mesh.size())
    rank = like.device_mesh.get_local_rank()
    # Of few rows, the last ranks have none.
    return (chunks[rank] if rank < len(chunks) else whole[:0]).clone()


def _placed(parts: Sequence[Any], like: Tensor) -> Any:
    """Place the parts like `like`; counts, such as an optimizer's steps, are the same for every writer."""
    if not isinstance(like, DTensor) or not isinstance(parts[0], Tensor) or not parts[0].ndim:
        return parts[0]
    share = _share(parts, like)
    return DTensor.from_local(
        share, like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
    )
