"""The drawer that makes and changes a panel, and the dialog for the board's name and runs."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Output, State, html, no_update
from pydantic import TypeAdapter, ValidationError

from bapo.api.boards import BoardInfo, Panel
from bapo.api.runs import CONFIG_COLUMN, METRIC_COLUMN, RunFilters
from bapo.api.views import ViewInfo
from bapo.client import ApiError
from bapo.config.error_messages import said
from bapo.report.contents import names_of_sections
from frontend.components.actions import FormError, show, tell, when_pressed, when_submitted
from frontend.components.choices import choices, select
from frontend.components.dialogs import form_dialog, form_drawer
from frontend.components.elements import Store, pressed_in
from frontend.pages.boards.changes import change_board, name_of, place_of
from frontend.pages.boards.overview import conditions_field
from frontend.request.session import Api

_PANEL: TypeAdapter[Panel] = TypeAdapter(Panel)
_GROUPINGS = ("config", "run", "method.type", "group", "tags")
_KINDS = {"chart": "chart", "text": "text", "paper": "paper figures"}
_VALUES = ("title", "y", "x", "group", "smooth", "width", "text", "figures", "view", "where", "search")
_CHECKED = ("log_x", "log_y")
_OF_KIND: Mapping[str, frozenset[str]] = {
    "chart": frozenset({"title", "y", "x", "group", "smooth", "width", "log_x", "log_y"}),
    "text": frozenset({"text", "width"}),
    "paper": frozenset({"figures", "group"}),
}
_LOOKS = {
    "chart": "board-drawer kind-chart",
    "text": "board-drawer kind-text",
    "paper": "board-drawer kind-paper",
}
_SYNTAX = (
    "Markdown. Put a number that follows the runs in double braces: {{last metric.critic/rewards/mean of method = "
    "bapo}}; last, max, min, mean or count; “; ” between conditions; “as percent” at the end."
)


def _id(name: str) -> str:
    return f"board-panel-{name}"


def panel_drawer(columns: Sequence[str], views: Sequence[ViewInfo]) -> dmc.Drawer:
    """Return the drawer, which is closed until a panel is added or edited."""
    metrics = [name.removeprefix(METRIC_COLUMN) for name in columns if name.startswith(METRIC_COLUMN)]
    fields = [name.removeprefix(CONFIG_COLUMN) for name in columns if name.startswith(CONFIG_COLUMN)]
    axes = ["step", "rollouts", "time", *(METRIC_COLUMN + key for key in sorted(metrics))]
    groupings = [*_GROUPINGS, *(name for name in sorted(fields) if name not in _GROUPINGS)]
    content = [
        Store(id="board-editing"),
        _of("of-chart", dmc.TextInput(id=_id("title"), label="Title", description="Empty: the metric's name")),
        _of("of-chart", _autocomplete("y", "Metric", "As the charts of a run name it", sorted(metrics))),
        _of("of-chart", _autocomplete("x", "Over", "step, rollouts, time, or another metric", axes)),
        _of(
            "of-chart of-paper",
            _autocomplete("group", "Group by", "config: everything but the seed; run: each alone", groupings),
        ),
        _of(
            "of-chart",
            dmc.NumberInput(
                id=_id("smooth"),
                label="Smooth",
                description="Mean of the last so many recorded values; 1: as recorded",
                value=1,
                min=1,
                max=999,
                allowDecimal=False,
            ),
            dmc.Group(
                [
                    dmc.Switch(id=_id("log_x"), label="Logarithmic x-axis", checked=False),
                    dmc.Switch(id=_id("log_y"), label="Logarithmic y-axis", checked=False),
                ],
                mt="xs",
            ),
        ),
        _of(
            "of-text",
            dmc.Textarea(id=_id("text"), label="Text", description=_SYNTAX, autosize=True, minRows=6, maxRows=24),
        ),
        _of(
            "of-paper",
            dmc.MultiSelect(
                id=_id("figures"),
                label="Figures and tables",
                description="Empty: all that the runs allow, in the paper's order",
                data=choices(names_of_sections()),
                value=[],
                searchable=True,
            ),
        ),
        _of(
            "of-chart of-text",
            select(_id("width"), "Width", "half", choices((("half", "Half"), ("full", "Full")))),
        ),
        html.H2("Runs of the panel", className="section-title"),
        dmc.Select(
            id=_id("view"),
            label="Saved view",
            description="Its filters hold too, as they are then",
            data=choices((view.id, view.name) for view in views),
            clearable=True,
            searchable=True,
        ),
        conditions_field(_id("where"), "Conditions"),
        dmc.TextInput(id=_id("search"), label="Search", description="Words, as in the run list"),
    ]
    return form_drawer("board-panel", "Panel", content)


def _of(kinds: str, *fields: Any) -> html.Div:
    """Return fields that the style sheet shows only for these kinds of panels."""
    return html.Div(list(fields), className=f"board-field {kinds}")


def _autocomplete(name: str, label: str, description: str, data: Sequence[str]) -> dmc.Autocomplete:
    return dmc.Autocomplete(id=_id(name), label=label, description=description, data=list(data), limit=100)


def board_dialog() -> dmc.Modal:
    """Return the dialog for the name and the runs of the whole board."""
    fields = (
        Store(id="board-edit-before"),
        dmc.TextInput(id="board-edit-name", label="Name", withAsterisk=True),
        conditions_field("board-edit-where", "Runs of the board"),
        dmc.TextInput(id="board-edit-search", label="Search", description="Words, as in the run list"),
    )
    return form_dialog("board-edit", "Name and runs of the board", fields, "Save")


def _values_of(panel: Panel | None, kind: str) -> tuple[list[Any], list[bool]]:
    given: dict[str, Any] = {"group": "config", "smooth": 1, "x": "step", "width": "full" if kind == "text" else "half"}
    if panel is not None:
        given |= panel.model_dump(mode="json")
        given |= {"where": list(panel.filters.where), "search": panel.filters.search}
    empty: dict[str, Any] = {"figures": [], "where": [], "view": None}
    values = [given[name] if given.get(name) is not None else empty.get(name, "") for name in _VALUES]
    return values, [bool(given.get(name)) for name in _CHECKED]


def written(kind: str, panel_id: str, before: Panel | None, given: Mapping[str, Any]) -> Panel:
    """Return the typed panel; filters that the form does not have are kept. Raises FormError."""
    filters = RunFilters() if before is None else before.filters
    content = {name: given[name] for name in _OF_KIND[kind]}
    content = {
        name: value.strip() if name != "text" and isinstance(value, str) else value for name, value in content.items()
    }
    if content.get("smooth") == "":
        content["smooth"] = 1
    for name in ("group", "x"):
        if content.get(name) == "":
            del content[name]
    try:
        changed = filters.model_copy(update={"where": list(given["where"] or ()), "search": given["search"] or None})
        return _PANEL.validate_python(
            {"kind": kind, "id": panel_id, "view": given["view"] or None, "filters": changed.model_dump(), **content}
        )
    except ValidationError as error:
        problems = {_place(each["loc"]): said(each) for each in error.errors()}
        raise FormError(**problems) from error


def _place(location: Sequence[int | str]) -> str:
    """Return the form's field for a problem; a problem of an item belongs to its list."""
    return next((str(part) for part in reversed(location) if part in _VALUES), "y")


def register(app: Dash, api: Api) -> None:
    """Register opening and saving."""

    @when_pressed(
        app,
        pressed_in("board-tool"),
        outputs=[
            Output("board-panel-drawer", "opened"),
            Output("board-panel-drawer", "title"),
            Output("board-panel-drawer", "className"),
            Output("board-editing", "data"),
            *(Output(_id(name), "value") for name in _VALUES),
            *(Output(_id(name), "checked") for name in _CHECKED),
        ],
        states=[State("board-id", "data")],
    )
    async def open_drawer(what: Mapping[str, Any], board_id: str) -> Any:
        if what["action"] not in ("add", "edit"):
            return [no_update] * (4 + len(_VALUES) + len(_CHECKED))
        panel = None
        if what["action"] == "edit":
            board = await api.client().board(board_id)
            at = place_of(board.panels, what["panel"])
            if at is None:
                tell("This panel has been removed.", "Gone", "yellow")
                return [no_update] * (4 + len(_VALUES) + len(_CHECKED))
            panel = board.panels[at]
        kind = what["kind"] if panel is None else panel.kind
        editing = {"kind": kind, "before": None if panel is None else panel.model_dump(mode="json")}
        title = f"{'New' if panel is None else 'Edit the'} {_KINDS[kind]}"
        values, checked = _values_of(panel, kind)
        return True, title, _LOOKS[kind], editing, *values, *checked

    @when_submitted(
        app,
        "board-panel-submit",
        fields={name: _id(name) for name in ("title", "y", "x", "group", "smooth", "text", "view", "where")},
        problem="board-panel-problem",
        states=[
            State("board-id", "data"),
            State("board-editing", "data"),
            *(State(_id(name), "value") for name in _VALUES),
            *(State(_id(name), "checked") for name in _CHECKED),
        ],
        outputs=[
            Output("board-panel-drawer", "opened", allow_duplicate=True),
            Output("board-editing", "data", allow_duplicate=True),
        ],
    )
    async def save(board_id: str, editing: Mapping[str, Any], *given: Any) -> Any:
        client = api.client()
        kind = editing["kind"]
        before = None if editing["before"] is None else _PANEL.validate_python(editing["before"])
        panel_id = secrets.token_hex(4) if before is None else before.id
        panel = written(kind, panel_id, before, dict(zip((*_VALUES, *_CHECKED), given, strict=True)))
        at = None
        if before is not None:
            board = await client.board(board_id)
            at = place_of(board.panels, panel_id)
            if at is not None and board.panels[at].model_dump(mode="json") != editing["before"]:
                show("board-panel-problem", _theirs(board, "this panel"))
                return True, {**editing, "before": board.panels[at].model_dump(mode="json")}

        try:
            await change_board(client, board_id, partial(_put, panel=panel))
        except ApiError as error:
            raise _at_field(error) from error
        _say_saved(panel, is_back=at is None and before is not None)
        return False, None

    @when_pressed(
        app,
        "board-edit",
        outputs=[
            Output("board-edit-dialog", "opened"),
            Output("board-edit-before", "data"),
            *(Output(f"board-edit-{name}", "value") for name in ("name", "where", "search")),
        ],
        states=[State("board-id", "data")],
    )
    async def open_dialog(_: str, board_id: str) -> Any:
        board = await api.client().board(board_id)
        return True, _named(board), board.name, list(board.filters.where), board.filters.search or ""

    @when_submitted(
        app,
        "board-edit-submit",
        fields={"name": "board-edit-name", "where": "board-edit-where", "search": "board-edit-search"},
        problem="board-edit-problem",
        states=[
            State("board-id", "data"),
            State("board-edit-before", "data"),
            *(State(f"board-edit-{name}", "value") for name in ("name", "where", "search")),
        ],
        outputs=[
            Output("board-edit-dialog", "opened", allow_duplicate=True),
            Output("board-edit-before", "data", allow_duplicate=True),
        ],
    )
    async def rename(board_id: str, before: Any, name: str | None, where: list[str] | None, search: str | None) -> Any:
        client = api.client()
        if not (name or "").strip():
            raise FormError(name="give the board a name")
        board = await client.board(board_id)
        if _named(board) != before:
            show("board-edit-problem", _theirs(board, f"the name or the runs of this board, “{board.name}” by now,"))
            return True, _named(board)
        filters = board.filters
        filters = filters.model_copy(update={"where": where or [], "search": (search or "").strip() or None})
        try:
            await change_board(client, board_id, list, name=(name or "").strip(), filters=filters)
        except ApiError as error:
            raise _at_field(error) from error
        return False, None


def _put(panels: list[Panel], panel: Panel) -> list[Panel]:
    """Return the panels with this one in its place, or appended if it has none."""
    at = place_of(panels, panel.id)
    return [*panels, panel] if at is None else [*panels[:at], panel, *panels[at + 1 :]]


def _say_saved(panel: Panel, *, is_back: bool) -> None:
    if is_back:
        tell("This panel was removed meanwhile: it has been added again at the end.", "Saved", "yellow")
    else:
        tell(name_of(panel), "Saved")


def _named(board: BoardInfo) -> Any:
    return {"name": board.name, "filters": board.filters.model_dump(mode="json")}


def _theirs(board: BoardInfo, what: str) -> dmc.Alert:
    text = (
        f"{board.updated_by} has changed {what} meanwhile (version {board.version} of the board). What you typed "
        "is still here: Save again puts it in the place of theirs; to see theirs first, close this and open it again."
    )
    return dmc.Alert(text, color="yellow", variant="light")


def _at_field(error: ApiError) -> FormError | ApiError:
    """Return the refusal at the form's field, which the server names together with the panel's place."""
    field = (error.body.field or "").rpartition(".")[2]
    if field not in ("name", "where", "search", "text", "view", "y", "x", "group"):
        return error
    value = "" if error.body.value is None else f"{error.body.value}: "
    return FormError(**{field: value + error.body.remedy})
