"""Pages of the run list over the length of the history, and series and further steps over the length of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import httpx

from bapo.records import StepRecord
from benchmarks.api_reads import TEN_KEYS
from benchmarks.deployment import Deployment
from benchmarks.growth.curves import NUM_PROMPTS, Curves, median_milliseconds, note_memory, small_config
from benchmarks.volume import Upload, records, store

RUN_SIZES, QUICK_RUN_SIZES = (1_000, 10_000, 100_000), (1_000, 10_000)


def history(server: Deployment, *, quick: bool) -> Curves:
    """Measure pages of the list, and the estimate for a new run like the others, over the number of runs."""
    with server.client() as client:
        config = small_config(2)
        run_id = store(client, config, "of the history", records(config, num_prompts=NUM_PROMPTS))
    questions: Mapping[str, dict[str, Any]] = {
        "a page of runs": {},
        "a search": {"search": "copy 77"},
        "a filter, sorted": {"method": "bapo", "sort": "-eval_latest"},
        "a state, sorted": {"status": "failed", "sort": "-reward_mean"},
    }
    estimate = "an estimate for a new run"
    curves: Curves = {name: {} for name in (*questions, estimate)}
    with httpx.Client(**server.http_options()) as http:

        def ask(params: dict[str, Any]) -> object:
            return http.get("/runs", params={"limit": 50, **params}).raise_for_status()

        def estimated() -> object:
            return http.post("/configs/estimate", json={"parent_id": run_id}).raise_for_status()

        for size in QUICK_RUN_SIZES if quick else RUN_SIZES:
            server.fill_history(run_id, size)
            for name, params in questions.items():
                curves[name][size] = median_milliseconds(partial(ask, params), quick=quick)
            curves[estimate][size] = median_milliseconds(estimated, quick=quick)
            note_memory(curves, server, size)
    return curves


SIZES, QUICK_SIZES = (500, 5_000, 50_000), (500, 5_000)


def run_length(server: Deployment, *, quick: bool) -> Curves:
    """Measure reading and storing over the length of a run."""
    sizes = QUICK_SIZES if quick else SIZES
    names = ("ten columns, 1,000 points", "histograms, 1,000 points", "ratios, 1,000 points", "a further step")
    curves: Curves = {name: {} for name in names}
    config = small_config(sizes[0])
    steps = [each for each in records(config, num_prompts=NUM_PROMPTS) if isinstance(each, StepRecord)]
    asked = count(2**30)
    with server.client() as client, httpx.Client(**server.http_options()) as http:
        for size in sizes:
            upload = Upload(client, config, f"of {size} steps")
            upload.send_all(iter(steps))
            server.lengthen_run(upload.run_id, sizes[0], size // sizes[0])

            def get(path: str, run_id: str = upload.run_id, **params: str | int) -> None:
                # Another end each time, beyond the run's own: what is kept is not what is measured.
                params |= {"to_step": next(asked), "max_points": 1_000}
                http.get(f"/runs/{run_id}/{path}", params=params).raise_for_status()

            further = _further(steps, size)

            def send(upload: Upload = upload, further: Iterator[StepRecord] = further) -> None:
                upload.send([next(further)])

            asks: Sequence[Callable[[], object]] = (
                partial(get, "metrics", keys=",".join(TEN_KEYS)),
                partial(get, "histograms"),
                partial(get, "ratios"),
                send,
            )
            for name, ask in zip(names, asks, strict=True):
                curves[name][size] = median_milliseconds(ask, quick=quick)
            note_memory(curves, server, size)
    return curves


def _further(steps: Sequence[StepRecord], after: int) -> Iterator[StepRecord]:
    """Yield steps that follow a run's last one."""
    for number, step in enumerate(steps, start=after + 1):
        yield step.model_copy(update={"step": number})
