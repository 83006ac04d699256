"""How many runs each person may have on workers at a time; administrators change it."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.queue import LimitChange, UserLimits
from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.notices import error_text, toast
from frontend.session import Api


def limits_panel(limits: UserLimits) -> html.Div:
    """A row for each person; the board is drawn anew meanwhile, and this is not, so that nothing typed is lost."""
    default = "no limit" if limits.default is None else f"{limits.default:,} (as the server is set)"
    head = ("Person", "Runs on workers", "Waiting", "Most at a time")
    rows = [
        dmc.TableTr(
            [
                dmc.TableTd(html.Div(each.user, className="queue-owner", title=each.user)),
                dmc.TableTd(f"{each.running:,}", className="number"),
                dmc.TableTd(f"{each.waiting:,}", className="number"),
                dmc.TableTd(
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
                    )
                ),
            ]
        )
        for each in limits.items
    ]
    table = dmc.Table(
        [dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in head])), dmc.TableTbody(rows)],
        className="limits-table",
    )
    return html.Div(
        [
            html.H3("How much each person may run", className="section-title"),
            html.Div(dmc.ScrollArea(table, type="auto"), className="panel-card"),
            dcc.Store(id="queue-limits", data={each.user: each.max_running for each in limits.items}),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """A limit holds as soon as it is typed."""

    @app.callback(
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("queue-limits", "data"),
        Input({"type": "queue-limit", "user": ALL}, "value"),
        State("queue-limits", "data"),
        prevent_initial_call=True,
    )
    async def change(_: Any, known: dict[str, int | None]) -> Any:
        trigger: Any = ctx.triggered_id
        user, value = trigger["user"], ctx.triggered[0]["value"]
        most = None if value in ("", None) else int(value)
        if most == known.get(user):
            # The page has been opened.
            return no_update, no_update
        try:
            await api.client().set_limit(user, LimitChange(max_running=most))
        except (ApiError, httpx.TransportError) as error:
            return toast(error_text(error), title="The limit is not changed"), no_update
        held = "the server's limit" if most is None else f"at most {most:,} at a time"
        return toast(f"{user}: {held}.", title="Limit changed", colour="green"), {**known, user: most}
