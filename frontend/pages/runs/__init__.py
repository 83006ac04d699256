"""Run history: every run that the user may see, live, with rows fetched as they are scrolled to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html

from bapo.api.runs import RunFacets
from frontend.components.actions import clientside
from frontend.components.card import page_title
from frontend.components.choices import choices
from frontend.components.controls import filter_select, menu_of, small_button
from frontend.components.dialogs import answer, confirm_dialog, confirmed, question
from frontend.components.elements import Link, Store, attributes
from frontend.components.icon import icon
from frontend.components.markup import Later
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.pages.runs import bulk, filters, story, views
from frontend.pages.runs.columns import COLUMNS, definition
from frontend.request.session import Api

BLOCK_ROWS = 50
"""Rows fetched at once."""
MOST_BLOCKS = 8
"""Blocks that the browser keeps; the table forgets those that were out of sight longest."""
ROW_HEIGHT = 40

GRID_THEME = f"""themeQuartz.withParams({{
    backgroundColor: 'var(--bapo-card)', foregroundColor: 'var(--bapo-text)', borderColor: 'var(--bapo-border)',
    headerBackgroundColor: 'var(--bapo-card)', headerTextColor: 'var(--bapo-muted)', accentColor: 'var(--bapo-accent)',
    rowHoverColor: 'var(--bapo-page)', headerFontWeight: 600, headerFontSize: 12, fontSize: 13,
    selectedRowBackgroundColor: 'color-mix(in srgb, var(--bapo-accent) 9%, transparent)',
    fontFamily: 'inherit', wrapperBorderRadius: 8, spacing: 6, rowHeight: {ROW_HEIGHT}, columnBorder: false,
    cellHorizontalPadding: 10}})"""


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page; the browser restores the view of the address and fetches its rows."""
    client = api.client()
    facets, layouts = await asyncio.gather(client.run_facets(), client.run_list_layouts())
    return html.Div(
        [
            Store(id="runs-poke"),
            Store(id="runs-shows"),
            Store(id="runs-view-saved"),
            Store(id="runs-story-asked"),
            filters.store(layouts, facets),
            html.Div(
                [
                    page_title("Runs"),
                    html.Span("", id="runs-shown", className="runs-shown", role="status"),
                    story.show_button(),
                    html.Div(link_button("New run", "/new", leftSection=icon("plus", 16)), className="runs-new"),
                ],
                className="runs-head",
            ),
            html.Div(Later(_first_run()), id="runs-first", hidden=True),
            story.box(),
            html.Div(
                [
                    html.Div(
                        [
                            filters.search_field(),
                            filters.presets(),
                            filters.panel(facets),
                            _columns(),
                            _grouping(),
                            views.menu(),
                            small_button(
                                "CSV",
                                "runs-csv",
                                "download",
                                size="xs",
                                **attributes(aria_label="CSV of all matching runs"),
                            ),
                            Link(
                                icon("trash", 14),
                                href="/runs?trash=only",
                                title="Trash",
                                className="menu-button runs-trash",
                            ),
                        ],
                        className="runs-toolbar",
                    ),
                    html.Div(id="runs-chips", className="runs-chips"),
                    bulk.undo_bar(),
                    html.Div(_trash_note(facets), id="runs-trash-note", className="runs-trash-note", hidden=True),
                    bulk.bar(list(facets.tags)),
                    html.Div(id="runs-problem", className="runs-problem", role="alert", hidden=True),
                    html.Div(_grid(), id="runs-grid-box", className="runs-grid-box loading"),
                    html.Div(
                        id="runs-groups",
                        className="runs-groups",
                        role="region",
                        hidden=True,
                        tabIndex=0,
                        **attributes(aria_label="Runs in groups"),
                    ),
                    html.Div(Later(_no_match()), id="runs-none", hidden=True),
                    html.Div(Later(_empty_trash()), id="runs-trash-empty", hidden=True),
                ],
                id="runs-table",
            ),
            confirm_dialog("runs", keep="Cancel"),
        ],
        className="runs-page",
    )


def _trash_note(facets: RunFacets) -> list[Any]:
    when = "at once" if not facets.trash_days else f"{facets.trash_days:g} days after they were moved here"
    return [
        icon("trash", 16),
        html.Span(
            f"The trash: these runs are deleted for good {when}. Select runs to restore them, or to delete them now."
        ),
        Link("Back to the runs", href="/runs"),
    ]


def _first_run() -> Any:
    return notice(
        "No runs yet",
        "A run trains a language model and shows, step by step, what its batches are made of. The Countdown demo "
        "takes a few minutes on one CPU core.",
        icon_name="runs",
        action=link_button("Set up the Countdown demo", "/new?recipe=countdown-demo"),
    )


def _empty_trash() -> Any:
    return notice(
        "The trash is empty",
        "Runs that you delete wait here, in case they are needed after all.",
        icon_name="trash",
        action=link_button("Back to the runs", "/runs"),
    )


def _no_match() -> Any:
    return notice(
        "No run matches",
        "A run has to contain every word of the search. Archived runs are hidden unless the filters include them.",
        icon_name="search",
        action=dmc.Button("Clear all filters", id="runs-clear-none", variant="light"),
    )


def _columns() -> dmc.Popover:
    # Drawn by assets/runs_picker.js when it is opened.
    reset = dmc.Button("Reset", id="runs-columns-reset", size="compact-xs", variant="subtle", color="gray", mt="xs")
    picker = html.Div(id="runs-column-picker", className="runs-column-list")
    return menu_of("Columns", "columns", picker, reset, id="runs-columns", width=320, keepMounted=True)


GROUPINGS: tuple[tuple[str, str], ...] = (
    ("method", "Method"),
    ("study", "Study"),
    ("group", "Group"),
    ("tag", "Tag"),
    ("config.model.path", "Model"),
    ("config", "Config without the seed"),
    ("recipe", "Recipe"),
    ("owner", "Owner"),
    ("status", "State"),
)
"""Columns by which runs are usually grouped; config fields and metrics follow once the list is opened."""


def _grouping() -> dmc.Select:
    data = [{"group": "Runs with the same", "items": list(choices(GROUPINGS))}]
    return filter_select("runs-by", "Group by", None, data, "Group by", 130, searchable=True, limit=100)


def _grid() -> dag.AgGrid:
    return dag.AgGrid(
        id="runs-grid",
        rowModelType="infinite",
        columnDefs=[definition(column) for column in COLUMNS],
        defaultColDef={
            "resizable": True,
            "filter": False,
            "suppressHeaderMenuButton": True,
            "sortingOrder": ["desc", "asc", None],
        },
        getRowId="params.data.id",
        columnSize=None,
        dashGridOptions={
            "theme": {"function": GRID_THEME},
            "rowBuffer": 2,
            "cacheBlockSize": BLOCK_ROWS,
            "maxBlocksInCache": MOST_BLOCKS,
            "cacheOverflowSize": 1,
            # No limit: the component's own source, which ours replaces, never answers, and what it was asked until
            # then would count as under way for ever.
            "maxConcurrentDatasourceRequests": -1,
            "infiniteInitialRowCount": 1,
            "rowSelection": {
                "mode": "multiRow",
                "checkboxes": True,
                "headerCheckbox": False,
                "enableClickSelection": False,
            },
            "selectionColumnDef": {
                "headerName": "Selected",
                "headerClass": "icon-head",
                "width": 40,
                "minWidth": 40,
                "resizable": False,
                "suppressHeaderMenuButton": True,
            },
            "suppressMultiSort": True,
            "animateRows": False,
            "enableCellTextSelection": True,
            "ensureDomOrder": True,
            "tooltipShowDelay": 300,
            "suppressNoRowsOverlay": True,
        },
        className="runs-grid",
        style={"height": "100%"},
    )


PAGES = (Page("/runs", layout, section="runs", events="/api/v1/events"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of the page, most of which run in the browser."""
    values = [
        Input(component, "checked" if name == "starred" else "value") for name, component in filters.CONTROLS.items()
    ]
    clientside(app, "runs", "filtered", Output("runs-chips", "className"), *values, State("runs-controls", "data"))
    in_browser = partial(clientside, app, "runs", initial=False)
    in_browser("preset", Output("runs-status", "className"), Input("runs-status", "value"))
    in_browser("poked", Output("runs-shown", "className"), Input("runs-poke", "data"))
    in_browser("open", Output("url", "pathname"), Input("runs-grid", "cellClicked"))
    in_browser("groupBy", Output("runs-groups", "className"), Input("runs-by", "value"))
    usual = State("runs-by", "data")
    in_browser("openGroupings", Output("runs-by", "data"), Input("runs-by", "dropdownOpened"), usual)
    in_browser("openPicker", Output("runs-column-picker", "className"), Input("runs-columns", "opened"))
    in_browser("openFilters", Output("runs-where-column", "className"), Input("runs-filters", "opened"))
    operator = Input("runs-where-operator", "value")
    in_browser("operatorChosen", Output("runs-where-value", "style"), operator)
    in_browser(
        "addWhere",
        Output("runs-where-add", "className"),
        Input("runs-where-add", "n_clicks"),
        Input("runs-where-value", "n_submit"),
        State("runs-where-column", "value"),
        State("runs-where-operator", "value"),
        State("runs-where-value", "value"),
    )
    in_browser("viewsToggled", Output("runs-views-list", "children"), Input("runs-views", "opened"))
    in_browser("viewSaved", Output("runs-view-name", "className"), Input("runs-view-saved", "data"))
    in_browser("resetColumns", *_clicked("runs-columns-reset"))
    in_browser("exportCsv", *_clicked("runs-csv"))
    in_browser("unselect", *_clicked("runs-unselect"))
    in_browser("selectAll", *_clicked("runs-all"))
    in_browser("compare", *_clicked("runs-compare"))
    in_browser("study", *_clicked("runs-study"))
    clears = (Input("runs-clear", "n_clicks"), Input("runs-clear-none", "n_clicks"))
    in_browser("clear", Output("runs-clear", "className"), *clears)
    pressed = Input({"type": "runs-bulk", "action": ALL}, "n_clicks")
    in_browser("bulk", Output("runs-bulk", "className"), pressed, State("runs-tag", "value"))
    agreed, asked = Input(confirmed("runs"), "n_clicks"), State(question("runs"), "data")
    in_browser("confirmed", Output(answer("runs"), "data"), agreed, asked)


def _clicked(button: str) -> tuple[Output, Input]:
    """Return a button that only the browser hears; every callback needs an output."""
    return Output(button, "className"), Input(button, "n_clicks")
