"""Series of a run, and its further steps, over its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

import httpx

from bapo.records import StepRecord
from benchmarks.api_reads import TEN_KEYS
from benchmarks.deployment import Deployment
from benchmarks.growth.curves import NUM_PROMPTS, Curves, median_milliseconds, note_memory, small_config
from benchmarks.volume import Upload, records

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
