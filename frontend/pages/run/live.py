"""What a running run's page is told when it asks for news: only the new steps, and the head of the page.

This goes past Dash: its renderer takes longer over one callback than Plotly over all charts of a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.api import RunDetail
from bapo.client import AsyncClient
from frontend.components.tile import tile_json
from frontend.figures.appending import extension
from frontend.figures.axes import X_KINDS, XKind
from frontend.figures.smoothing import WINDOW_STEPS
from frontend.pages.run.charts import Chart, charts_of
from frontend.pages.run.data import MOST_POINTS, load_newest
from frontend.pages.run.header import progress
from frontend.pages.run.tiles import load_tiles
from frontend.theme import Palette, palette_of, themed


async def news(client: AsyncClient, run_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer to `?after=72&tab=batch&x=step&method=bapo&scheme=dark&rebuild=1&tiles=1`.

    `after` is the last step that the charts show; without it no chart is asked for. The answer has `progress`, `tiles`
    where they were asked for, and with `after` also `charts` (points to append by chart), `figures` (charts of totals),
    `until` (last step once they are applied) and `reload` (draw everything anew instead).
    """
    palette = palette_of(query.get("scheme"))
    if "after" in query:
        x_kind = next((kind for kind in X_KINDS if kind == query.get("x")), X_KINDS[0])
        charts = charts_of(query.get("tab", ""), query.get("method", ""))
        after, rebuild = int(query["after"]), query.get("rebuild") == "1"
        run, answer = await delta(client, run_id, charts, x_kind=x_kind, after=after, rebuild=rebuild, palette=palette)
    else:
        run, answer = await client.run(run_id), {}
    answer["progress"] = progress(run)._asdict()
    if query.get("tiles") == "1":
        answer["tiles"] = [tile_json(content, palette) for content in await load_tiles(client, run, palette)]
    return answer


async def delta(
    client: AsyncClient,
    run_id: str,
    charts: Sequence[Chart],
    *,
    x_kind: XKind,
    after: int,
    rebuild: bool,
    palette: Palette,
) -> tuple[RunDetail, dict[str, Any]]:
    """The run, and the steps after a step for each of the charts, for Plotly.extendTraces."""
    answer: dict[str, Any] = {"after": after, "until": after, "reload": False, "charts": {}, "figures": {}}
    appended = [chart for chart in charts if chart.live == "append"]
    rebuilt = [chart for chart in charts if chart.live == "rebuild"] if rebuild else []
    if not appended:
        return await client.run(run_id), answer
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
    if num_new and (after == 0 or num_new > MOST_POINTS // 2):
        answer["reload"] = True
    elif num_new:
        answer["until"] = int(data.series.steps[-1])
        for chart in appended:
            traces, columns = extension(chart.draw(data, palette), num_new)
            answer["charts"][chart.name] = {"traces": traces, **columns}
        answer["figures"] = {chart.name: themed(chart.draw(data, palette), palette) for chart in rebuilt}
    return data.run, answer
