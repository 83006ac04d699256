"""The verl engine: weights reach vLLM exactly, both sides agree on log-probabilities, memory comes back, phases."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import torch

from bapo.config import RunConfig, apply_changes, resolve
from bapo.engines.base import BatchItem, Policy
from bapo.rollout import BatchSource
from bapo.run.engine import build_engine
from bapo.tasks import build_task
from bapo.tasks.base import Task
from benchmarks.gpu_acceptance import local
from benchmarks.gpu_acceptance.checks import MIB, Check, gpu_memory_used

LARGEST_GAP = {"float32": 1e-3, "bfloat16": 0.25}
"""Nats, between vLLM and the training processes on the same weights."""


def config_of(device: str, sizes: local.Sizes, *, offload: bool) -> RunConfig:
    """Return the config of the local checks' run, for verl."""
    explicit = local.config_of(device, sizes).model_dump(mode="json")
    return resolve(apply_changes(explicit, {"engine.type": "verl", "engine.verl.offload": offload})).config


def checks(device: str, sizes: local.Sizes) -> Iterator[Check]:
    """Run all checks once with offloaded weights and once without, each on a new engine."""
    # So that a function may be sent into vLLM's worker, for the digest of its weights.
    os.environ["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"
    for offload in (False, True):
        others = set(psutil.Process().children(recursive=True))
        used_before = gpu_memory_used()
        config = config_of(device, sizes, offload=offload)
        task = build_task(config.task)
        begin = time.perf_counter()
        engine = build_engine(config, task)
        kind = "offloaded" if offload else "resident"
        try:
            yield Check(f"{kind}: start", time.perf_counter() - begin, "s")
            for check in of_engine(engine, task, sizes, device):
                yield replace(check, name=f"{kind}: {check.name}")
        finally:
            engine.close()
        left = set(psutil.Process().children(recursive=True)) - others
        yield Check(f"{kind}: processes left behind", float(len(left)), "", 0.0)
        if device == "cuda":
            yield Check(f"{kind}: GPU memory left behind", (gpu_memory_used() - used_before) / MIB, "MiB", 64.0)


def of_engine(engine: Any, task: Task, sizes: local.Sizes, device: str) -> Iterator[Check]:
    """Check an engine that has not been trained since its last synchronisation."""
    from bapo.engines.verl.rows import Rows  # noqa: PLC0415  (imports verl)
    from bapo.engines.verl.settings import dtype  # noqa: PLC0415

    problems = task.train[: sizes.num_prompts]

    def generate(policy: Policy, step: int) -> Any:
        return engine.generate(
            problems, group_size=sizes.group_size, policy=policy, step=step, purpose="acceptance"
        ).groups

    engine.sync_rollout_policy(0)
    groups = generate(Policy.ROLLOUT, 1)
    of_alpha = digest(engine)
    items = [BatchItem(group, BatchSource.FRESH) for group in groups]
    if device == "cuda":
        awake = gpu_memory_used()
        engine._sleep()
        yield Check("memory that vLLM gives back asleep", (awake - gpu_memory_used()) / MIB, "MiB", 1024.0, "at least")
    trained, _ = engine._trainer.logprobs(Rows.of(items))
    sampled = [row for group in groups for row in _rows(group, "rollout_log_probs")]
    gaps = torch.cat([(one - other).abs() for one, other in zip(trained, sampled, strict=True)])
    bound = LARGEST_GAP[dtype(engine._config, on_cpu=device == "cpu")]
    yield Check(
        "log-probabilities of vLLM against the training processes, largest gap", float(gaps.max()), "nats", bound
    )
    yield Check("the same, mean gap", float(gaps.mean()), "nats", bound / 10)

    engine._phases.take()
    stats = engine.update(items, step=1)
    yield Check("update", stats.timing["verl/update_actor"], "s")
    begin = time.perf_counter()
    current = generate(Policy.CURRENT, 2)
    seconds = time.perf_counter() - begin
    tokens = sum(response.length for group in current for response in group.payload.responses)
    yield Check("generation, with weights sent to vLLM", tokens / seconds, "response tokens/s")
    of_current = digest(engine)
    yield Check("an update changes vLLM's weights", float(of_current != of_alpha), "of 1", 1.0, "at least")
    generate(Policy.ROLLOUT, 3)
    yield Check("α is back bit for bit in vLLM", float(digest(engine) == of_alpha), "of 1", 1.0, "at least")
    generate(Policy.CURRENT, 4)
    equal = float(digest(engine) == of_current)
    yield Check("so are the current weights after it", equal, "of 1", 1.0, "at least")
    memory = engine.utilisation()
    for key in sorted(key for key in memory if key.endswith("memory_peak_bytes")):
        yield Check(key.removesuffix("_bytes").replace("_", " "), memory[key] / MIB, "MiB")


def _rows(group: Any, field: str) -> Any:
    import transfer_queue as tq  # noqa: PLC0415

    from bapo.engines.verl.agent_loop import PARTITION  # noqa: PLC0415

    return tq.kv_batch_get(keys=group.payload.keys, partition_id=PARTITION, select_fields=[field])[field].unbind()


def digest(engine: Any) -> str:
    """Return a digest of all weights that vLLM holds, worker by worker."""
    import ray  # noqa: PLC0415

    def write_digest(worker: Any, folder: str) -> None:
        """Write the digest in vLLM's worker, which cannot import this file: a local function is pickled whole."""
        import torch  # noqa: PLC0415

        found = hashlib.sha256()
        for _, weight in sorted(worker.model_runner.model.named_parameters()):
            found.update(weight.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes())
        Path(folder, f"rank-{worker.rank}").write_text(found.hexdigest())

    whole = []
    for replica in engine._trainer.llm_server_manager.get_replicas():
        with tempfile.TemporaryDirectory() as folder:
            ray.get([server.collective_rpc.remote(write_digest, args=(folder,)) for server in replica.servers])
            whole += [path.read_text() for path in sorted(Path(folder).iterdir())]
    return " ".join(whole)
