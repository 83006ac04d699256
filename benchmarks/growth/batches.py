"""Storing and reading a run over the responses of a step, B x G: from 32 x 8 to 1,024 x 16.

The widest has 49 million responses in 3,000 steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count, islice

import httpx

from bapo.config import RunConfig
from bapo.records import StepRecord
from benchmarks.deployment import Deployment
from benchmarks.growth.curves import Curves, median_milliseconds, note_memory, once
from benchmarks.volume import Upload, config_of, records

SIZES, QUICK_SIZES = ((32, 8), (128, 16), (1024, 16)), ((32, 8), (128, 16))
STEPS, QUICK_STEPS = 3_000, 300
PROMPTS_PER_GROUP = 20
"""Training prompts, as a multiple of B: a prompt is visited again after so many steps."""
AT_ONCE = 20
"""Records that are sent together, nearly all of them steps."""
QUESTIONS: Mapping[str, tuple[str, dict[str, str | int], tuple[str, int]]] = {
    "histograms, 1,000 points": ("histograms", {"max_points": 1_000}, ("to_step", 2**30)),
    "a page of prompts, by visits": ("prompts", {"limit": 50, "sort": "visits"}, ("max_last", 1_000)),
    "moves of all prompts": ("migration", {"kind": "last_seen"}, ("to_step", 2**30)),
}
"""Path, parameters, and one that changes nothing: another value each time, as what is kept is not what is measured."""


def batches(server: Deployment, *, quick: bool) -> Curves:
    """Measure the same run with more and more responses in each step."""
    names = ("a step stored", *QUESTIONS, "first what-if", "another what-if")
    curves: Curves = {name: {} for name in names}
    for batch_size, group_size in QUICK_SIZES if quick else SIZES:
        size = batch_size * group_size
        config = _config(QUICK_STEPS if quick else STEPS, batch_size, group_size)
        with server.client() as client:
            upload = Upload(client, config, f"{batch_size} x {group_size}")
            curves["a step stored"][size] = _store(upload, config, PROMPTS_PER_GROUP * batch_size)
        with httpx.Client(**server.http_options()) as http:
            for name, taken in _reads(http, f"/runs/{upload.run_id}", group_size, quick=quick):
                curves[name][size] = taken
        note_memory(curves, server, size)
    return curves


def _reads(http: httpx.Client, run: str, group_size: int, *, quick: bool) -> Iterator[tuple[str, float]]:
    """Yield the milliseconds of each question about a run."""
    thresholds = count(1)

    def get(path: str, params: dict[str, str | int], idle: str, values: Iterator[int]) -> None:
        http.get(f"{run}/{path}", params={**params, idle: next(values)}).raise_for_status()

    def ask() -> None:
        moved = {"method.c1": f"{next(thresholds)}/{group_size}"}
        http.post(f"{run}/what-if", json={"set": moved, "draws": 4}).raise_for_status()

    for name, (path, params, (idle, first)) in QUESTIONS.items():
        yield name, median_milliseconds(partial(get, path, params, idle, count(first)), quick=quick)
    for name in ("first what-if", "another what-if"):
        yield name, once(ask)


def _config(num_steps: int, batch_size: int, group_size: int) -> RunConfig:
    config = config_of(steps=num_steps, batch_size=batch_size)
    rollout = config.rollout.model_copy(update={"group_size": group_size})
    return RunConfig.model_validate(config.model_copy(update={"rollout": rollout}).model_dump(mode="json"))


def _store(upload: Upload, config: RunConfig, num_prompts: int) -> float:
    """Store steps; return milliseconds per step, without the time to generate them."""
    taken, num_steps, journal = 0.0, 0, records(config, num_prompts=num_prompts)
    while batch := list(islice(journal, AT_ONCE)):
        taken += once(partial(upload.send, batch))
        num_steps += sum(isinstance(record, StepRecord) for record in batch)
    return taken / num_steps
