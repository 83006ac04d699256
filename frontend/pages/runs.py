"""Run history: every run that the user may see, live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_ag_grid as dag
import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, dcc, html, no_update

from bapo.api import TERMINAL_STATUSES, RunStatus, RunSummary
from bapo.client import ApiError
from frontend import formatting
from frontend.clientside import clientside
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.notices import error_text, link_button, notice
from frontend.session import Api

MOST_ROWS = 1000
PAGE_ROWS = 200
ROWS_ON_A_PAGE = 25

FILTERS: dict[str, tuple[RunStatus, ...]] = {
    "all": (),
    "active": tuple(status for status in RunStatus if status not in (*TERMINAL_STATUSES, RunStatus.DRAFT)),
    "finished": (RunStatus.SUCCEEDED, RunStatus.CANCELLED),
    "failed": (RunStatus.FAILED, RunStatus.LOST),
}
"""States behind each choice above the table."""

GRID_THEME = """themeQuartz.withParams({
    backgroundColor: 'var(--bapo-card)', foregroundColor: 'var(--bapo-text)', borderColor: 'var(--bapo-border)',
    headerBackgroundColor: 'var(--bapo-card)', headerTextColor: 'var(--bapo-muted)', accentColor: 'var(--bapo-accent)',
    rowHoverColor: 'var(--bapo-page)', headerFontWeight: 600, headerFontSize: 12, fontSize: 13,
    fontFamily: 'inherit', wrapperBorderRadius: 8, spacing: 6, rowHeight: 44, columnBorder: false})"""


def _number_column(field: str, title: str, width: int) -> dict[str, Any]:
    """Sorts and filters by the number, shows its text."""
    return {
        "field": field,
        "headerName": title,
        "width": width,
        "type": "rightAligned",
        "filter": "agNumberColumnFilter",
        "valueFormatter": {"function": f"params.data ? params.data.{field}_text : ''"},
    }


COLUMNS: list[dict[str, Any]] = [
    {"field": "status", "headerName": "Status", "cellRenderer": "StatusCell", "width": 118},
    {"field": "name", "headerName": "Name", "cellRenderer": "NameCell", "flex": 1, "minWidth": 110},
    {"field": "method", "headerName": "Method", "width": 92},
    {"field": "progress", "headerName": "Progress", "cellRenderer": "ProgressCell", "width": 118, "filter": False},
    _number_column("reward", "Reward", 98),
    {
        "field": "eval_latest",
        "headerName": "Test accuracy",
        "cellRenderer": "EvaluationCell",
        "width": 172,
        "filter": "agNumberColumnFilter",
        "headerTooltip": "First evaluation → latest, with the change in percentage points",
    },
    _number_column("rollouts", "Rollouts", 104),
    {"field": "owner", "headerName": "Owner", "width": 92},
    {"field": "started", "headerName": "Started", "cellRenderer": "TimeCell", "width": 136, "filter": False},
    _number_column("duration", "Duration", 108),
]


def run_row(run: RunSummary, now: datetime) -> dict[str, Any]:
    """A row: numbers to sort by, texts to read."""
    change = None if run.eval_latest is None or run.eval_base is None else run.eval_latest - run.eval_base
    seconds = None
    if run.started_at is not None:
        seconds = ((run.finished_at or now) - run.started_at).total_seconds()
    return {
        "id": run.id,
        "name": run.name,
        "status": run.status.value,
        "status_reason": run.status_reason or "",
        "method": run.method,
        "progress": run.step / run.num_steps if run.num_steps else 0.0,
        "progress_text": f"{run.step:,} / {run.num_steps:,}",
        "reward": run.reward_mean,
        "reward_text": formatting.percent(run.reward_mean),
        "eval_name": run.eval_name or "",
        "eval_latest": run.eval_latest,
        "eval_text": formatting.MISSING
        if run.eval_latest is None
        else f"{formatting.share(run.eval_base)} → {formatting.percent(run.eval_latest)}",
        "eval_change": change,
        "eval_change_text": "" if not change else formatting.signed_decimal(100 * change, 1),
        "rollouts": run.num_rollouts,
        "rollouts_text": formatting.count(run.num_rollouts),
        "owner": run.owner,
        "started": run.started_at.timestamp() if run.started_at else None,
        "started_text": formatting.ago(run.started_at, now),
        "started_exact": formatting.exact_time(run.started_at),
        "duration": seconds,
        "duration_text": formatting.duration(seconds),
    }


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The page; the table fills at once."""
    search, choice = query.get("search", ""), query.get("status", "all")
    rows, total = await load_rows(api, choice, search)
    header = dmc.Group(
        [dmc.Title("Runs", order=2), link_button("New run", "/new", leftSection=icon("plus", 16))],
        justify="space-between",
        mb="md",
    )
    is_new_here = not total and not search and choice == "all"
    first_run = notice(
        "No runs yet",
        "A run trains a language model by BAPO or GRPO and shows here, step by step, what its batches are made of. "
        "The Countdown demo needs nothing but a few minutes of one CPU core.",
        icon_name="runs",
        action=link_button("Set up the Countdown demo", "/new?recipe=countdown-demo"),
    )
    filters = dmc.Group(
        [
            dmc.SegmentedControl(
                id="runs-status",
                value=choice if choice in FILTERS else "all",
                data=[{"value": value, "label": value.capitalize()} for value in FILTERS],
                size="xs",
            ),
            dmc.TextInput(
                id="runs-search",
                value=search,
                placeholder="Name contains …",
                leftSection=icon("search", 16),
                size="xs",
                w={"base": "100%", "xs": 240},
                debounce=250,
                **attributes(aria_label="Filter by name"),
            ),
            dmc.Text(_shown(len(rows), total), id="runs-shown", size="xs", c="dimmed", className="runs-shown"),
            dmc.Button(
                "CSV",
                id="runs-csv",
                size="compact-xs",
                variant="subtle",
                color="gray",
                leftSection=icon("download", 14),
                ml="auto",
            ),
        ],
        gap="sm",
        mb="sm",
    )
    grid = dag.AgGrid(
        id="runs-grid",
        rowData=rows,
        columnDefs=COLUMNS,
        defaultColDef={"sortable": True, "resizable": True, "filter": True, "suppressHeaderMenuButton": False},
        getRowId="params.data.id",
        columnSize=None,
        dashGridOptions={
            "theme": {"function": GRID_THEME},
            "domLayout": "autoHeight",
            "pagination": len(rows) > ROWS_ON_A_PAGE,
            "paginationPageSize": ROWS_ON_A_PAGE,
            "paginationPageSizeSelector": [25, 50, 100],
            "suppressCellFocus": False,
            "animateRows": False,
            "enableCellTextSelection": True,
            "ensureDomOrder": True,
            "tooltipShowDelay": 300,
            "localeText": {"noRowsToShow": "No run matches: change the filter above."},
        },
        csvExportParams={"fileName": "runs.csv"},
        className="runs-grid",
        style={"height": None},
    )
    return html.Div(
        [
            dcc.Store(id="runs-poke"),
            header,
            html.Div(first_run, id="runs-first", hidden=not is_new_here),
            html.Div([filters, grid], id="runs-table", hidden=is_new_here),
        ]
    )


def _shown(shown: int, total: int) -> str:
    if shown < total:
        return f"the newest {shown:,} of {total:,} runs: search to find others"
    return f"{total:,} run{'s' if total != 1 else ''}"


async def load_rows(api: Api, choice: str, search: str) -> tuple[list[dict[str, Any]], int]:
    """The newest runs that match, at most MOST_ROWS, and how many match in all."""
    client = api.client()
    runs: list[RunSummary] = []
    cursor: str | None = None
    while True:
        page = await client.runs(
            status=[status.value for status in FILTERS.get(choice, ())] or None,
            search=search or None,
            cursor=cursor,
            limit=PAGE_ROWS,
        )
        runs += page.items
        cursor = page.next_cursor
        if cursor is None or len(runs) >= MOST_ROWS:
            return rows_of(runs), page.total


def rows_of(runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """Rows as of now."""
    now = datetime.now(UTC)
    return [run_row(run, now) for run in runs]


def register(app: Dash, api: Api) -> None:
    """Filters, live rows and navigation."""

    @app.callback(
        Output("runs-grid", "rowData"),
        Output("runs-shown", "children"),
        Output("runs-first", "hidden"),
        Output("runs-table", "hidden"),
        Input("runs-status", "value"),
        Input("runs-search", "value"),
        Input("runs-poke", "data"),
        prevent_initial_call=True,
    )
    async def refresh(choice: str, search: str | None, _: Any) -> Any:
        try:
            rows, total = await load_rows(api, choice, search or "")
        except (ApiError, httpx.TransportError) as error:
            return no_update, error_text(error), no_update, no_update
        is_new_here = not total and not search and choice == "all"
        return rows, _shown(len(rows), total), not is_new_here, is_new_here

    clientside(app, "runs", "open", Output("url", "pathname"), Input("runs-grid", "cellClicked"), initial=False)
    clientside(
        app, "runs", "exportCsv", Output("runs-grid", "exportDataAsCsv"), Input("runs-csv", "n_clicks"), initial=False
    )
    clientside(app, "runs", "settled", Output("runs-shown", "className"), Input("runs-grid", "rowData"))
