"""Puts entries on a list and takes them off: from a file, one by one, and those that are ticked."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Dash, Input, State, html
from dash.exceptions import PreventUpdate

from bapo.analysis.number_format import counted
from bapo.api.prompt_lists import PromptEntry, PromptListChange
from bapo.config.prompt_weights import parse_weight
from bapo.files.prompt_lists import read_entries
from frontend.components.actions import go_to, in_place, show, tell, when_pressed
from frontend.components.controls import search_field
from frontend.components.elements import FileInput
from frontend.components.icon import icon
from frontend.components.prompts import picked_of, picks
from frontend.request.session import Api

MOST_BYTES = 8_000_000
PICK = "list-pick"
FILE_HINT = "A CSV file with the column prompt_id, and action (quarantine or weight), weight and note if given."


def entry_form() -> html.Div:
    """Return the search, the upload, and the button for what is ticked."""
    return html.Div(
        [
            dmc.Group(
                [
                    search_field("list-search", "Search the list", "", "Identifier or note contains …", w=230),
                    FileInput(
                        dmc.Button("Add from a CSV file…", leftSection=icon("plus", 14), size="xs", variant="default"),
                        id="list-file",
                        accept=".csv,.txt",
                        max_size=MOST_BYTES,
                    ),
                    dmc.Button("Take off what is ticked", id="list-drop", size="xs", variant="subtle", color="red"),
                    html.Span(FILE_HINT, className="queue-detail"),
                ],
                gap="sm",
                mb="xs",
            ),
            html.Div(id="list-problem", role="status"),
        ]
    )


def entries_of(name: str, contents: str) -> list[PromptEntry]:
    """Return the entries of an uploaded file, as the browser sends it. Raises ValueError that says what is wrong."""
    try:
        given = base64.b64decode(contents.partition(",")[2], validate=True)
        text = given.decode("utf-8-sig")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError(f"{name} is no text in UTF-8: save it as CSV (UTF-8) and choose it again") from None
    return [
        PromptEntry(prompt_id=each.prompt_id, weight=parse_weight(each.weight), note=each.note[:1_000])
        for each in read_entries(io.StringIO(text, newline=""), name)
    ]


def register(app: Dash, api: Api) -> None:
    """Register the upload, the search, and what takes entries off."""

    @app.callback(
        Input("list-file", "contents"),
        State("list-file", "filename"),
        State("list-mounted", "data"),
        prevent_initial_call=True,
        on_error=in_place("list-problem", "red"),
    )
    async def upload(contents: str | None, name: str, mounted: Mapping[str, str]) -> None:
        if not contents:
            raise PreventUpdate
        try:
            change = PromptListChange(set=entries_of(name, contents))
        except ValueError as error:
            show("list-problem", dmc.Alert(str(error), color="red", variant="light", mb="sm"))
            return
        changed = await api.client().change_prompt_list(mounted["id"], change)
        tell(f"{counted(len(change.set), 'prompt')}: version {changed.version} now.", "Saved")
        go_to(f"/prompt-lists/{changed.id}?version={changed.version}")

    @when_pressed(
        app, Input("list-search", "n_submit"), states=[State("list-search", "value"), State("list-mounted", "data")]
    )
    async def search(_: Any, text: str, mounted: Mapping[str, str]) -> None:
        found = (text or "").strip()[:200]
        go_to(f"/prompt-lists/{mounted['id']}" + (f"?{urlencode({'search': found})}" if found else ""))

    @when_pressed(
        app,
        "list-drop",
        states=[
            *picks(PICK),
            State("list-mounted", "data"),
        ],
        on_error=in_place("list-problem", "red"),
    )
    async def drop(
        _: Any, ticked: Sequence[bool | None], ids: Sequence[Mapping[str, str]], mounted: Mapping[str, str]
    ) -> None:
        chosen = picked_of(ticked, ids)
        if not chosen:
            show("list-problem", dmc.Alert("Tick some entries first.", color="yellow", variant="light", mb="sm"))
            return
        changed = await api.client().change_prompt_list(mounted["id"], PromptListChange(remove=chosen))
        tell(f"{counted(len(chosen), 'prompt')} taken off: version {changed.version} now.", "Saved")
        go_to(f"/prompt-lists/{changed.id}?version={changed.version}")
