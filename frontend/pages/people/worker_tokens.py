"""The workers' tokens, for administrators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, State, html, no_update

from bapo.api.accounts import WorkerTokenCreate
from bapo.client import ApiError
from frontend.components.confirm import ask_when_pressed, confirm_dialog, when_agreed
from frontend.components.one_time_secret import one_time_secret
from frontend.components.refusals import at_fields
from frontend.components.tokens import EXPIRIES, token_table
from frontend.session import Api

KIND = "worker-token"


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """All that are valid, and a form for a new one."""
    tokens = (await api.client().worker_tokens()).items
    return html.Div(
        [
            dmc.Title("Workers' tokens", order=2, mb="xs"),
            dmc.Text(
                "A machine joins with `bapo worker --server ADDRESS --token TOKEN`. A worker's token opens nothing but "
                "the workers' own routes. One for each machine can be revoked alone.",
                size="sm",
                c="dimmed",
                mb="md",
            ),
            html.Section(
                [
                    html.Div(token_table(tokens, KIND), id="worker-tokens"),
                    dmc.Group(
                        [
                            dmc.TextInput(
                                id="worker-token-name", label="New token", placeholder="rack 3", value="", w=220
                            ),
                            dmc.Select(
                                id="worker-token-days",
                                label="Expires after",
                                value="",
                                data=[{"value": value, "label": label} for value, label in EXPIRIES],
                                allowDeselect=False,
                                w=130,
                            ),
                            dmc.Button("Make it", id="worker-token-submit"),
                        ],
                        align="flex-end",
                        gap="sm",
                        mt="md",
                    ),
                    html.Div(id="worker-token-made"),
                ],
                className="panel-card people-section",
            ),
            confirm_dialog("worker-token-revoke"),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Making and revoking."""

    @app.callback(
        Output("worker-tokens", "children"),
        Output("worker-token-made", "children"),
        Output("worker-token-name", "value"),
        Output("worker-token-name", "error"),
        Input("worker-token-submit", "n_clicks"),
        State("worker-token-name", "value"),
        State("worker-token-days", "value"),
        running=[(Output("worker-token-submit", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def make(clicks: int | None, name: str, days: str) -> Any:
        if not clicks:
            return (no_update,) * 4
        body = WorkerTokenCreate.model_construct(name=(name or "").strip(), expires_in_days=int(days) if days else None)
        client = api.client()
        try:
            made = await client.create_worker_token(body)
            rows = token_table((await client.worker_tokens()).items, KIND)
        except (ApiError, httpx.TransportError) as error:
            said, rest = at_fields(error, ("name",))
            return no_update, rest, no_update, said[0]
        note = "Give it to `bapo worker`, best as the variable BAPO_WORKER_TOKEN. It is not shown again."
        return rows, one_time_secret(f"Token {made.name}", made.secret, note), "", ""

    ask_when_pressed(
        app,
        "worker-token-revoke",
        title="Revoke this workers' token?",
        text="Workers that use it are refused from now on: what they train is lost to the server and continued "
        "by other workers. It cannot be brought back.",
        button="Revoke it",
    )

    outputs = [Output(part, "children", allow_duplicate=True) for part in ("worker-tokens", "worker-token-made")]

    @when_agreed(app, "worker-token-revoke", outputs)
    async def revoke(token_id: str) -> Any:
        client = api.client()
        await client.revoke_worker_token(token_id)
        return token_table((await client.worker_tokens()).items, KIND), ""
