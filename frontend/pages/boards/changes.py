"""Changes to a board's panels, each made to its newest version, so that two people's changes are both kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dash import Dash, Input, Output, State, no_update, set_props

from bapo.api.boards import BoardChange, BoardInfo, Panel, PaperPanel
from bapo.client import ApiError, AsyncClient
from bapo.figures.board_chart import chart_title
from frontend.components.actions import clientside, go_to, when_pressed
from frontend.components.dialogs import Question, question, when_agreed, when_asked
from frontend.components.elements import pressed_in
from frontend.components.text import first_line
from frontend.request.session import Api

Change = Callable[[list[Panel]], list[Panel]]
MOST_OF_A_TEXT = 40
"""Characters of a text that it is called by."""
_TRIES = 3


async def change_board(client: AsyncClient, board_id: str, change: Change, **fields: Any) -> BoardInfo:
    """Apply a change to the newest version of the panels, and these fields of the board. Raises ApiError."""
    for left in reversed(range(_TRIES)):
        board = await client.board(board_id)
        body = BoardChange.model_validate(
            {
                **{"name": board.name, "filters": board.filters, "version": board.version, **fields},
                "panels": change(list(board.panels)),
            }
        )
        try:
            saved = await client.replace_board(board_id, body)
        except ApiError as error:
            # The board was saved in between: apply the change to that version.
            if error.body.code != "board_changed" or not left:
                raise
            continue
        set_props("board-poke", {"data": saved.version})
        return saved
    raise AssertionError("the last try returns or raises")


def place_of(panels: Sequence[Panel], panel_id: str) -> int | None:
    """Return the panel's position; None if it has been removed."""
    return next((index for index, each in enumerate(panels) if each.id == panel_id), None)


def name_of(panel: Panel) -> str:
    """Return what a panel is called in questions and labels."""
    if panel.kind == "chart":
        return chart_title(panel)
    if panel.kind == "paper":
        return "Paper figures"
    return first_line(panel.text)[:MOST_OF_A_TEXT] or "Text"


def moved(panels: list[Panel], panel_id: str, what: Mapping[str, Any]) -> list[Panel]:
    """Return the panels with one of them earlier, later, in the place of `target`, or in the other width."""
    at = place_of(panels, panel_id)
    if at is None:
        return panels
    panel = panels[at]
    if what["action"] == "width":
        if not isinstance(panel, PaperPanel):
            panels[at] = panel.model_copy(update={"width": "full" if panel.width == "half" else "half"})
        return panels
    target = {"earlier": at - 1, "later": at + 1}.get(what["action"])
    if target is None:
        target = place_of(panels, what["target"])
    if target is None or not 0 <= target < len(panels):
        return panels
    panels.insert(target, panels.pop(at))
    return panels


def register(app: Dash, api: Api) -> None:
    """Register moving, widening and removing panels, and deleting the board."""
    clientside(app, "boards", "poked", Output("board-state", "title"), Input("board-poke", "data"), initial=False)

    @when_pressed(
        app,
        pressed_in("board-tool"),
        outputs=[Output(question("board-remove"), "data")],
        states=[State("board-id", "data")],
    )
    async def act(what: Mapping[str, Any], board_id: str) -> Any:
        panel_id = what.get("panel", "")
        if what["action"] in ("earlier", "later", "swap", "width"):
            await change_board(api.client(), board_id, partial(moved, panel_id=panel_id, what=what))
        if what["action"] != "remove":
            return no_update
        return Question(
            title="Remove this panel?",
            subject=what["name"],
            text="It is removed from the board for everybody. Its runs are left as they are.",
            button="Remove the panel",
            data={"board": board_id, "panel": panel_id},
        )

    @when_agreed(app, "board-remove")
    async def remove(asked: Mapping[str, str]) -> None:
        def without(panels: list[Panel]) -> list[Panel]:
            return [each for each in panels if each.id != asked["panel"]]

        await change_board(api.client(), asked["board"], without)

    @when_asked(
        app,
        "board-delete",
        title="Delete this board?",
        text="The board and its read-only links are gone for good, for everybody. Its runs are left as they are.",
        button="Delete the board",
    )
    async def delete(board_id: str) -> None:
        await api.client().delete_board(board_id)
        go_to("/boards")
