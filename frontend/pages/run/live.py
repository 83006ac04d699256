"""Answers the page of a run that asks for news: only the new steps, and the heading of the page.

This bypasses Dash: its renderer takes longer for one callback than Plotly for all charts of a page.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.figures.lines import extension
from bapo.figures.theme import Palette, palette_of, themed
from frontend.pages.run.chart_panel import View, asked, view_of
from frontend.pages.run.charts import drawn, is_empty, plain
from frontend.pages.run.data import MOST_POINTS, load, load_newest
from frontend.pages.run.header import progress
from frontend.pages.run.tile import tile_json
from frontend.pages.run.tiles import load_tiles
from frontend.request.session import Api
from frontend.request.shared_answers import SharedAnswers


async def shared_news(api: Api, run_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer as `news`, made once for all viewers who have heard of the same event: `heard=1741`.

    An answer that was begun after an event was sent contains everything that led to it.
    """
    client = api.client()
    if "heard" not in query:
        return await news(client, api.drawings, run_id, query)

    async def made_once(part: Mapping[str, str]) -> dict[str, Any]:
        return await api.shared.get((run_id, *sorted(part.items())), lambda: news(client, api.drawings, run_id, part))

    await api.confirm_reader(run_id)
    answer = await made_once({name: value for name, value in query.items() if name != "tiles"})
    if query.get("tiles") == "1":
        # Apart: not every viewer is due for them at the same time.
        tiles = await made_once({name: query.get(name, "") for name in ("scheme", "heard", "tiles")})
        answer = {**answer, "tiles": tiles["tiles"]}
    return answer


async def news(client: AsyncClient, kept: SharedAnswers, run_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer `?after=72&charts=rewards,lengths&x=step&axes=lengths:time&smooth=10&scheme=dark&tiles=1&rebuild=1`.

    `after` is the last step that the charts show; without it no chart is asked for. The answer has `progress`, `tiles`
    where they were asked for, and with `after` also `charts` (points to append by chart), `figures` (whole ones: with
    `rebuild=1` charts of totals, with `recorded=1` those of evaluations and trackings), `until` (last step once they
    are applied) and `reload` (redraw everything instead).
    """
    palette = palette_of(query.get("scheme"))
    if "after" in query:
        view = view_of(asked(query))
        anew = {live for live in ("rebuild", "recorded") if query.get(live) == "1"}
        run, answer = await delta(client, run_id, view, after=int(query["after"]), anew=anew, palette=palette)
    else:
        run, answer = await client.run(run_id), {}
    answer["progress"] = progress(run)._asdict()
    if query.get("tiles") == "1":
        state = (run.id, "tiles", run.revision, run.attempt, palette.scheme)
        answer["tiles"] = await kept.get(state, lambda: _tiles(client, run, palette))
    return answer


async def _tiles(client: AsyncClient, run: RunDetail, palette: Palette) -> list[dict[str, Any]]:
    return [tile_json(content, palette) for content in await load_tiles(client, run, palette)]


async def delta(
    client: AsyncClient, run_id: str, view: View, *, after: int, anew: Collection[str], palette: Palette
) -> tuple[RunDetail, dict[str, Any]]:
    """Return the run, and each chart's steps after a step for Plotly.extendTraces; charts updated otherwise come
    whole."""
    answer: dict[str, Any] = {"after": after, "until": after, "reload": False, "charts": {}, "figures": {}}
    appended = [chart for chart in view.charts if chart.live == "append"]
    rebuilt = [chart for chart in view.charts if chart.live in anew]
    if appended:
        data = await load_newest(client, run_id, view._replace(charts=appended).reading(), from_step=after + 1)
        run, steps = next((each.run, each.series.steps) for each in data.values())
    else:
        run, data, steps = await client.run(run_id), {}, []
    if steps and (after == 0 or len(steps) > MOST_POINTS // 2):
        answer["reload"] = True
    elif steps:
        answer["until"] = int(steps[-1])
        for chart in appended:
            figure = plain(chart, data[chart.name], palette, view.smoothing)
            traces, columns = extension(figure, len(steps))
            answer["charts"][chart.name] = {"traces": traces, **columns}
    if rebuilt and not answer["reload"]:
        whole = await load(client, run, view._replace(charts=rebuilt).reading())
        figures = {chart.name: drawn(chart, whole[chart.name], palette, view.smoothing) for chart in rebuilt}
        answer["figures"] = {name: themed(figure, palette) for name, figure in figures.items() if not is_empty(figure)}
    return run, answer
