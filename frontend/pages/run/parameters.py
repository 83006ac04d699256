"""The drawer that gives a running run new thresholds and intervals."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html, set_props
from dash.exceptions import PreventUpdate

from bapo.analysis.steered import values_in_force
from bapo.api.configs import ConfigDraft, ConfigFieldInfo
from bapo.api.runs import ControlInfo, ParameterChange, RunDetail
from bapo.client import ApiError, AsyncClient
from bapo.config.method import method_name, steerable_fields
from bapo.config.resolve import flatten
from frontend.components.actions import in_place, in_toast, show, unchanged, when_pressed
from frontend.components.changes_query import changes_text
from frontend.components.chart_card import table_button
from frontend.components.config_form.fields import config_field
from frontend.components.config_form.inputs import (
    TASK,
    by_field,
    config_infos,
    form_fields,
    problem_list,
    problems_of,
    threshold_map,
    typed_values,
)
from frontend.components.config_form.values import changes, knows
from frontend.components.elements import Graph, Link, button_store, figure_named, pressed_in
from frontend.pages.run.history import WITHDRAW, changed_values, control_list
from frontend.request.session import Api

FORM = "change"
FIELDS = {"type": f"{FORM}-field", "path": ALL, "part": ALL}


def drawer_body(run: RunDetail, infos: Sequence[ConfigFieldInfo], controls: Sequence[ControlInfo]) -> list[Any]:
    """Return the fields with the values in force, and the requests so far."""
    values = values_in_force(flatten(run.config), run.applied_changes)
    method, task = run.method, str(values[TASK])
    by_path = {
        field.info.path: field for field in form_fields(infos, values, method, task) if knows(field.info, method, task)
    }
    fields = [by_path[path] for path in steerable_fields(method) if path in by_path]
    if not fields:
        name = method_name(method)
        text = f"{name} has no parameter that can be changed while a run trains. To change others, clone the run."
        return [dmc.Text(text, c="dimmed", size="sm")]
    return [
        dmc.Text(
            "The trainer applies new values at a step boundary and records them. They hold for all later steps, "
            "also after a resume.",
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
            description="Empty: the next step",
            min=1,
            allowDecimal=False,
            size="sm",
            mt="sm",
        ),
        html.Div(
            [
                html.Div(
                    [
                        html.H2("Threshold map", className="chart-title"),
                        Link("Replay in what-if", id="change-what-if", href=f"/runs/{run.id}?tab=what-if"),
                    ],
                    className="chart-heading",
                ),
                html.Div(id="change-map-note", className="map-note", role="status"),
                Graph("change-map", style={"height": 320}),
                table_button("Threshold map"),
            ],
            id="change-map-card",
            className="change-preview",
            **figure_named("Threshold map"),
        ),
        html.H2("Requests", className="chart-title requests-title"),
        html.Div(request_list(controls), id="change-requests"),
        button_store(WITHDRAW),
        html.Div(
            [
                html.Div(id="change-problems", className="form-problems"),
                dmc.Button("Apply", id="change-apply", fullWidth=True),
            ],
            className="form-foot",
        ),
    ]


def request_list(controls: Sequence[ControlInfo]) -> list[Any]:
    """Return the requests, or that there are none."""
    return control_list(controls, withdrawable=True) or [dmc.Text("None yet.", size="sm", c="dimmed")]


def _requested(control: ControlInfo) -> dmc.Alert:
    """Return the answer to Apply: what was asked for, and from when it will hold."""
    begin = "at the next step boundary" if control.at_step is None else f"from step {control.at_step:,} on"
    text = f"{changed_values(control.set)}, {begin}. “Requests” above follows it."
    return dmc.Alert(text, title="Requested", color="green", variant="light", p="xs")


class _Steered(NamedTuple):
    """The run and the config in force that the drawer changes."""

    run: RunDetail
    infos: Sequence[ConfigFieldInfo]
    controls: Sequence[ControlInfo]

    @classmethod
    async def of(cls, api: Api, run_id: str) -> _Steered:
        client = api.client()
        run, infos, history = await asyncio.gather(client.run(run_id), config_infos(api), client.history(run_id))
        return cls(run, infos, history.controls)

    @property
    def base(self) -> dict[str, Any]:
        """The values in force."""
        return values_in_force(flatten(self.run.config), self.run.applied_changes)

    def changes(self, ids: Sequence[Mapping[str, Any]], values: Sequence[Any]) -> dict[str, Any]:
        """Return the typed values that differ from those in force."""
        method, task = self.run.method, str(self.base[TASK])
        fields = form_fields(self.infos, self.base, method, task)
        return changes(fields, typed_values(ids, values), method, task)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: opening, checking, sending."""

    def not_loaded(error: Exception) -> None:
        set_props("change-drawer", {"opened": True})
        in_place("change-body", "red")(error)

    @when_pressed(
        app,
        {"type": "run-action", "verb": ALL},
        outputs=[Output("change-drawer", "opened"), Output("change-body", "children")],
        states=[State("run-id", "data")],
        on_error=not_loaded,
    )
    async def open_drawer(pressed: Mapping[str, str], run_id: str) -> Any:
        if pressed["verb"] != "change":
            raise PreventUpdate
        return True, drawer_body(*await _Steered.of(api, run_id))

    _requesting(app, api)
    _previewing(app, api)


def _previewing(app: Dash, api: Api) -> None:
    """Show what the typed thresholds would admit, and link to what-if with them."""

    @app.callback(
        Output({"type": f"{FORM}-warning", "path": ALL}, "children"),
        Output("change-map", "figure"),
        Output("change-map-note", "children"),
        Output("change-map-card", "style"),
        Output("change-what-if", "href"),
        Input(FIELDS, "value"),
        Input("scheme", "data"),
        State(FIELDS, "id"),
        State("run-id", "data"),
        # What is wrong is said when it is applied; half a number is no reason to complain.
        on_error=unchanged,
    )
    async def preview(values: Sequence[Any], scheme: str | None, ids: Sequence[Mapping[str, Any]], run_id: str) -> Any:
        paths = [output["id"]["path"] for output in ctx.outputs_list[0]]
        client = api.client()
        steered = await _Steered.of(api, run_id)
        wanted = steered.changes(ids, values)
        known = {path: steered.base[path] for path in steerable_fields(steered.run.method) if path in steered.base}
        report = await client.validate(ConfigDraft(parent_id=run_id, changes={**known, **wanted}))
        query = {"tab": "what-if"} | ({"set": changes_text(wanted)} if wanted else {})
        href = f"/runs/{run_id}?{urlencode(query, safe=':;~/')}"
        warnings, _ = by_field(report.warnings, paths)
        shown = [warnings.get(path) for path in paths]
        return shown, *threshold_map(report, scheme), href


def _requesting(app: Dash, api: Api) -> None:
    """Withdraw and requests changes, and follow what becomes of them."""

    async def redraw(client: AsyncClient, run_id: str) -> None:
        show("change-requests", request_list((await client.history(run_id)).controls))

    @when_pressed(app, pressed_in(WITHDRAW), states=[State("run-id", "data")], on_error=in_toast("Not withdrawn"))
    async def withdraw(press: Mapping[str, Any], run_id: str) -> None:
        client = api.client()
        try:
            await client.withdraw_parameters(run_id, press["id"])
        finally:
            # A change that could not be withdrawn has been applied meanwhile.
            await redraw(client, run_id)

    @when_pressed(
        app,
        "change-apply",
        outputs=[Output({"type": f"{FORM}-wrap", "path": ALL}, "error")],
        states=[
            State(FIELDS, "value"),
            State(FIELDS, "id"),
            State("change-step", "value"),
            State("run-id", "data"),
        ],
        on_error=in_place("change-problems", "red"),
    )
    async def apply(
        _: str, values: Sequence[Any], ids: Sequence[Mapping[str, Any]], at_step: int | str | None, run_id: str
    ) -> Any:
        paths = [output["id"]["path"] for output in ctx.outputs_list]
        client = api.client()
        wanted = (await _Steered.of(api, run_id)).changes(ids, values)
        if not wanted:
            text = "Nothing differs from the values in force: change a field first."
            show("change-problems", dmc.Text(text, size="sm", c="dimmed"))
            return [None] * len(paths)
        try:
            asked = await client.change_parameters(
                run_id, ParameterChange(set=wanted, at_step=int(at_step) if at_step else None)
            )
        except ApiError as error:
            errors, others = by_field(problems_of(error), paths)
            show("change-problems", problem_list(others, colour="red", title="Refused") if others else None)
            return [errors.get(path) for path in paths]
        show("change-problems", _requested(asked))
        await redraw(client, run_id)
        return [None] * len(paths)

    @app.callback(
        Output("change-requests", "children"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        State("change-drawer", "opened"),
        prevent_initial_call=True,
        on_error=unchanged,
    )
    async def follow(_: int, run_id: str, opened: bool | None) -> Any:
        if not opened:
            raise PreventUpdate
        return request_list((await api.client().history(run_id)).controls)
