"""Dialogs and drawers: forms with one button, panels that a callback fills, and questions to confirm.

Before what cannot be undone, a page asks: it puts `confirm_dialog(name)` into its layout and writes a `Question` into
`question(name)`, from a callback or with `set_props`. `when_agreed` runs what was asked about, and closes the dialog or
shows in it what went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict

import dash_mantine_components as dmc
from dash import ALL, MATCH, Dash, Input, Output, State, html, no_update
from dash.exceptions import PreventUpdate

from frontend.components.actions import Act, Failure, clientside, on_failure, when_pressed
from frontend.components.elements import Store
from frontend.components.notices import error_text
from frontend.request.calls import refusing_other_types


def form_dialog(name: str, title: str, fields: Iterable[Any], button: str, **properties: Any) -> dmc.Modal:
    """Return a closed dialog `NAME-dialog` with a form, its problems `NAME-problem`, and its button `NAME-submit`."""
    return dmc.Modal(_form(name, fields, button), id=f"{name}-dialog", title=title, centered=True, **properties)


def form_drawer(name: str, title: str, fields: Iterable[Any]) -> dmc.Drawer:
    """Return a closed drawer `NAME-drawer` with a form (see `form_dialog`).

    Its button stays at the lower edge: a preview that comes while it is pressed does not push it away.
    """
    return drawer(name, _form(name, fields, "Save"), title=title, className="form-drawer")


def drawer(name: str, *content: Any, title: str = "", size: str = "lg", **properties: Any) -> dmc.Drawer:
    """Return a closed drawer `NAME-drawer` at the right edge."""
    return dmc.Drawer(list(content), id=f"{name}-drawer", position="right", size=size, title=title, **properties)


def _form(name: str, fields: Iterable[Any], button: str) -> dmc.Stack:
    submit = dmc.Group([dmc.Button(button, id=f"{name}-submit")], justify="flex-end")
    foot = dmc.Stack([html.Div(id=f"{name}-problem"), submit], gap="sm", className="form-foot")
    return dmc.Stack([*fields, foot], gap="sm")


class Question(TypedDict, total=False):
    """A question to confirm; `data` is handed to what runs afterwards."""

    title: str
    subject: str
    """Name of the object that the question is about."""
    text: str
    """Consequences, and what cannot be undone."""
    button: str
    colour: str
    """Colour of the button; red if absent."""
    typed: str
    """To be typed before the button works; nothing where it is left out."""
    data: Any


def question(name: str) -> dict[str, str]:
    """Return the identifier of the store that a page writes its question into."""
    return {"type": "confirm-question", "name": name}


def confirmed(name: str) -> dict[str, str]:
    """Return the identifier of the button that agrees."""
    return {"type": "confirm-yes", "name": name}


def answer(name: str) -> dict[str, str]:
    """Return the identifier of the store for what came of it: `DONE`, or `failed(text)`."""
    return {"type": "confirm-answer", "name": name}


DONE: dict[str, str] = {}
"""It has been done: the dialog closes."""


def failed(text: str) -> dict[str, str]:
    """Return the outcome of a failure: the dialog stays open and shows the text."""
    return {"error": text}


def busy(name: str) -> list[tuple[Output, bool, bool]]:
    """Return `running` of the callback that does it: the button turns meanwhile, and cannot be pressed again."""
    return [(Output(confirmed(name), "loading"), True, False)]


def confirm_dialog(name: str, *, keep: str = "Keep it", choices: Any = None) -> html.Div:
    """Return the dialog, closed until something is asked; `choices` are shown between the text and the buttons."""

    def part(kind: str) -> dict[str, str]:
        return {"type": f"confirm-{kind}", "name": name}

    return html.Div(
        [
            Store(id=question(name)),
            Store(id=answer(name)),
            dmc.Modal(
                dmc.Stack(
                    [
                        html.Div(id=part("subject"), className="confirm-subject"),
                        dmc.Text(id=part("text"), size="sm"),
                        *([choices] if choices is not None else []),
                        dmc.TextInput(id=part("typed"), value="", size="sm", style={"display": "none"}),
                        html.Div(id=part("error"), className="confirm-error", role="alert"),
                        dmc.Group(
                            [
                                dmc.Button(keep, id=part("no"), variant="default", color="gray"),
                                dmc.Button("", id=confirmed(name), color="red"),
                            ],
                            justify="flex-end",
                        ),
                    ]
                ),
                id=part("dialog"),
                title="",
                centered=True,
                opened=False,
            ),
        ]
    )


def register(app: Dash) -> None:
    """Register opening, typing, keeping and closing of every dialog on every page; it all happens in the browser."""

    def part(kind: str) -> dict[str, Any]:
        return {"type": f"confirm-{kind}", "name": MATCH}

    in_browser = partial(clientside, app, "confirm", initial=False)
    asked, dialog = part("question"), part("dialog")
    in_browser(
        "ask",
        Output(dialog, "opened"),
        Output(dialog, "title"),
        Output(part("subject"), "children"),
        Output(part("text"), "children"),
        Output(part("yes"), "children"),
        Output(part("yes"), "color"),
        Output(part("typed"), "label"),
        Output(part("typed"), "style"),
        Output(part("typed"), "value"),
        Output(part("error"), "children"),
        Input(asked, "data"),
    )
    in_browser("typed", Output(part("yes"), "disabled"), Input(part("typed"), "value"), Input(asked, "data"))
    in_browser("keep", Output(dialog, "opened", allow_duplicate=True), Input(part("no"), "n_clicks"))
    in_browser(
        "answered",
        Output(dialog, "opened", allow_duplicate=True),
        Output(part("error"), "children", allow_duplicate=True),
        Input(part("answer"), "data"),
        State(asked, "data"),
    )


def when_agreed(
    app: Dash, name: str, outputs: Sequence[Output] = (), states: Sequence[State] = ()
) -> Callable[[Act], Act]:
    """Register what to do after agreement: it takes the question's data and the states, and returns the outputs.

    If the server refuses or does not answer, the dialog stays open and says so.
    """

    def refused(error: Failure) -> Any:
        text = failed(error_text(error))
        return [text, *[no_update] * len(outputs)] if outputs else text

    def register_act(act: Act) -> Act:
        take = refusing_other_types(act)

        @app.callback(
            Output(answer(name), "data"),
            *outputs,
            Input(confirmed(name), "n_clicks"),
            State(question(name), "data"),
            *states,
            running=busy(name),
            prevent_initial_call=True,
            on_error=on_failure(refused),
        )
        async def agreed(clicks: int | None, asked: Mapping[str, Any] | None, *values: Any) -> Any:
            if not clicks:
                raise PreventUpdate
            given = await take((asked or {}).get("data"), *values)
            return [DONE, *given] if outputs else DONE

        return act

    return register_act


def when_asked(
    app: Dash, name: str, *, title: str, text: str, button: str, colour: str = "red", sign: str = ""
) -> Callable[[Act], Act]:
    """Ask this when a button `{"type": name, "id": …, "name": …}` is pressed; do it, with its id, once agreed.

    The question is about the button's name, preceded by `sign`.
    """

    @when_pressed(app, {"type": name, "id": ALL, "name": ALL}, outputs=[Output(question(name), "data")])
    async def ask(pressed: Mapping[str, str]) -> Question:
        subject = sign + pressed["name"]
        return Question(title=title, subject=subject, text=text, button=button, colour=colour, data=pressed["id"])

    return when_agreed(app, name)
