"""Callbacks that ask the server for something, and what a call that failed shows.

A callback says with `on_error` what a failure shows; one that says nothing shows a message in the corner, which is the
app's own `on_error`. What happened is written with `set_props`, so that a callback names only the outputs that Dash has
to know of: components whose own callbacks begin with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ClientsideFunction, Dash, Input, Output, State, ctx, set_props
from dash.exceptions import PreventUpdate
from pydantic import ValidationError

from bapo.client import ApiError
from bapo.config.error_messages import problems_said
from frontend.components.notices import error_text, toast
from frontend.request.calls import refusing_other_types

Failure = ApiError | httpx.TransportError
FAILURES = (ApiError, httpx.TransportError)
"""The server refuses, or does not answer."""

OnError = Callable[[Exception], Any]
Act = Callable[..., Awaitable[Any]]


class FormError(Exception):
    """The input cannot be sent, by field; shown like a refusal of the server."""

    def __init__(self, **fields: str) -> None:
        super().__init__(fields)
        self.fields = fields

    @classmethod
    def of(cls, error: ValidationError) -> FormError:
        """Return the problems of a form's body; problems of an item are shown at its list."""
        found = {_without_places(problem.field): problem.remedy for problem in problems_said(error.errors())}
        return cls(**found)


def _without_places(path: str) -> str:
    return ".".join(part for part in path.split(".") if not part.isdigit())


def on_failure(show: Callable[[Failure], Any]) -> OnError:
    """Return an `on_error` that shows a failed call and leaves the outputs as they are; any other error is our bug."""

    def handle(error: Exception) -> Any:
        if not isinstance(error, FAILURES):
            raise error
        return show(error)

    return handle


def tell(message: str, title: str, colour: str = "green") -> None:
    """Show a passing message in the corner."""
    set_props("notifications", {"sendNotifications": toast(message, title=title, colour=colour)})


def show(identifier: str, children: Any) -> None:
    """Replace the content of a component whose parts have no callbacks that must begin with them."""
    set_props(identifier, {"children": children})


def go_to(address: str) -> None:
    """Open another page, or the same one with another query.

    Not an output: Dash calls what has the address as its output whenever its buttons appear, also unpressed.
    """
    set_props("url", {"href": address})


def failure_alert(error: Failure, colour: str = "red", **properties: Any) -> dmc.Alert:
    """Return what went wrong, as a part of a page."""
    return dmc.Alert(error_text(error), color=colour, variant="light", **properties)


def in_toast(title: str = "That did not work") -> OnError:
    """Show a failure in the corner."""
    return on_failure(lambda error: tell(error_text(error), title, "red"))


def in_place(identifier: str, colour: str = "yellow") -> OnError:
    """Return an `on_error` that replaces a component's content with the failure."""
    return on_failure(lambda error: show(identifier, failure_alert(error, colour)))


unchanged: OnError = on_failure(lambda _: None)
"""A failure is not shown: what the page has stays, and the banner says how old it is."""


def at_fields(fields: Mapping[str, str], problem: str) -> OnError:
    """Return an `on_error` that shows each problem at its input, and all others at `problem`.

    `fields`: the API's name of each field → the identifier of its input.
    """

    def handle(error: Exception) -> None:
        if not isinstance(error, FormError | ApiError | httpx.TransportError):
            raise error
        found = _by_field(error)
        for field, identifier in fields.items():
            set_props(identifier, {"error": found.get(field, "")})
        is_placed = isinstance(error, FormError) or any(field in found for field in fields)
        show(problem, "" if is_placed or isinstance(error, FormError) else failure_alert(error))

    return handle


def _by_field(error: FormError | Failure) -> Mapping[str, str]:
    if isinstance(error, FormError):
        return error.fields
    if not isinstance(error, ApiError):
        return {}
    found = {problem.field: problem.remedy for problem in error.body.problems}
    return found | ({error.body.field: error.body.remedy} if error.body.field else {})


def when_pressed(
    app: Dash,
    *buttons: Any,
    outputs: Sequence[Output] = (),
    states: Sequence[State] = (),
    on_error: OnError | None = None,
    busy: str | None = None,
) -> Callable[[Act], Act]:
    """Do this when one of the buttons is pressed: it takes what was pressed and the states, and returns outputs.

    A button is an identifier, which is what is taken; or an `Input`, whose data are taken if it has some (see
    `pressed_in`). The button `busy` turns meanwhile.
    """
    inputs = [each if isinstance(each, Input) else Input(each, "n_clicks") for each in buttons]

    def register(act: Act) -> Act:
        take = refusing_other_types(act)

        @app.callback(
            *outputs,
            *inputs,
            *states,
            running=[(Output(busy, "loading"), True, False)] if busy else None,
            prevent_initial_call=True,
            on_error=on_error,
        )
        async def pressed(*values: Any) -> Any:
            # A list that is redrawn reports its buttons too, unpressed.
            if not any(each["value"] for each in ctx.triggered):
                raise PreventUpdate
            return await take(_pressed(), *values[len(inputs) :])

        return act

    return register


def _pressed() -> Any:
    data = (each["value"] for each in ctx.triggered if each["prop_id"].endswith(".data"))
    return next(data, ctx.triggered_id)


def when_submitted(
    app: Dash,
    button: str,
    *,
    fields: Mapping[str, str],
    problem: str,
    states: Sequence[State],
    outputs: Sequence[Output] = (),
) -> Callable[[Act], Act]:
    """Do this when a form's button is pressed: it takes the states and returns the outputs.

    Problems are shown at the fields (see `at_fields`) until the next press.
    """

    def register(act: Act) -> Act:
        take = refusing_other_types(act)

        @when_pressed(app, button, outputs=outputs, states=states, on_error=at_fields(fields, problem), busy=button)
        async def submitted(_: Any, *values: Any) -> Any:
            for identifier in fields.values():
                set_props(identifier, {"error": ""})
            show(problem, "")
            return await take(*values)

        return act

    return register


def open_when_pressed(app: Dash, button: str, dialog: str) -> None:
    """Open the dialog when the button is pressed."""

    @when_pressed(app, button)
    async def open_it(_: Any) -> None:
        set_props(dialog, {"opened": True})


def clientside(app: Dash, namespace: str, function: str, *dependencies: Any, initial: bool = True) -> None:
    """Run `dash_clientside[namespace][function]` with the inputs and states, into the outputs."""
    untyped: Any = app
    untyped.clientside_callback(
        ClientsideFunction(namespace, function), *dependencies, prevent_initial_call=not initial
    )
