"""Saved views of the run list: opened from a menu or by a link, saved under a name, deleted by their author."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html, set_props

from bapo.api.runs import RunFilters
from bapo.api.views import ViewInfo, ViewWrite
from bapo.client import AsyncClient
from frontend.components.actions import FormError, in_place, show, tell, when_pressed, when_submitted
from frontend.components.controls import icon_button, menu_of
from frontend.components.elements import Link
from frontend.request.session import Api


def menu() -> dmc.Popover:
    """Return the menu: everybody's views, and a field to save what is shown."""
    return menu_of(
        ["Views", html.Span("", id="runs-view-name", className="runs-view-name")],
        "bookmark",
        html.Div(id="runs-views-list", className="runs-views-list"),
        html.Div(
            [
                dmc.Divider(my="xs"),
                dmc.TextInput(
                    id="runs-view-title",
                    label="Save current view as",
                    placeholder="BAPO, failed this week",
                    value="",
                    size="xs",
                ),
                dmc.Button("Save view", id="runs-view-save", size="compact-sm", mt="xs"),
                dmc.Text("Saves filters, order and columns. Everybody can open it.", size="xs", c="dimmed", mt=4),
                html.Div(id="runs-view-problem", className="runs-view-problem", role="alert"),
            ],
            className="for-members",
        ),
        id="runs-views",
        width=300,
    )


def view_list(views: Sequence[ViewInfo]) -> list[Any]:
    """Return a link for each view; the caller can delete their own."""
    if not views:
        return [dmc.Text("No saved views yet.", size="sm", c="dimmed")]
    return [
        html.Div(
            [
                Link(
                    [
                        html.Span(view.name, className="runs-view-link"),
                        html.Span(view.owner, className="runs-view-owner"),
                    ],
                    href=f"/runs?view={view.id}",
                    title=f"{view.name}, by {view.owner}",
                ),
                _delete(view) if view.is_own else None,
            ],
            className="runs-view",
        )
        for view in views
    ]


def _delete(view: ViewInfo) -> Any:
    identifier = {"type": "runs-view-delete", "view": view.id}
    return icon_button("trash", f"Delete the view {view.name}", size=14, id=identifier)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: opening the list, saving and deleting."""
    problem = in_place("runs-view-problem", "red")

    async def redraw(client: AsyncClient) -> None:
        show("runs-views-list", view_list((await client.views()).items))
        show("runs-view-problem", "")

    @when_pressed(
        app,
        Input("runs-views", "opened"),
        {"type": "runs-view-delete", "view": ALL},
        on_error=problem,
    )
    async def open_or_delete(pressed: Any) -> None:
        client = api.client()
        if isinstance(pressed, dict):
            await client.delete_view(pressed["view"])
        await redraw(client)

    @when_submitted(
        app,
        "runs-view-save",
        fields={"name": "runs-view-title"},
        problem="runs-view-problem",
        states=[State("runs-view-title", "value"), State("runs-shows", "data")],
        outputs=[Output("runs-view-saved", "data")],
    )
    async def save(title: str | None, shows: dict[str, Any]) -> dict[str, str]:
        name = (title or "").strip()
        if not name:
            raise FormError(name="Give the view a name.")
        body = ViewWrite(
            name=name,
            filters=RunFilters.model_validate(shows["filters"]),
            sort=shows["sort"],
            columns=shows["columns"],
        )
        client = api.client()
        own = [view for view in (await client.views()).items if view.is_own and view.name == name]
        view = await (client.replace_view(own[0].id, body) if own else client.create_view(body))
        set_props("runs-view-title", {"value": ""})
        tell(f"“{view.name}” is {'updated' if own else 'saved'}; its link is in the address.", "View saved")
        await redraw(client)
        return {"id": view.id, "name": view.name}
