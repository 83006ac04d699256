"""Draws the charts of the open tab, and keeps them and the heading up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc
import orjson
from dash import ALL, Dash, Input, Output, State, html

from bapo.api.alerts import AlertPage
from bapo.api.runs import TERMINAL_STATUSES, RunDetail, RunStatus
from bapo.client import AsyncClient
from bapo.config.method import has_trait, is_trainable, method_name
from bapo.figures.axes import X_KINDS, XKind
from bapo.figures.theme import palette_of, themed
from frontend.components.actions import FAILURES, clientside
from frontend.components.chart_card import chart_card
from frontend.components.elements import Store, attributes
from frontend.components.notices import error_text
from frontend.pages.run.charts import (
    Chart,
    charts_named,
    charts_of,
    drawn,
    is_empty,
    note_of,
    smoothing_for,
)
from frontend.pages.run.data import Reading, Wanted, load, newest_alerts
from frontend.request.session import Api

FUNNEL = "reevaluation"
LAST_STEP = 2**31 - 1


async def recorded_for(client: AsyncClient, run: RunDetail, tab: str) -> Sequence[str]:
    """Return the metrics of a run that decide which charts a tab has, and what is said below them."""
    # Here the charts are the same whatever is recorded, but for what other trainers log of the first two tabs.
    if tab == "difficulty" or (is_trainable(run.method) and tab in ("overview", "batch")):
        return ()
    return (await client.metric_keys(run.id)).items


def _shown(run: RunDetail, tab: str, recorded: Collection[str]) -> list[Chart]:
    return [
        chart
        for chart in charts_of(tab, run.method)
        if not chart.only_recorded or any(key in recorded for key in chart.keys)
    ]


def chart_panel(run: RunDetail, tab: str, recorded: Collection[str] = ()) -> list[Any]:
    """Return the cards of a tab, still without data; `recorded` are the metrics that the run has."""
    charts = _shown(run, tab, recorded)
    cards = [
        chart_card(
            chart.name,
            chart.title,
            chart.explanation,
            question=chart.question,
            height=chart.height,
            wide=chart.wide,
            empty=chart.empty or no_step_yet(run),
            has_axis=chart.has_marks,
            tools=funnel_tools() if chart.name == FUNNEL else (),
        )
        for chart in charts
    ]
    hint = []
    if tab == "batch" and not has_trait(run.method, "reuses_groups"):
        text = (
            f"{method_name(run.method)} keeps no buffers, so nothing is re-evaluated or reused."
            if is_trainable(run.method)
            else "X2, X3, buffers and thresholds are not recorded: this run is trained by another trainer."
        )
        hint = [dmc.Text(text, size="sm", c="dimmed", mt="sm")]
    hint += threshold_note(run, tab)
    if tab in ("overview", "batch") and "bapo/rewards/missing_ranks" in recorded:
        text = "Some steps are missing groups because some ranks did not report: the events say from which step on."
        hint.append(dmc.Text(text, size="sm", c="dimmed", mt="sm"))
    return [
        Store(id="charts-mounted", data={"tab": tab, "charts": [chart.name for chart in charts]}),
        # How the charts are looked at, from the address (assets/charts_view.js).
        Store(id="charts-view"),
        Store(id="charts-drawn"),
        Store(id="charts-sink"),
        html.Div(cards, id="charts-grid", className="chart-grid"),
        *hint,
    ]


def threshold_note(run: RunDetail, tab: str) -> list[Any]:
    """Return, for figures that count the rewards of another trainer, what they count as correct."""
    if is_trainable(run.method) or tab not in ("overview", "batch", "difficulty"):
        return []
    threshold = run.config["method"]["reward_threshold"]
    text = (
        f"Rewards are shown as the trainer gave them. Wherever responses are counted as correct, their reward is above "
        f"{threshold:g} (reward_threshold)."
    )
    return [dmc.Text(text, id="threshold-note", size="sm", c="dimmed", mt="sm")]


def no_step_yet(run: RunDetail) -> str:
    """Return why the charts of a run are empty."""
    if run.step:
        return "No step has recorded this."
    if run.status in TERMINAL_STATUSES:
        return f"The run {_ENDS[run.status]} before its first step was finished."
    return "The first step is not finished yet."


_ENDS = {RunStatus.FAILED: "failed", RunStatus.CANCELLED: "was cancelled", RunStatus.SUCCEEDED: "ended"}


def funnel_tools() -> list[Any]:
    """Return the inputs for the steps that the funnel sums; empty fields mean all steps."""
    fields = [
        dmc.NumberInput(
            id=f"funnel-{end}",
            placeholder=placeholder,
            min=1,
            allowDecimal=False,
            allowNegative=False,
            debounce=500,
            hideControls=True,
            size="xs",
            w=76,
            **attributes(aria_label=label),
        )
        for end, placeholder, label in (
            ("from", "first", "First step of the funnel"),
            ("to", "last", "Last step of the funnel"),
        )
    ]
    return [html.Span("steps", className="fact-label"), fields[0], html.Span("to", className="fact-label"), fields[1]]


class View(NamedTuple):
    """The view of a tab's charts."""

    charts: Sequence[Chart]
    x_kind: XKind
    axes: Mapping[str, XKind]
    """Charts with an axis of their own."""
    smoothing: str | None
    window: tuple[int, int] | None
    """Steps whose counts are summed."""

    def reading(self) -> Reading:
        """Return the data to read for the charts."""
        return Reading(
            {chart.name: Wanted(chart.keys, self.axes.get(chart.name, self.x_kind)) for chart in self.charts},
            frozenset(need for chart in self.charts for need in chart.needs),
            smoothing_for(self.charts, self.smoothing),
            self.window,
        )


def view_of(given: Mapping[str, Any]) -> View:
    """Return the view that the browser asks for; invalid parts are ignored."""
    axes = given.get("axes") or {}
    ends = str(given.get("steps") or "").split("..")
    window = [int(end) if end.isdigit() else bound for end, bound in zip(ends, (1, LAST_STEP), strict=False)]
    return View(
        charts_named(given.get("charts") or ()),
        next((kind for kind in X_KINDS if kind == given.get("x")), X_KINDS[0]),
        {name: kind for name, value in axes.items() for kind in X_KINDS if kind == value},
        given.get("smooth"),
        (window[0], window[1]) if len(window) == 2 and window[0] <= window[1] else None,
    )


def asked(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the view that a query of the browser describes, as `view_of` takes it."""
    axes = dict(part.split(":", 1) for part in query.get("axes", "").split(",") if ":" in part)
    return {**query, "charts": query.get("charts", "").split(","), "axes": axes}


async def charts_answer(api: Api, run_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer `?charts=rewards,lengths&x=step&smooth=10&steps=1..40&axes=lengths:time&scheme=dark` with whole figures.

    `?tab=overview` in place of `charts`: those of a tab. Figures are made once for all who ask, until the run records
    something, or one of its alerts changes.
    """
    client = api.client()
    try:
        run, alerts = await asyncio.gather(client.run(run_id), newest_alerts(client, run_id))
        if "charts" not in query:
            tab = query.get("tab", "")
            charts = _shown(run, tab, await recorded_for(client, run, tab))
            query = {**query, "charts": ",".join(chart.name for chart in charts)}
        state = (run.id, run.revision, run.status, run.step, run.started_at, alerts.model_dump_json())
        made = await api.drawings.get((*state, *sorted(query.items())), lambda: _figures(client, run, alerts, query))
    except FAILURES as error:
        return {"problem": error_text(error)}
    # Everything up to this event is in the figures.
    return {"event": run.last_event_id, **made}


async def _figures(
    client: AsyncClient, run: RunDetail, alerts: AlertPage, query: Mapping[str, str]
) -> dict[str, orjson.Fragment]:
    """Return each part as JSON, as it is kept and sent."""
    view = view_of(asked(query))
    data = await load(client, run, view.reading(), alerts)
    palette = palette_of(query.get("scheme"))
    figures = {chart.name: drawn(chart, data[chart.name], palette, view.smoothing) for chart in view.charts}
    parts = {
        "until": max((int(each.series.steps[-1]) for each in data.values() if each.series.steps), default=0),
        "figures": {name: themed(figure, palette) for name, figure in figures.items()},
        # Why there is nothing to see may be another reason than when the card was made.
        "empty": {
            chart.name: chart.empty or no_step_yet(data[chart.name].run)
            for chart in view.charts
            if is_empty(figures[chart.name])
        },
        "notes": {chart.name: note_of(chart, data[chart.name]) for chart in view.charts},
    }
    return {name: orjson.Fragment(orjson.dumps(part)) for name, part in parts.items()}


def register(app: Dash, _: Api) -> None:
    """Register drawing and the address, both in the browser."""
    # The address holds the tab; axis and smoothing come from assets/charts_view.js.
    address = (Output("run-axis", "style"), Input("run-tabs", "value"), State("run-axis-tabs", "data"))
    clientside(app, "run", "address", *address)
    clientside(
        app,
        "live",
        "draw",
        Output("charts-drawn", "data"),
        Input("charts-view", "data"),
        Input("scheme", "data"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        State("live-source", "data"),
    )
    sink = Output("charts-sink", "data", allow_duplicate=True)
    ends = (Input("funnel-from", "value"), Input("funnel-to", "value"))
    clientside(app, "charts", "funnel", sink, *ends, initial=False)
    looked_at = (Input("charts-mounted", "data"), Input("run-x", "value"), Input("run-smooth", "value"))
    clientside(app, "charts", "view", Output("charts-view", "data"), *looked_at)
    clientside(
        app,
        "live",
        "drawn",
        Output({"type": "chart", "name": ALL}, "figure"),
        Output({"type": "chart-card", "name": ALL}, "className"),
        Output({"type": "chart-note", "name": ALL}, "children"),
        Output("charts-sink", "data"),
        Input("charts-drawn", "data"),
        State({"type": "chart-card", "name": ALL}, "className"),
        initial=False,
    )
