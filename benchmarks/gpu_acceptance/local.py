"""The local engine: the same numbers on the device as on the CPU, α exact, memory given back, speed."""

from __future__ import annotations

import gc
import hashlib
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import psutil
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

from bapo.config import RunConfig, apply_changes, resolve
from bapo.config.engine import EngineConfig
from bapo.config.recipes import load_recipe
from bapo.engines.base import BatchItem, Policy
from bapo.engines.local.autocast import forward_passes
from bapo.engines.local.engine import LocalEngine
from bapo.engines.local.forward import response_logprobs
from bapo.engines.local.payload import GroupPayload
from bapo.engines.local.policy import load_tokenizer
from bapo.records import StepRecord
from bapo.rollout import BatchSource, RolloutGroup
from bapo.run.journal import merged_records
from bapo.tasks import build_task
from benchmarks.demo import train_command
from benchmarks.gpu_acceptance.checks import MIB, Check, gpu_memory_used

SHIPPED_MODEL = "countdown-base"
LONG_RESPONSE_TOKENS = 200
RELEASE_SECONDS = 60.0
"""For the driver to notice that a process is gone."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the computations."""

    num_prompts: int = 32
    group_size: int = 8
    width: int = 768
    layers: int = 12
    learning_seconds: float = 600.0


def config_of(device: str, sizes: Sizes, model: str = SHIPPED_MODEL, **more: object) -> RunConfig:
    """Return the config of a run of the demo's task on a device; `more` are fields, with `__` for each dot."""
    changes = {
        "engine.device": device,
        "model.path": model,
        "rollout.group_size": sizes.group_size,
        "task.num_train": max(64, sizes.num_prompts),
        "task.num_test": 16,
        # So large that it leaves the gradient as it is.
        "training.max_grad_norm": 1000.0,
        "method.c1": 1 / sizes.group_size,
        "method.c2": [1 / sizes.group_size, 0.5],
        "method.c3": [0.5, 1 - 1 / sizes.group_size],
        **{field.replace("__", "."): value for field, value in more.items()},
    }
    return resolve(apply_changes(load_recipe("countdown-quick").explicit, changes)).config


def checks(device: str, sizes: Sizes, folder: Path) -> Iterator[Check]:
    """Run all checks, cheapest first. Models and runs are written into `folder`."""
    yield from equality(device, sizes, folder)
    large = str(large_model(folder / "large", sizes))
    yield from repeatability(device, sizes, large)
    for model in (SHIPPED_MODEL, large):
        for dtype in ("float32", "bfloat16"):
            yield from throughput(device, sizes, model, dtype)
    yield from a_run(device, sizes, folder)


def equality(device: str, sizes: Sizes, folder: Path) -> Iterator[Check]:
    """Pass one batch through both devices, and yield their differences."""
    reference, engine = (_engine(each, sizes) for each in ("cpu", device))
    groups = _groups(reference, sizes)
    payloads = _payloads(groups)
    expected, measured = (_logprobs(each._model, payloads) for each in (reference, engine))
    yield Check("log-probabilities against the CPU, float32, largest gap", _gap(expected, measured), "nats", 1e-3)
    with forward_passes(EngineConfig(dtype="bfloat16"), engine._device):
        halved = _logprobs(engine._model, payloads)
    yield Check("log-probabilities in bfloat16 against float32, largest gap", _gap(measured, halved), "nats", 0.25)
    yield Check("the same, mean gap", float((measured - halved).abs().mean()), "nats", 0.02)

    batch = [BatchItem(group, BatchSource.FRESH) for group in groups]
    before = digest(engine._model)
    norms = [each.update(batch, step=1).grad_norm for each in (reference, engine)]
    yield Check("norm of an update's gradient against the CPU's", abs(norms[1] / norms[0] - 1), "relative", 1e-3)
    cosine = cosine_similarity(_gradient(reference._model), _gradient(engine._model), dim=0)
    yield Check("cosine to the CPU's gradient", float(cosine), "", 0.9999, "at least")
    kept = digest(engine._policy_model(Policy.ROLLOUT)) == before != digest(engine._model)
    yield Check("α is bit for bit what it was before the update", float(kept), "of 1", 1.0, "at least")

    engine.save(folder / "checkpoint", [])
    restored = _engine(device, sizes)
    restored.load(folder / "checkpoint")
    equal = all(digest(restored._policy_model(each)) == digest(engine._policy_model(each)) for each in Policy)
    yield Check("both policies are restored bit for bit", float(equal), "of 1", 1.0, "at least")
    if device == "cuda":
        del engine, restored
        gc.collect()
        # What cuBLAS works in, 66 MiB on an H200, is no tensor of ours.
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        yield Check("memory that PyTorch still holds afterwards", torch.cuda.memory_reserved() / MIB, "MiB", 0.0)


def repeatability(device: str, sizes: Sizes, model: str) -> Iterator[Check]:
    """Repeat one update: by default, a GPU's attention sums long sequences in a varying order."""
    results = set()
    for _ in range(3):
        engine = _engine(device, sizes, model, rollout__max_response_tokens=LONG_RESPONSE_TOKENS)
        engine.update(_with_gradients(_groups(engine, sizes)), step=1)
        results.add(digest(engine._model))
    name = f"different weights after three equal updates on responses of {LONG_RESPONSE_TOKENS} tokens"
    yield Check(name, float(len(results)), "", 1.0)


def throughput(device: str, sizes: Sizes, model: str, dtype: str) -> Iterator[Check]:
    """Measure tokens per second of a warm engine, and its peak memory."""
    engine = _engine(device, sizes, model, engine__dtype=dtype)
    parameters = sum(parameter.numel() for parameter in engine._model.parameters())
    name = f"{Path(model).name} model ({parameters / 1e6:.1f}M), {dtype}"
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    groups = _groups(engine, sizes)
    begin = time.perf_counter()
    groups = _groups(engine, sizes)
    generated = time.perf_counter()
    tokens = sum(sum(payload.sampled.lengths) for payload in _payloads(groups))
    items = _with_gradients(groups)
    engine.update(items, step=1)
    trained = time.perf_counter()
    engine.update(items, step=2)
    updated = time.perf_counter()
    yield Check(f"{name}: generation", tokens / (generated - begin), "response tokens/s")
    yield Check(f"{name}: update", tokens / (updated - trained), "response tokens/s")
    memory = engine.utilisation()
    key = "gpu_memory_peak_bytes" if "gpu_memory_peak_bytes" in memory else "memory_peak_bytes"
    yield Check(f"{name}: {key.removesuffix('_bytes').replace('_', ' ')}", memory[key] / MIB, "MiB")


def a_run(device: str, sizes: Sizes, folder: Path) -> Iterator[Check]:
    """Run the demo by `bapo train` for the given time, then end it by kill -9, and check both."""
    used_before = gpu_memory_used()
    run_folder = folder / "run"
    process = psutil.Popen(train_command(run_folder, {"engine.device": device}))
    deadline = time.monotonic() + sizes.learning_seconds
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    ended = process.poll()
    if ended is None:
        process.send_signal(signal.SIGKILL)
        process.wait()
    yield Check("exit code of a demo run that was left alone", float(ended or 0), "", 0.0)
    records = merged_records(run_folder) if run_folder.is_dir() else []
    rewards = [
        record.reward_mean for record in records if isinstance(record, StepRecord) and record.reward_mean is not None
    ]
    yield Check("steps of the demo", float(len(rewards)), "steps", 8.0, "at least")
    part = max(1, len(rewards) // 4)
    gained = fmean(rewards[-part:]) - fmean(rewards[:part]) if rewards else float("nan")
    yield Check("its reward in the last quarter, above the first", gained, "", 0.0, "at least")
    if device == "cuda":
        deadline = time.monotonic() + RELEASE_SECONDS
        while gpu_memory_used() > used_before + 64 * MIB and time.monotonic() < deadline:
            time.sleep(0.5)
        yield Check("GPU memory left behind", (gpu_memory_used() - used_before) / MIB, "MiB", 64.0)


def large_model(folder: Path, sizes: Sizes) -> Path:
    """Write a model of random weights with the shipped tokenizer, and return its path."""
    tokenizer = load_tokenizer(SHIPPED_MODEL)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=sizes.width,
        intermediate_size=4 * sizes.width,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.width // 64,
        num_key_value_heads=sizes.width // 64,
        max_position_embeddings=512,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def digest(model: PreTrainedModel) -> str:
    """Return a digest of all weights."""
    found = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(weight.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def _engine(device: str, sizes: Sizes, model: str = SHIPPED_MODEL, **more: object) -> LocalEngine:
    config = config_of(device, sizes, model, **more)
    return LocalEngine(config, build_task(config.task))


def _groups(engine: LocalEngine, sizes: Sizes) -> Sequence[RolloutGroup]:
    problems = engine._task.train[: sizes.num_prompts]
    return engine.generate(
        problems, group_size=sizes.group_size, policy=Policy.CURRENT, step=1, purpose="acceptance"
    ).groups


def _payloads(groups: Sequence[RolloutGroup]) -> list[GroupPayload]:
    return [group.payload for group in groups if isinstance(group.payload, GroupPayload)]


@torch.no_grad()
def _logprobs(model: PreTrainedModel, payloads: Sequence[GroupPayload]) -> Tensor:
    """Return the log-probabilities of all response tokens, prompt by prompt, as one call needs equal lengths."""
    parts = [response_logprobs(model, [payload], temperature=1.0, entropy_gradient=False)[0] for payload in payloads]
    return torch.cat(parts).float().cpu()


def _gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def _gradient(model: PreTrainedModel) -> Tensor:
    gradients = [parameter.grad for parameter in model.parameters()]
    return torch.cat([each.flatten().cpu().double() for each in gradients if each is not None])


def _with_gradients(groups: Sequence[RolloutGroup]) -> list[BatchItem]:
    """Return batch items with made-up rewards: those of a random model are all equal and give no gradient."""
    return [
        BatchItem(
            group, BatchSource.FRESH, None, tuple(1.0 if index % 2 else -1.0 for index in range(group.group_size))
        )
        for group in groups
    ]
