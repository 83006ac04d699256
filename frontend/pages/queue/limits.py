"""Limits on the runs that each user has on workers at a time; administrators change them."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html
from dash.exceptions import PreventUpdate

from bapo.api.queue import LimitChange, UserLimits
from frontend.components.actions import in_toast, tell
from frontend.components.card import section_title
from frontend.components.elements import Store, attributes
from frontend.components.table import cell, row, table_card
from frontend.request.session import Api


def limits_panel(limits: UserLimits) -> html.Div:
    """Return a row for each user; unlike the board it is not redrawn, so that nothing typed is lost."""
    default = "no limit" if limits.default is None else f"{limits.default:,} (set on the server)"
    rows = [
        row(
            html.Div(each.user, className="queue-owner", title=each.user),
            cell(f"{each.running:,}", "number"),
            cell(f"{each.waiting:,}", "number"),
            dmc.NumberInput(
                id={"type": "queue-limit", "user": each.user},
                value="" if each.max_running is None else each.max_running,
                placeholder=default,
                min=0,
                max=100_000,
                allowDecimal=False,
                allowNegative=False,
                debounce=True,
                size="xs",
                w=200,
                **attributes(aria_label=f"Most runs of {each.user} at a time"),
            ),
        )
        for each in limits.items
    ]
    return html.Div(
        [
            section_title("Limits per user"),
            table_card(("User", "On workers", "Waiting", "Most at a time"), rows, "limits-table"),
            Store(id="queue-limits", data={each.user: each.max_running for each in limits.items}),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Register the callback that sets a limit as soon as it is typed."""

    @app.callback(
        Output("queue-limits", "data"),
        Input({"type": "queue-limit", "user": ALL}, "value"),
        State("queue-limits", "data"),
        prevent_initial_call=True,
        on_error=in_toast("Limit not changed"),
    )
    async def change(_: Any, known: dict[str, int | None]) -> Any:
        user, value = ctx.triggered_id["user"], ctx.triggered[0]["value"]
        most = None if value in ("", None) else int(value)
        if most == known.get(user):
            # The page has been opened.
            raise PreventUpdate
        await api.client().set_limit(user, LimitChange(max_running=most))
        held = "the server's limit" if most is None else f"at most {most:,} at a time"
        tell(f"{user}: {held}.", "Limit changed")
        return {**known, user: most}
