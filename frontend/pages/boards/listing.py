"""All boards by name, and the dialog that makes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, State, html
from pydantic import ValidationError

from bapo.analysis.number_format import counted
from bapo.api.boards import AS_THE_PAPER, BoardCreate, BoardSummary
from frontend.components.actions import FormError, go_to, open_when_pressed, when_submitted
from frontend.components.address import Link
from frontend.components.card import new_button, page_heading
from frontend.components.choices import choices, project_select
from frontend.components.dialog import form_dialog
from frontend.components.moment import moment
from frontend.components.notices import notice
from frontend.components.table import cell, row, table_card
from frontend.pages.boards.fields import conditions_field
from frontend.projects import writable_projects
from frontend.session import Api

_HEADS = ("Board", "Project", "Panels", "Links", "Changed", "By")
_TEMPLATES = (("", "An empty board"), (AS_THE_PAPER, "As the paper: its figures and tables, of these runs"))


async def list_layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the list; while it is empty, what a board is."""
    client = api.client()
    found, me = await client.boards(), await client.me()
    projects = writable_projects(me)
    new = new_button("New board", "board-new", size="sm") if projects else None
    if found.items:
        now = datetime.now(UTC)
        content: Any = table_card(
            _HEADS, [_row(each, now) for each in found.items], "board-list row-hover", least_width=640
        )
    else:
        content = notice(
            "No board yet",
            "A board holds charts, texts with live numbers and the paper's figures, of the runs that its filters find: "
            "it follows them, and can be shared by a read-only link or exported as one HTML file.",
            icon_name="board",
            action=new,
        )
    dialog = [_dialog(projects)] if projects else []
    return html.Div([page_heading("Boards", None, new if found.items else None), content, *dialog])


def _row(board: BoardSummary, now: datetime) -> html.Tr:
    return row(
        Link(board.name, href=f"/boards/{board.id}", className="board-link"),
        board.project,
        cell(str(board.num_panels), "number"),
        cell(counted(board.num_links, "link") if board.num_links else "", "nowrap"),
        moment(board.updated_at, now=now),
        board.updated_by,
    )


def _dialog(projects: Sequence[str]) -> dmc.Modal:
    fields = (
        dmc.TextInput(id="board-new-name", label="Name", withAsterisk=True),
        project_select("board-new-project", projects),
        dmc.Select(
            id="board-new-template", label="Begin with", value="", data=choices(_TEMPLATES), allowDeselect=False
        ),
        conditions_field("board-new-where", "Runs of the board"),
    )
    return form_dialog("board-new", "New board", fields, "Make the board")


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of the dialog."""
    open_when_pressed(app, "board-new", "board-new-dialog")

    @when_submitted(
        app,
        "board-new-submit",
        fields={"name": "board-new-name", "filters.where": "board-new-where", "project": "board-new-project"},
        problem="board-new-problem",
        states=[State(f"board-new-{name}", "value") for name in ("name", "project", "template", "where")],
    )
    async def make(name: str | None, project: str | None, template: str | None, where: list[str] | None) -> None:
        try:
            body = BoardCreate.model_validate(
                {
                    **{"name": (name or "").strip(), "project": project, "template": template or None},
                    "filters": {"where": where or []},
                }
            )
        except ValidationError as error:
            raise FormError.of(error) from error
        go_to(f"/boards/{(await api.client().create_board(body)).id}")
