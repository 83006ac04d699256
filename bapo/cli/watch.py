"""`bapo watch`: watch runs while they train, across restarts of the server."""

from __future__ import annotations

import asyncio
import time
from asyncio import FIRST_COMPLETED
from collections.abc import Sequence
from typing import Annotated

import typer

from bapo.api.runs import RunDetail
from bapo.cli.connection import online
from bapo.cli.failures import Exit
from bapo.cli.output import JsonOption, print_json, say
from bapo.cli.run_lookup import RunsArgument, find_runs
from bapo.cli.watch_view import KEYS, NUM_POINTS, RECENT_STEPS, View, Watched, announce_leave, view_of
from bapo.client import AsyncClient, BapoError, Client

AT_MOST_EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 3600.0
"""Time that the server may be unreachable, seconds."""


@online
def watch(
    client: Client,
    runs: RunsArgument,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Stop watching after this many seconds, with exit code 8.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Print lines, as if the output were not a terminal.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Watch runs live until they end or pause: reward, evaluation, batches, time left.

    Prints lines if the output is not a terminal. Ctrl-C does not affect the runs.

    Exit codes: 0 all succeeded, 5 one failed, 6 one was cancelled, 7 one is paused, 8 timed out, 3 server unavailable.

    [bold]bapo watch kzx3 m2v8[/bold]
    """
    found = watch_runs(client, find_runs(client, runs), timeout=timeout, plain=plain, quiet=as_json)
    if as_json:
        print_json(found)
    raise SystemExit(outcome_of(found))


def outcome_of(runs: Sequence[RunDetail]) -> Exit:
    """Return the exit code of the worst outcome."""
    statuses = {run.status.value for run in runs}
    for status, code in (("failed", Exit.RUN_FAILED), ("cancelled", Exit.RUN_CANCELLED), ("paused", Exit.RUN_PAUSED)):
        if status in statuses:
            return code
    return Exit.DONE if statuses == {"succeeded"} else Exit.TIME_IS_UP


def watch_runs(
    client: Client, runs: Sequence[RunDetail], *, timeout: float | None = None, plain: bool = False, quiet: bool = False
) -> list[RunDetail]:
    """Show the runs until they end. Returns them as they are then."""
    watched = [Watched(run) for run in runs]
    with view_of(watched, quiet=quiet, plain=plain) as view:
        try:
            asyncio.run(_watch_all(client.awaitable(), watched, view, timeout))
        except TimeoutError:
            say("timed out; the runs continue")
        except KeyboardInterrupt:
            announce_leave(watched)
            raise
    return [each.run for each in watched]


async def _watch_all(client: AsyncClient, watched: Sequence[Watched], view: View, timeout: float | None) -> None:
    async with client, asyncio.timeout(timeout):
        watching = [asyncio.create_task(_watch_one(client, each, view)) for each in watched]
        try:
            await asyncio.gather(*watching)
        finally:
            for task in watching:
                task.cancel()


async def _watch_one(client: AsyncClient, each: Watched, view: View) -> None:
    changed = asyncio.Event()
    changed.set()

    def on_cut(_: BapoError | None) -> None:
        each.away_since = each.away_since or time.monotonic()
        view.update(each)

    async def listen() -> None:
        # Beyond its end too: a paused run may be resumed while others are still watched.
        async for _ in client.follow(each.run.id, patience_seconds=PATIENCE_SECONDS, on_cut=on_cut):
            each.away_since = None
            changed.set()

    listening = asyncio.create_task(listen())
    try:
        while True:
            await asyncio.wait([listening, waiting := asyncio.create_task(changed.wait())], return_when=FIRST_COMPLETED)
            waiting.cancel()
            changed.clear()
            await _refresh(client, each, view)
            if each.is_over:
                return
            if listening.done():
                # Raises what ended it.
                listening.result()
            await asyncio.sleep(AT_MOST_EVERY_SECONDS)
    finally:
        listening.cancel()


async def _refresh(client: AsyncClient, each: Watched, view: View) -> None:
    try:
        run = await client.run(each.run.id)
        first = max(1, run.step - RECENT_STEPS)
        series = await client.metrics(run.id, KEYS, from_step=first, max_points=NUM_POINTS)
    except BapoError as error:
        if not error.is_passing:
            raise
        each.away_since = each.away_since or time.monotonic()
    else:
        each.away_since = None
        each.update(run, series)
    view.update(each)
