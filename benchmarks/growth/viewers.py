"""Time until a step of a live run reaches all its viewers, over their number."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from statistics import median

from bapo.client import AsyncClient
from bapo.records import StepRecord
from benchmarks.deployment import Deployment
from benchmarks.growth.curves import NUM_PROMPTS, Curves, note_memory, small_config
from benchmarks.volume import Upload, records

SIZES, QUICK_SIZES = (1, 20, 200), (1, 20)
STEPS = 20
"""Steps that everybody waits for, one after the other."""
LONGEST_SECONDS = 60.0


class _Viewer:
    """An open stream of a run's events, which notes when each step came."""

    def __init__(self) -> None:
        self.came: dict[int, float] = {}
        self.news = asyncio.Event()

    async def watch(self, client: AsyncClient, run_id: str) -> None:
        async with client.events(run_id) as events:
            async for event in events:
                if event.event == "step":
                    self.came[int(event.data["step"])] = time.perf_counter()
                    self.news.set()

    async def has(self, step: int) -> float:
        """Return when the step arrived."""
        while step not in self.came:
            self.news.clear()
            await self.news.wait()
        return self.came[step]


def viewers(server: Deployment, *, quick: bool) -> Curves:
    """Measure runs with more and more viewers; return medians over the steps of each."""
    curves: Curves = {"a step sent until the last viewer has it": {}, "until half of them have it": {}}
    for size in QUICK_SIZES if quick else SIZES:
        last, half = asyncio.run(_watched(server, size))
        curves["a step sent until the last viewer has it"][size] = median(last)
        curves["until half of them have it"][size] = median(half)
        note_memory(curves, server, size)
    return curves


async def _watched(server: Deployment, size: int) -> tuple[list[float], list[float]]:
    """Return milliseconds of each step until all and until half of the viewers have it."""
    config = small_config(STEPS + 1)
    steps = [each for each in records(config, num_prompts=NUM_PROMPTS) if isinstance(each, StepRecord)]
    last, half = [], []
    with server.client() as sender:
        upload = Upload(sender, config, f"watched by {size}")
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
            watching = [_Viewer() for _ in range(size)]
            watched = []
            for viewer in watching:
                client = await stack.enter_async_context(AsyncClient(server.url, token=server.token))
                watched.append(tasks.create_task(viewer.watch(client, upload.run_id)))
            # A stream tells what is new since it was opened: everybody has come once the first step reached them.
            first = steps[0]
            while not all(viewer.came for viewer in watching):
                await asyncio.to_thread(upload.send, [first])
                await asyncio.sleep(0.2)
                first = first.model_copy(update={"step": first.step + 1})
            for number, step in enumerate(steps[1:], start=first.step):
                begin = time.perf_counter()
                sending = tasks.create_task(asyncio.to_thread(upload.send, [step.model_copy(update={"step": number})]))
                async with asyncio.timeout(LONGEST_SECONDS):
                    came = await asyncio.gather(*(viewer.has(number) for viewer in watching))
                    await sending
                taken = [1000 * (each - begin) for each in came]
                last.append(max(taken))
                half.append(median(taken))
            for task in watched:
                task.cancel()
    return last, half
