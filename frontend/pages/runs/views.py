"""Saved views of the run list: opened from a menu or by a link, saved under a name, deleted by their author."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.runs import RunFilters
from bapo.api.views import ViewInfo, ViewWrite
from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.notices import error_text, toast
from frontend.session import Api


def menu() -> dmc.Popover:
    """The views of everybody, and a field to save the present one."""
    return dmc.Popover(
        [
            dmc.PopoverTarget(
                dmc.Button(
                    ["Views", html.Span("", id="runs-view-name", className="runs-view-name")],
                    id="runs-views-button",
                    size="xs",
                    variant="default",
                    leftSection=icon("bookmark", 14),
                )
            ),
            dmc.PopoverDropdown(
                [
                    html.Div(id="runs-views-list", className="runs-views-list"),
                    dmc.Divider(my="xs"),
                    dmc.TextInput(
                        id="runs-view-title",
                        label="Save what is shown now as",
                        placeholder="BAPO, failed this week",
                        value="",
                        size="xs",
                    ),
                    dmc.Button("Save view", id="runs-view-save", size="compact-sm", mt="xs"),
                    dmc.Text("Filters, order and columns; everybody can open it.", size="xs", c="dimmed", mt=4),
                    html.Div(id="runs-view-problem", className="runs-view-problem", role="alert"),
                ]
            ),
        ],
        id="runs-views",
        position="bottom-start",
        shadow="md",
        width=300,
        trapFocus=True,
        closeOnEscape=True,
    )


def view_list(views: Sequence[ViewInfo]) -> list[Any]:
    """A link for each view; one's own can be deleted."""
    if not views:
        return [dmc.Text("No saved views yet.", size="sm", c="dimmed")]
    return [
        html.Div(
            [
                dcc.Link(
                    [
                        html.Span(view.name, className="runs-view-link"),
                        html.Span(view.owner, className="runs-view-owner"),
                    ],
                    href=f"/runs?view={view.id}",
                    title=f"{view.name}, by {view.owner}",
                ),
                *(
                    [
                        dmc.ActionIcon(
                            icon("trash", 14),
                            id={"type": "runs-view-delete", "view": view.id},
                            variant="subtle",
                            color="red",
                            size="sm",
                            **attributes(aria_label=f"Delete the view {view.name}"),
                        )
                    ]
                    if view.is_own
                    else []
                ),
            ],
            className="runs-view",
        )
        for view in views
    ]


def register(app: Dash, api: Api) -> None:
    """The list is read when the menu opens."""

    @app.callback(
        Output("runs-views-list", "children"),
        Output("runs-view-problem", "children"),
        Input("runs-views", "opened"),
        Input("runs-view-saved", "data"),
        Input({"type": "runs-view-delete", "view": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    async def show(opened: bool | None, _: Any, __: Any) -> Any:
        trigger: Any = ctx.triggered_id
        try:
            if isinstance(trigger, dict):
                if not ctx.triggered[0]["value"]:
                    return no_update, no_update
                await api.client().delete_view(trigger["view"])
            elif not opened:
                return no_update, no_update
            return view_list((await api.client().views()).items), ""
        except (ApiError, httpx.TransportError) as error:
            return no_update, error_text(error)

    @app.callback(
        Output("runs-view-saved", "data"),
        Output("runs-view-problem", "children", allow_duplicate=True),
        Output("runs-view-title", "value"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("runs-view-save", "n_clicks"),
        State("runs-view-title", "value"),
        State("runs-shows", "data"),
        prevent_initial_call=True,
    )
    async def save(_: Any, title: str | None, shows: dict[str, Any]) -> Any:
        name = (title or "").strip()
        if not name:
            return no_update, "Give the view a name.", no_update, no_update
        body = ViewWrite(
            name=name,
            filters=RunFilters.model_validate(shows["filters"]),
            sort=shows["sort"],
            columns=shows["columns"],
        )
        client = api.client()
        try:
            own = [view for view in (await client.views()).items if view.is_own and view.name == name]
            view = await (client.replace_view(own[0].id, body) if own else client.create_view(body))
        except (ApiError, httpx.TransportError) as error:
            return no_update, error_text(error), no_update, no_update
        verb = "changed" if own else "saved"
        told = toast(f"“{view.name}” is {verb}; its link is in the address.", title="View saved", colour="green")
        return {"id": view.id, "name": view.name}, "", "", told
