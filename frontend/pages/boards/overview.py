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
from frontend.components.card import new_button, page_heading
from frontend.components.choices import choices, project_select, select, writable_projects
from frontend.components.dialogs import form_dialog
from frontend.components.elements import Link
from frontend.components.notices import notice
from frontend.components.page import Page
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.request.session import Api

_EXAMPLES = "method = bapo, grpo · config.method.c1 >= 0.25 · name ~ wide · tags ~ paper · group = sweep-3"


def conditions_field(identifier: Any, label: str) -> dmc.TagsInput:
    """Return the conditions, each as the run list writes it after `where=`."""
    return dmc.TagsInput(
        id=identifier,
        label=label,
        description="Conditions that all hold, each ended with Enter, as the run list writes them; empty: all runs",
        placeholder=_EXAMPLES,
        value=[],
        # A condition may hold commas.
        splitChars=[],
        acceptValueOnBlur=True,
    )


_HEADS = ("Board", "Project", "Panels", "Links", "Changed", "By")
_TEMPLATES = (("", "An empty board"), (AS_THE_PAPER, "As the paper: its figures and tables, of these runs"))


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
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
        select("board-new-template", "Begin with", "", choices(_TEMPLATES)),
        conditions_field("board-new-where", "Runs of the board"),
    )
    return form_dialog("board-new", "New board", fields, "Make the board")


PAGES = (Page("/boards", layout, section="boards"),)


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
