"""The tab Try it: a message to the run's models, before and after training, and their answers side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html
from dash.exceptions import PreventUpdate
from pydantic import ValidationError

from bapo.analysis.number_format import counted
from bapo.api.chats import MAX_ANSWER_TOKENS, ChatCreate, ChatPage
from bapo.api.prompts import PromptPage
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.run.chat_sides import ChatSide
from frontend.components.actions import FormError, clientside, in_toast, tell, unchanged, when_pressed, when_submitted
from frontend.components.card import card
from frontend.components.choices import choices
from frontend.components.elements import Store, attributes, button_store, pressed_in
from frontend.request.session import Api

CHAT = "chat"
"""Names the buttons that delete a message."""
SIDE_NAMES: Mapping[ChatSide, str] = {
    "base": "Base model",
    "warm_start": "Warm start",
    "trained": "Newest checkpoint",
}
PROMPTS_OFFERED = 200
LABEL_LETTERS = 90
FIELDS = {
    "prompt": "chat-prompt",
    "sides": "chat-sides",
    "max_tokens": "chat-tokens",
    "temperature": "chat-temperature",
    "seed": "chat-seed",
}


async def chat_panel(client: AsyncClient, run: RunDetail, query: Mapping[str, str]) -> html.Div:
    """Return the form and a place for the answers, which the browser fetches (assets/run_chat.js)."""
    wanted = query.get("prompt")
    page, prompts = await asyncio.gather(client.chats(run.id), client.prompts(run.id, limit=PROMPTS_OFFERED))
    text = (await client.prompt(run.id, wanted)).text if wanted else None
    return html.Div(
        [
            Store(id="chat-mounted", data=run.id),
            Store(id="chat-sink"),
            Store(id="chat-asked"),
            Store(id="chat-deleted"),
            button_store(CHAT),
            _form(page, prompts, wanted, text or ""),
            html.Div(
                html.Div(className="skeleton-card"),
                id="chats",
                className="panel-stack",
                **attributes(data_run=run.id, aria_live="polite"),
            ),
        ],
        className="panel-stack",
    )


def _form(page: ChatPage, prompts: PromptPage, wanted: str | None, text: str) -> html.Section:
    """Return the inputs, or why nothing can be asked."""
    if page.refusal is not None:
        alert = dmc.Alert(f"The models cannot be asked: {page.refusal}.", color="gray", variant="light")
        return card(alert, title="Ask the run's models")
    return card(
        dmc.Stack(
            [
                _picker(prompts, wanted),
                dmc.Textarea(
                    id="chat-prompt",
                    label="Message",
                    description="Asked in the models' chat template. A problem of the run's task is verified too.",
                    value=text,
                    autosize=True,
                    minRows=2,
                    maxRows=12,
                ),
                html.Div([_sides(page.sides), *_sampling()], className="chat-settings"),
                html.Div(id="chat-problem"),
                html.Div(
                    [
                        dmc.Button("Ask", id="chat-ask", className="for-members"),
                        html.Span(_speed(page.num_training), className="panel-hint"),
                    ],
                    className="chat-ask",
                ),
            ],
            gap="sm",
        ),
        title="Ask the run's models",
    )


def _picker(prompts: PromptPage, wanted: str | None) -> dmc.Select:
    """Return the select of the run's prompts; hidden before there are any."""
    offered = [(each.prompt_id, _label(each.text or each.prompt_id)) for each in prompts.items]
    return dmc.Select(
        id="chat-pick",
        label="Prompt of the run",
        placeholder="Fills in the message",
        data=choices(offered),
        value=wanted if wanted in dict(offered) else None,
        searchable=True,
        clearable=True,
        limit=50,
        style={} if offered else {"display": "none"},
    )


def _label(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LABEL_LETTERS else f"{line[: LABEL_LETTERS - 1]}…"


def _sides(offered: Sequence[ChatSide]) -> dmc.CheckboxGroup:
    boxes = [dmc.Checkbox(label=SIDE_NAMES[side], value=side, size="sm") for side in offered]
    return dmc.CheckboxGroup(
        dmc.Group(boxes, gap="md", mt=6), id="chat-sides", label="Models", value=list(offered), className="chat-sides"
    )


def _sampling() -> list[dmc.NumberInput]:
    return [
        dmc.NumberInput(
            id="chat-temperature", label="Temperature", value=0, min=0, max=10, step=0.1, decimalScale=3, w=120
        ),
        dmc.NumberInput(
            id="chat-tokens", label="Max tokens", value=256, min=1, max=MAX_ANSWER_TOKENS, allowDecimal=False, w=120
        ),
        dmc.NumberInput(id="chat-seed", label="Seed", value=0, min=0, allowDecimal=False, w=120),
    ]


def _speed(num_training: int) -> str:
    where = "The models answer one after the other, on the CPU of the worker that holds the run's folder"
    if not num_training:
        return f"{where}."
    return f"{where}. It is training {counted(num_training, 'run')}: meanwhile they take one thread at low priority."


# ---------------------------------------------------------------- what reacts


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: taking a prompt, asking, deleting; the answers are the script's."""
    clientside(
        app,
        "chat",
        "show",
        Output("chat-sink", "data"),
        Input("chat-mounted", "data"),
        Input("chat-asked", "data"),
        Input("chat-deleted", "data"),
    )

    @app.callback(
        Output("chat-prompt", "value"),
        Input("chat-pick", "value"),
        State("run-id", "data"),
        prevent_initial_call=True,
        on_error=unchanged,
    )
    async def take_prompt(prompt_id: str | None, run_id: str) -> str:
        if prompt_id is None:
            raise PreventUpdate
        return (await api.client().prompt(run_id, prompt_id)).text or ""

    @when_submitted(
        app,
        "chat-ask",
        fields=FIELDS,
        problem="chat-problem",
        outputs=[Output("chat-asked", "data")],
        states=[State("run-id", "data"), *(State(identifier, "value") for identifier in FIELDS.values())],
    )
    async def ask(run_id: str, *values: Any) -> str:
        # An input that was emptied keeps the default.
        given = {field: value for field, value in zip(FIELDS, values, strict=True) if value not in ("", None)}
        try:
            body = ChatCreate.model_validate({"prompt": "", **given})
        except ValidationError as error:
            raise FormError.of(error) from error
        return (await api.client().create_chat(run_id, body)).id

    @when_pressed(
        app,
        pressed_in(CHAT),
        outputs=[Output("chat-deleted", "data")],
        states=[State("run-id", "data")],
        on_error=in_toast("Not deleted"),
    )
    async def delete(pressed: Mapping[str, Any], run_id: str) -> str:
        await api.client().delete_chat(run_id, pressed["delete"])
        tell("The message and its answers are gone.", "Deleted")
        return str(pressed["delete"])
