"""Callbacks that ask the server: run, guarded against presses that were none, and their failures shown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from dash import ALL, Dash, Output, State, html
from fastapi import FastAPI
from pydantic import ValidationError

from bapo.api.base import ErrorBody
from bapo.api.webhooks import WebhookWrite
from bapo.client import ApiError
from frontend.components.actions import FormError, in_place, in_toast, when_pressed, when_submitted
from frontend.components.elements import pressed_in

FIELDS = {"name": "form-name", "url": "form-url"}


def refusal(field: str | None = None) -> ApiError:
    return ApiError(422, ErrorBody(code="invalid", field=field, value=3, remedy="give less", request_id="r1"))


def test_what_is_wrong_with_a_body_stands_at_its_fields_in_our_words() -> None:
    with pytest.raises(ValidationError) as caught:
        WebhookWrite.model_validate({"name": "", "url": "https://example.org", "events": ["run.lost", "run.gone"]})
    fields = FormError.of(caught.value).fields
    assert fields["name"] == "is empty: fill it in"
    # An item stands at its list.
    assert fields["events"].startswith("must be 'run.queued', 'run.starting'")
    assert set(fields) == {"name", "events"}


class Pages:
    """A Dash app with one form and one list of buttons, which do what the test says."""

    def __init__(self) -> None:
        self.outcome: Any = None
        self.seen: list[Any] = []
        server: Any = FastAPI()
        self.app = Dash("pages", backend="fastapi", server=server, on_error=in_toast("Default"))
        self.app.layout = html.Div()
        states = [State("form-name", "value")]

        @when_submitted(
            self.app, "save", fields=FIELDS, problem="problem", states=states, outputs=[Output("made", "data")]
        )
        async def save(name: str) -> Any:
            self.seen.append(name)
            return self._do()

        @when_pressed(self.app, {"type": "end", "id": ALL}, on_error=in_place("list"))
        async def end(pressed: dict[str, str]) -> None:
            self.seen.append(pressed["id"])
            self._do()

        @when_pressed(self.app, "all", pressed_in("row"))
        async def take(pressed: Any) -> None:
            self.seen.append(pressed)

        @when_pressed(self.app, "plain")
        async def plain(_: str) -> None:
            self._do()

        untyped: Any = self.app
        untyped._setup_server()
        self.server = server

    def _do(self) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    async def _post(self, body: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.server)
        async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
            return await client.post("/_dash-update-component", json=body)

    def save(self, clicks: int | None) -> httpx.Response:
        """Press the form's button."""
        output = {"id": "made", "property": "data"}
        return self._press(
            "made.data", output, "save", clicks, [{"id": "form-name", "property": "value", "value": "x"}]
        )

    def _press(self, output: str, outputs: Any, button: Any, clicks: int | None, state: list[Any]) -> httpx.Response:
        pressed = {"id": button, "property": "n_clicks", "value": clicks}
        body = {
            "output": output,
            "outputs": outputs,
            "inputs": [pressed],
            "changedPropIds": [f"{button}.n_clicks"],
            "state": state,
        }
        return asyncio.run(self._post(body))

    def take(self, **values: Any) -> httpx.Response:
        """Press the button `all`, or one of a list that is redrawn, which writes into a store."""
        told = {"all": ("all", "n_clicks"), "row": ("row-button", "data")}
        inputs = [{"id": name, "property": part, "value": values.get(key)} for key, (name, part) in told.items()]
        output = next(key for key, each in self.app.callback_map.items() if "row-button" in str(each["inputs"]))
        changed = [".".join(told[key]) for key in values]
        body = {"output": output, "outputs": [], "inputs": inputs, "changedPropIds": changed, "state": []}
        return asyncio.run(self._post(body))

    def end(self, presses: dict[str, int | None]) -> httpx.Response:
        """Tell of the buttons of the list, as the browser does when the list is drawn or one is pressed."""
        inputs = [
            {"id": {"id": name, "type": "end"}, "property": "n_clicks", "value": clicks}
            for name, clicks in presses.items()
        ]
        changed = [f"{json.dumps(each['id'], separators=(',', ':'))}.n_clicks" for each in inputs]
        output = next(key for key, each in self.app.callback_map.items() if "end" in str(each["inputs"]))
        body = {"output": output, "outputs": [], "inputs": [inputs], "changedPropIds": changed, "state": []}
        return asyncio.run(self._post(body))


@pytest.fixture
def pages() -> Pages:
    return Pages()


def test_a_form_is_saved_and_its_marks_are_cleared(pages: Pages) -> None:
    pages.outcome = {"id": 1}
    answer = pages.save(1).json()
    assert pages.seen == ["x"]
    assert answer["response"] == {"made": {"data": {"id": 1}}}
    assert answer["sideUpdate"] == {
        "form-name": {"error": ""},
        "form-url": {"error": ""},
        "problem": {"children": ""},
    }


def test_nothing_is_done_without_a_press(pages: Pages) -> None:
    assert pages.save(None).status_code == 204
    assert pages.seen == []


def test_a_refusal_stands_at_its_field(pages: Pages) -> None:
    pages.outcome = refusal("url")
    answer = pages.save(1).json()
    assert answer["response"] == {}
    assert answer["sideUpdate"]["form-url"] == {"error": "give less"}
    assert answer["sideUpdate"]["form-name"] == {"error": ""}
    assert answer["sideUpdate"]["problem"] == {"children": ""}


def test_a_refusal_of_no_field_stands_below_with_its_request(pages: Pages) -> None:
    pages.outcome = refusal("owner")
    alert = pages.save(1).json()["sideUpdate"]["problem"]["children"]
    assert alert["props"]["children"] == "owner = 3: give less (request r1)"


def test_a_server_that_is_away_is_said_below_the_form(pages: Pages) -> None:
    pages.outcome = httpx.ConnectError("gone")
    alert = pages.save(1).json()["sideUpdate"]["problem"]["children"]
    assert alert["props"]["children"].startswith("The server does not answer.")


def test_what_was_typed_wrongly_is_marked_without_asking_the_server(pages: Pages) -> None:
    pages.outcome = FormError(name="give a name")
    assert pages.save(1).json()["sideUpdate"]["form-name"] == {"error": "give a name"}


def test_the_pressed_button_of_a_list_is_named(pages: Pages) -> None:
    assert pages.end({"a": None, "b": None}).status_code == 204
    pages.end({"b": 1})
    assert pages.seen == ["b"]


def test_what_a_button_wrote_into_its_store_is_taken(pages: Pages) -> None:
    assert pages.take(row=None).status_code == 204
    pages.take(row={"id": 7, "at": 1})
    pages.take(all=1)
    assert pages.seen == [{"id": 7, "at": 1}, "all"]


def test_a_failure_stands_where_the_callback_says(pages: Pages) -> None:
    pages.outcome = refusal()
    update = pages.end({"b": 1}).json()["sideUpdate"]
    assert update["list"]["children"]["props"]["children"] == "give less (request r1)"


def test_our_own_errors_are_not_hidden(pages: Pages) -> None:
    pages.outcome = KeyError("ours")
    assert pages.save(1).status_code == 500
