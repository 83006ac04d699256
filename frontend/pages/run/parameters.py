"""The drawer in which a running run gets new values of its thresholds and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update
from pydantic import TypeAdapter

from bapo.api.configs import ConfigDraft, ConfigFieldInfo
from bapo.api.runs import ControlInfo, ParameterChange, RunDetail
from bapo.client import ApiError
from bapo.config.method import steerable_fields
from bapo.config.resolve import flatten
from bapo.figures.theme import palette_of, themed
from bapo.figures.threshold_map import threshold_map_data, threshold_map_figure
from frontend.changes_query import changes_text
from frontend.components.chart_card import BLANK_FIGURE, GRAPH_CONFIG
from frontend.components.config_form.fields import config_field
from frontend.components.config_form.inputs import TASK, by_field, form_fields, problems_of, typed_values
from frontend.components.config_form.remarks import problem_list, starvation_note
from frontend.components.config_form.values import changes, knows
from frontend.components.notices import error_text, toast
from frontend.components.store_button import button_store, store_id
from frontend.pages.run.history import WITHDRAW, control_list
from frontend.session import Api

FORM = "change"

_INFOS = TypeAdapter(list[ConfigFieldInfo])


def drawer() -> dmc.Drawer:
    """Closed and empty until somebody opens it."""
    return dmc.Drawer(
        html.Div(id="change-body"),
        id="change-drawer",
        title="Change parameters",
        position="right",
        size="md",
        padding="md",
    )


def values_in_force(run: RunDetail, controls: Sequence[ControlInfo]) -> dict[str, Any]:
    """The config with what the trainer has applied since, in order."""
    values = flatten(run.config)
    applied = [control for control in controls if control.state == "applied" and control.kind == "change"]
    for control in sorted(applied, key=lambda each: (each.applied_step or 0, each.created_at)):
        values |= control.set
    return values


def drawer_body(run: RunDetail, infos: Sequence[ConfigFieldInfo], controls: Sequence[ControlInfo]) -> html.Div:
    """Fields with the values in force, and the requests so far."""
    values = values_in_force(run, controls)
    method, task = run.method, str(values[TASK])
    by_path = {
        field.info.path: field for field in form_fields(infos, values, method, task) if knows(field.info, method, task)
    }
    fields = [by_path[path] for path in steerable_fields(method) if path in by_path]
    if not fields:
        text = f"{run.method} has no parameter that a running run can change. Clone the run to change others."
        return html.Div(dmc.Text(text, c="dimmed", size="sm"))
    return html.Div(
        [
            dmc.Text(
                "The trainer takes new values at a step boundary and writes down what it did. They hold for all later "
                "steps, also after a resume.",
                size="sm",
                c="dimmed",
                mb="md",
            ),
            html.Div(
                [config_field(FORM, info, value, run.method, width="full") for info, value in fields],
                className="drawer-fields",
            ),
            dmc.NumberInput(
                id="change-step",
                label="First step with the new values",
                description="Empty: the next one",
                min=1,
                allowDecimal=False,
                size="sm",
                mt="sm",
            ),
            html.Div(id="change-problems", className="form-problems"),
            dmc.Button("Apply", id="change-apply", fullWidth=True, mt="md"),
            html.Div(
                [
                    html.Div(
                        [
                            html.H3("What the new thresholds admit", className="chart-title"),
                            dcc.Link("Replay in what-if", id="change-what-if", href=f"/runs/{run.id}?tab=what-if"),
                        ],
                        className="chart-heading",
                    ),
                    html.Div(id="change-map-note", className="map-note", role="status"),
                    dcc.Graph(id="change-map", figure=BLANK_FIGURE, config=GRAPH_CONFIG, style={"height": 320}),
                ],
                id="change-map-card",
                className="change-preview",
            ),
            html.H3("Requests so far", className="chart-title requests-title"),
            html.Div(request_list(controls), id="change-requests"),
            button_store(WITHDRAW),
        ]
    )


def request_list(controls: Sequence[ControlInfo]) -> list[Any]:
    """The requests, or that there are none."""
    return control_list(controls, withdrawable=True) or [dmc.Text("None yet.", size="sm", c="dimmed")]


def register(app: Dash, api: Api) -> None:
    """Opening, checking, sending."""

    @app.callback(
        Output("change-drawer", "opened"),
        Output("change-body", "children"),
        Input({"type": "run-action", "verb": ALL}, "n_clicks"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def open_drawer(_: Any, run_id: str) -> Any:
        trigger: Any = ctx.triggered_id
        if not trigger or trigger["verb"] != "change" or not ctx.triggered[0]["value"]:
            return no_update, no_update
        client = api.client()
        try:
            run, infos, history = (
                await client.run(run_id),
                (await client.config_fields()).items,
                await client.history(run_id),
            )
        except (ApiError, httpx.TransportError) as error:
            return True, dmc.Alert(error_text(error), color="red", variant="light")
        return True, drawer_body(run, infos, history.controls)

    _requesting(app, api)
    _previewing(app, api)


def _previewing(app: Dash, api: Api) -> None:
    """What the typed thresholds would admit, and a link that replays them."""

    @app.callback(
        Output({"type": f"{FORM}-warning", "path": ALL}, "children"),
        Output("change-map", "figure"),
        Output("change-map-note", "children"),
        Output("change-map-card", "style"),
        Output("change-what-if", "href"),
        Input({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "value"),
        Input("scheme", "data"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "id"),
        State("run-id", "data"),
    )
    async def preview(values: Sequence[Any], scheme: str | None, ids: Sequence[Mapping[str, Any]], run_id: str) -> Any:
        paths = [output["id"]["path"] for output in ctx.outputs_list[0]]
        nothing = [no_update] * len(paths), *[no_update] * 4
        client = api.client()
        try:
            run, infos, history = (
                await client.run(run_id),
                (await client.config_fields()).items,
                await client.history(run_id),
            )
            base = values_in_force(run, history.controls)
            fields = form_fields(infos, base, run.method, str(base[TASK]))
            wanted = changes(fields, typed_values(ids, values), run.method, str(base[TASK]))
            known = {path: base[path] for path in steerable_fields(run.method) if path in base}
            report = await client.validate(ConfigDraft(parent_id=run_id, changes={**known, **wanted}))
        except (ApiError, httpx.TransportError):
            # What is wrong is said when it is applied; half a number is no reason to complain.
            return nothing
        query = {"tab": "what-if"} | ({"set": changes_text(wanted)} if wanted else {})
        href = f"/runs/{run_id}?{urlencode(query, safe=':;~/')}"
        warnings, _ = by_field(report.warnings, paths)
        shown = [warnings.get(path) for path in paths]
        if not report.threshold_map:
            return shown, BLANK_FIGURE, None, {"display": "none"}, href
        palette = palette_of(scheme)
        figure = themed(threshold_map_figure(threshold_map_data(report.threshold_map), palette), palette)
        return shown, figure, starvation_note(report), {}, href


def _requesting(app: Dash, api: Api) -> None:
    """Withdrawing and asking."""

    @app.callback(
        Output("change-requests", "children", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input(store_id(WITHDRAW), "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def withdraw(press: Mapping[str, Any] | None, run_id: str) -> Any:
        if not press:
            return no_update, no_update
        client = api.client()
        told: Any = no_update
        try:
            await client.withdraw_parameters(run_id, press["id"])
        except (ApiError, httpx.TransportError) as error:
            told = toast(error_text(error), title="Not withdrawn")
        try:
            return request_list((await client.history(run_id)).controls), told
        except (ApiError, httpx.TransportError):
            return no_update, told

    @app.callback(
        Output({"type": f"{FORM}-wrap", "path": ALL}, "error"),
        Output("change-problems", "children"),
        Output("change-requests", "children"),
        Input("change-apply", "n_clicks"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "value"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "id"),
        State("change-step", "value"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def apply(
        clicks: int | None,
        values: Sequence[Any],
        ids: Sequence[Mapping[str, Any]],
        at_step: int | str | None,
        run_id: str,
    ) -> Any:
        paths = [output["id"]["path"] for output in ctx.outputs_list[0]]
        if not clicks:
            return [no_update] * len(paths), no_update, no_update
        client = api.client()
        try:
            run, infos, history = (
                await client.run(run_id),
                (await client.config_fields()).items,
                await client.history(run_id),
            )
            base = values_in_force(run, history.controls)
            fields = form_fields(infos, base, run.method, str(base[TASK]))
            wanted = changes(fields, typed_values(ids, values), run.method, str(base[TASK]))
            if not wanted:
                text = "Nothing differs from the values in force: change a field first."
                return [None] * len(paths), dmc.Text(text, size="sm", c="dimmed", mt="sm"), no_update
            await client.change_parameters(
                run_id, ParameterChange(set=wanted, at_step=int(at_step) if at_step else None)
            )
            history = await client.history(run_id)
        except ApiError as error:
            errors, others = by_field(problems_of(error), paths)
            listed = problem_list(others, colour="red", title="Refused") if others else None
            return [errors.get(path) for path in paths], listed, no_update
        except httpx.TransportError as error:
            return [None] * len(paths), error_text(error), no_update
        return [None] * len(paths), None, request_list(history.controls)

    @app.callback(
        Output("change-requests", "children", allow_duplicate=True),
        Input("run-reload", "data"),
        State("run-id", "data"),
        State("change-drawer", "opened"),
        prevent_initial_call=True,
    )
    async def follow(_: int, run_id: str, opened: bool | None) -> Any:
        if not opened:
            return no_update
        try:
            return request_list((await api.client().history(run_id)).controls)
        except (ApiError, httpx.TransportError):
            return no_update
