"""What a running run's page is told at each poke of the browser: only the new steps."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

from bapo.api import RunDetail
from bapo.client import AsyncClient
from frontend.figures.appending import extension
from frontend.figures.axes import XKind
from frontend.figures.smoothing import WINDOW_STEPS
from frontend.pages.run.charts import charts_of, drawn
from frontend.pages.run.data import MOST_POINTS, load
from frontend.theme import Palette


class Poke(TypedDict):
    """What the browser asks for when it heard of something new."""

    seq: int
    after: int
    """Last step that its charts show."""
    tiles: bool
    """Whether the tiles are due."""
    rebuild: bool
    """Whether charts of totals are due."""


class Delta(TypedDict):
    """What is new."""

    seq: int
    after: int
    until: int
    """Last step after it was applied."""
    reload: bool
    """The charts must be drawn anew: too much is new, or nothing was drawn yet."""
    charts: dict[str, dict[str, Any]]
    """Chart name → traces and columns for Plotly.extendTraces."""
    figures: dict[str, Any]
    """Chart name → whole figure, for charts of totals."""


async def delta(client: AsyncClient, run: RunDetail, tab: str, x_kind: XKind, poke: Poke, palette: Palette) -> Delta:
    """The steps after `poke["after"]` of each chart of the tab."""
    after = poke["after"]
    answer = Delta(seq=poke["seq"], after=after, until=after, reload=False, charts={}, figures={})
    appended = [chart for chart in charts_of(tab, run) if chart.live == "append"]
    rebuilt = [chart for chart in charts_of(tab, run) if chart.live == "rebuild"] if poke["rebuild"] else []
    if run.step <= after or not appended:
        return answer
    if after == 0 or run.step - after > MOST_POINTS // 2:
        answer["reload"] = True
        return answer
    # Moving means need the steps before the new ones.
    newest, whole = await asyncio.gather(
        load(
            client,
            run,
            keys=[key for chart in appended for key in chart.keys],
            needs=[need for chart in appended for need in chart.needs],
            x_kind=x_kind,
            from_step=max(2, after + 2 - WINDOW_STEPS),
        ),
        load(client, run, keys=[key for chart in rebuilt for key in chart.keys], needs=(), x_kind=x_kind)
        if rebuilt
        else _nothing(),
    )
    num_new = sum(step > after for step in newest.series.steps)
    if num_new:
        answer["until"] = int(newest.series.steps[-1])
        for chart in appended:
            traces, columns = extension(chart.draw(newest, palette), num_new)
            answer["charts"][chart.name] = {"traces": traces, **columns}
    for chart in rebuilt:
        answer["figures"][chart.name] = drawn(chart, whole, palette).to_plotly_json()
    return answer


async def _nothing() -> Any:
    return None
