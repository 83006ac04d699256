"""What a running run's page is told at each poke of the browser: only the new steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from bapo.client import AsyncClient
from frontend.figures.appending import extension
from frontend.figures.axes import XKind
from frontend.figures.smoothing import WINDOW_STEPS
from frontend.pages.run.charts import Chart
from frontend.pages.run.data import MOST_POINTS, load_newest
from frontend.theme import Palette, themed


class Poke(TypedDict):
    """What the browser asks for when it heard of something new."""

    seq: int
    after: int
    """Last step that its charts show."""
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


async def delta(
    client: AsyncClient, run_id: str, charts: Sequence[Chart], x_kind: XKind, poke: Poke, palette: Palette
) -> Delta:
    """The steps after `poke["after"]` for each of the charts."""
    after = poke["after"]
    answer = Delta(seq=poke["seq"], after=after, until=after, reload=False, charts={}, figures={})
    appended = [chart for chart in charts if chart.live == "append"]
    rebuilt = [chart for chart in charts if chart.live == "rebuild"] if poke["rebuild"] else []
    if not appended:
        return answer
    if after == 0:
        answer["reload"] = True
        return answer
    due = [*appended, *rebuilt]
    data = await load_newest(
        client,
        run_id,
        keys=[key for chart in due for key in chart.keys],
        needs=[need for chart in due for need in chart.needs],
        x_kind=x_kind,
        # Moving means need the steps before the new ones.
        from_step=max(1, after + 2 - WINDOW_STEPS),
    )
    num_new = sum(step > after for step in data.series.steps)
    if num_new > MOST_POINTS // 2:
        answer["reload"] = True
    elif num_new:
        answer["until"] = int(data.series.steps[-1])
        for chart in appended:
            traces, columns = extension(chart.draw(data, palette), num_new)
            answer["charts"][chart.name] = {"traces": traces, **columns}
        answer["figures"] = {chart.name: themed(chart.draw(data, palette), palette) for chart in rebuilt}
    return answer
