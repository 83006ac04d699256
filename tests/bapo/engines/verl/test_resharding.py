"""A checkpoint of two FSDP processes is read by one, two or three: each gets the rows that are its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch
    import torch.distributed as dist
    from safetensors.torch import save_file
    from torch import Tensor, nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    from bapo.engines.verl.resharding import fitting, shares_of, weights_file

WRITERS = 2


def _model() -> nn.Module:
    """Five rows, shared out as 3 + 2 or 2 + 2 + 1, and two, of which the last of three processes has none."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2))


def _step(model: nn.Module) -> torch.optim.Optimizer:
    """One step whose gradient is the weights, so that every row can be computed alone."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for parameter in model.parameters():
        parameter.grad = parameter.detach().clone()
    optimizer.step()
    return optimizer


@contextmanager
def _process(rank: int, world: int) -> Iterator[Any]:
    """One process of FSDP, without the others: nothing here is said to them."""
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        model = _model()
        fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
        yield SimpleNamespace(module=model, optimizer=torch.optim.AdamW(model.parameters(), lr=0.1))
    finally:
        dist.destroy_process_group()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As verl's FSDPCheckpointManager writes it, with α's rows beside it."""
    folder = tmp_path_factory.mktemp("checkpoint")
    for rank in range(WRITERS):
        with _process(rank, WRITERS) as trained:
            alpha = {name: each.to_local().clone() for name, each in trained.module.named_parameters()}
            save_file(alpha, weights_file(folder, rank=rank, world=WRITERS))
            optimizer = _step(trained.module)
            for kind, content in (
                ("model", trained.module.state_dict()),
                ("optim", optimizer.state_dict()),
                ("extra_state", {"lr_scheduler": {"last_epoch": 7}}),
            ):
                torch.save(content, folder / f"{kind}_world_size_{WRITERS}_rank_{rank}.pt")
    return folder


def _rows(whole: Tensor, rank: int, world: int) -> Tensor:
    chunks = whole.chunk(world)
    return chunks[rank] if rank < len(chunks) else whole[:0]


@pytest.mark.parametrize("world", [1, 2, 3])
def test_each_process_gets_its_rows_of_model_optimizer_and_alpha(checkpoint: Path, world: int) -> None:
    expected, before = _model(), {name: each.clone() for name, each in _model().named_parameters()}
    moments = _step(expected).state_dict()["state"]
    for rank in range(world):
        with _process(rank, world) as trained:
            with fitting(checkpoint, trained, rank=rank, world=world) as folder:
                assert (folder == checkpoint) is (world == WRITERS)
                files = {kind: folder / f"{kind}_world_size_{world}_rank_{rank}.pt" for kind in ("model", "optim")}
                trained.module.load_state_dict(torch.load(files["model"], weights_only=False))
                trained.optimizer.load_state_dict(torch.load(files["optim"], weights_only=False))
                extra = torch.load(folder / f"extra_state_world_size_{world}_rank_{rank}.pt")
                assert extra["lr_scheduler"]["last_epoch"] == 7
            for name, parameter in trained.module.named_parameters():
                assert torch.equal(parameter.to_local(), _rows(expected.get_parameter(name).detach(), rank, world))
            for index, parameter in enumerate(trained.module.parameters()):
                state = trained.optimizer.state[parameter]
                assert int(state["step"]) == 1
                for moment in ("exp_avg", "exp_avg_sq"):
                    assert torch.equal(state[moment].to_local(), _rows(moments[index][moment], rank, world))
            alpha = shares_of(checkpoint, trained, rank=rank, world=world)
            assert all(torch.equal(alpha[name], _rows(whole, rank, world)) for name, whole in before.items())
        assert (not folder.exists()) is (world != WRITERS), "copies end with their use"
