"""Training processes on two nodes of a running Ray cluster share a batch, and the update is that of one process.

Both nodes are on this machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.config.recipes import load_recipe
from bapo.engines.base import BatchItem, Policy
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks import build_task
from bapo.tasks.base import Task
from tests.support.ports import hold_port
from tests.verl.comparing import GROUP_SIZE, SETTINGS, assert_equal_updates

# Eleven groups of four: 44 rows are shared out as 22 and 22 by length, whose tokens are not equally many.
NUM_PROBLEMS = 11
START_SECONDS = 600.0
"""For a node of Ray to be there, on a busy machine."""
TWO_NODES = {"engine.type": "verl", "engine.verl.nodes": 2}
ONE_PROCESS = {"engine.type": "local", "engine.verl.nodes": 1, "engine.verl.ray_address": None}


def _config(**changes: Any) -> RunConfig:
    return resolve(apply_changes(load_recipe("countdown-quick").explicit, SETTINGS | TWO_NODES | changes)).config


@pytest.fixture(scope="module")
def ray_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of two nodes, each with a place for one training process; it asks for Ray's token, as by default."""
    ray = str(Path(sys.executable).with_name("ray"))
    logs = tmp_path_factory.mktemp("ray")
    with (
        hold_port() as held,
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="ray-") as folder,
        ExitStack() as stack,
    ):
        port = held.getsockname()[1]
        address = f"127.0.0.1:{port}"
        patch.setenv("RAY_AUTH_MODE", "token")
        subprocess.run([ray, "get-auth-token", "--generate"], check=True, capture_output=True)
        head = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"]
        for number, where in enumerate((head, [f"--address={address}"])):
            log = stack.enter_context((logs / f"node-{number}").open("wb"))
            command = [ray, "start", "--block", "--num-cpus=12", "--num-gpus=1", *where]
            node = psutil.Popen(command, stdout=log, stderr=log)
            stack.callback(_end, node)
            _wait_for_nodes(number + 1, ray, address, logs)
        yield address


def _nodes(ray: str, address: str) -> int:
    said = subprocess.run([ray, "status", f"--address={address}"], capture_output=True, text=True, check=False).stdout
    return len(re.findall(r"^ 1 node_", said, re.MULTILINE))


def _wait_for_nodes(number: int, ray: str, address: str, logs: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while _nodes(ray, address) < number:
        said = [path.read_text() for path in sorted(logs.iterdir())]
        assert time.monotonic() < deadline, said


def _end(node: psutil.Popen) -> None:
    processes = [node, *node.children(recursive=True)]
    node.terminate()
    _, alive = psutil.wait_procs(processes, timeout=20)
    for process in alive:
        process.kill()


@pytest.fixture(scope="module")
def task() -> Task:
    return build_task(_config(**ONE_PROCESS).task)


@pytest.fixture(scope="module")
def engine(task: Task, ray_address: str) -> Iterator[Any]:
    from bapo.run.engine import build_engine  # noqa: PLC0415

    engine = build_engine(_config(**{"engine.verl.ray_address": ray_address}), task)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def groups(engine: Any, task: Task) -> Sequence[RolloutGroup]:
    """Generated before an update, so that ratios are not 1."""
    generation = engine.generate(
        task.train[:NUM_PROBLEMS], group_size=GROUP_SIZE, policy=Policy.ROLLOUT, step=1, purpose="old"
    )
    engine.update([BatchItem(group, BatchSource.FRESH) for group in generation.groups], step=1)
    return generation.groups


def test_the_gradient_is_that_of_one_process(engine: Any, groups: Sequence[RolloutGroup], tmp_path: Path) -> None:
    batch = [BatchItem(group, BatchSource.REUSED) for group in groups]
    local = _config(**ONE_PROCESS)
    assert assert_equal_updates(engine, batch, local, tmp_path).ratio_max > 1.05


def test_rows_that_cannot_be_halved_count_once(engine: Any, groups: Sequence[RolloutGroup], tmp_path: Path) -> None:
    # 4 + 3 rows: the row that fills the batch up must not train.
    batch = [BatchItem(groups[0], BatchSource.REUSED), BatchItem(groups[1], BatchSource.REUSED, (0, 1, 3))]
    batch += [BatchItem(group, BatchSource.REUSED) for group in groups[2:4]]
    local = _config(**ONE_PROCESS)
    assert_equal_updates(engine, batch, local, tmp_path)


def test_both_processes_go_on_from_a_checkpoint(engine: Any, groups: Sequence[RolloutGroup], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    engine.save(tmp_path / "kept", groups[:2])
    batch = [BatchItem(group, BatchSource.REUSED) for group in groups[2:]]
    first = engine.update(batch, step=3)
    engine.load(tmp_path / "kept")
    again = engine.update(batch, step=3)
    assert again.loss == pytest.approx(first.loss, abs=1e-6)
    assert again.grad_norm == pytest.approx(first.grad_norm, rel=1e-5)
    # The same from the files of three, which share the rows out differently.
    _share_out_among_three(tmp_path / "kept" / "actor")
    engine.load(tmp_path / "kept")
    other = engine.update(batch, step=3)
    assert other.loss == pytest.approx(first.loss, abs=1e-6)
    assert other.grad_norm == pytest.approx(first.grad_norm, rel=1e-5)


def _share_out_among_three(folder: Path) -> None:
    """Replace the two processes' files by those that three would have written."""
    import torch  # noqa: PLC0415
    from torch.distributed.tensor import DTensor  # noqa: PLC0415

    def parts(values: Sequence[Any]) -> list[Any]:
        if not isinstance(values[0], DTensor):
            return [values[0]] * 3
        whole = torch.cat([value.to_local() for value in values])
        return [chunk.clone() for chunk in (*whole.chunk(3), whole[:0], whole[:0])[:3]]

    for kind in ("model", "optim", "extra_state"):
        files = [folder / f"{kind}_world_size_2_rank_{rank}.pt" for rank in range(2)]
        wrote = [torch.load(file, map_location="cpu", weights_only=False) for file in files]
        tables = [each["state"] for each in wrote] if kind == "optim" else wrote
        shared: list[dict[Any, Any]] = [{}, {}, {}]
        for name in tables[0]:
            if kind == "optim":
                split = {key: parts([table[name][key] for table in tables]) for key in tables[0][name]}
                values = [{key: each[rank] for key, each in split.items()} for rank in range(3)]
            else:
                values = parts([table[name] for table in tables])
            for table, value in zip(shared, values, strict=True):
                table[name] = value
        for rank, table in enumerate(shared):
            content = {**wrote[0], "state": table} if kind == "optim" else table
            torch.save(content, folder / f"{kind}_world_size_3_rank_{rank}.pt")
        for file in files:
            file.unlink()
