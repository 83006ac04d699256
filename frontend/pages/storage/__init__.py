"""What takes up space on this server, what goes by itself, and what waits to be deleted; for administrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, ctx, dcc, html, no_update

from bapo.api.storage import PendingDeletion, RetentionRule, RunSpace, StorageState
from bapo.client import ApiError
from bapo.figures import formatting
from frontend.components.attributes import attributes
from frontend.components.confirm import Question, confirm_dialog, question, when_agreed
from frontend.components.moment import moment
from frontend.components.notices import notice, toast
from frontend.components.status_badge import status_badge
from frontend.session import Api

REFRESH_MILLISECONDS = 5000
PARTS: dict[str, tuple[str, str]] = {
    "samples": ("Samples", "after the end of a run"),
    "log": ("Logs", "after the end of a run"),
    "checkpoints": ("Checkpoints", "after the end of a run"),
    "archived": ("Archived runs, with their folders", "in the archive"),
    "artifacts": ("Downloads", "after they were made"),
}
COMPACTING = (
    "The tables of records are written anew, one after the other, without the space that deleted runs left. Training "
    "goes on; what it records waits in its journal while it is a table's turn."
)


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Tiles, what waits, what goes by itself, and the largest runs."""
    return html.Div(
        [
            dmc.Group(
                [
                    dmc.Title("Storage", order=2),
                    dmc.Button("Compact the database", id="storage-compact", variant="default", color="gray"),
                ],
                justify="space-between",
                mb="xs",
            ),
            html.Div(await _board(api), id="storage-board"),
            dcc.Interval(id="storage-refresh", interval=REFRESH_MILLISECONDS),
            confirm_dialog("storage", keep="Leave it"),
        ]
    )


async def _board(api: Api) -> list[Any]:
    state = await api.client().storage()
    return [
        _tiles(state),
        *(_deletions(state.deletions) if state.deletions else []),
        html.H3("What takes up most", className="section-title"),
        _runs(state.runs),
        html.H3("What goes by itself", className="section-title"),
        _retention(state.retention),
    ]


def _tiles(state: StorageState) -> html.Div:
    facts = (
        ("Run folders", formatting.size(state.folder_bytes), f"as measured, runs: {state.num_runs:,}"),
        ("Records", formatting.size(state.record_bytes), f"database on disk: {formatting.size(state.database_bytes)}"),
        (
            "Downloads",
            formatting.size(state.artifact_bytes),
            f"of {formatting.size(state.artifact_quota_bytes)} that they may",
        ),
        ("Waiting to be deleted", f"{len(state.deletions):,}", "folders on the workers' machines"),
    )
    tiles = [
        html.Div(
            [html.Span(label, className="tile-label"), html.Div(value, className="tile-value"), html.Div(note)],
            className="tile",
        )
        for label, value, note in facts
    ]
    return html.Div(tiles, className="tiles queue-tiles")


def _deletions(deletions: Sequence[PendingDeletion]) -> list[Any]:
    rows = [
        dmc.TableTr(
            [
                dmc.TableTd(
                    [
                        html.Div(each.run_name, className="artifact-name artifact-short", title=each.run_name),
                        _detail(each.run_id),
                    ]
                ),
                dmc.TableTd("its folder" if each.part == "folder" else each.part),
                dmc.TableTd(each.host or "any"),
                dmc.TableTd([moment(each.requested_at), _detail(f"by {each.author}")], className="nowrap"),
                dmc.TableTd(
                    _detail(f"tried {each.num_tries:,} times: {each.reason}" if each.reason else "waits for its worker")
                ),
                dmc.TableTd(
                    dmc.Button(
                        "Give up",
                        id={"type": "storage-give-up", "id": each.id, "name": each.run_name, "host": each.host or ""},
                        size="compact-xs",
                        variant="default",
                        color="gray",
                        **attributes(aria_label=f"Give up deleting the folder of {each.run_name}"),
                    )
                ),
            ]
        )
        for each in deletions
    ]
    head = ("Deleting", "What", "Machine", "Asked for", "State", "")
    return [html.H3("Being deleted", className="section-title"), _table(head, rows)]


def _runs(runs: Sequence[RunSpace]) -> Any:
    if not runs:
        return notice("No runs yet", "What runs take up is shown here.", icon_name="data")
    largest = max(run.num_bytes for run in runs) or 1
    rows = [
        dmc.TableTr(
            [
                dmc.TableTd(
                    [
                        dcc.Link(
                            run.name, href=f"/runs/{run.run_id}?tab=artifacts", className="queue-name", title=run.name
                        ),
                        _detail(f"{run.owner}{' · kept for good' if run.is_kept else ''}"),
                    ]
                ),
                dmc.TableTd(status_badge(run.status, size="sm")),
                dmc.TableTd(
                    [
                        html.Div(formatting.size(run.num_bytes), className="number"),
                        dmc.Progress(
                            value=100 * run.num_bytes / largest,
                            size="xs",
                            color="var(--bapo-muted)",
                            **attributes(aria_label=f"{formatting.size(run.num_bytes)} of {run.name}"),
                        ),
                    ],
                    className="storage-total",
                ),
                *(
                    dmc.TableTd(formatting.size(value), className="number nowrap")
                    for value in (run.folder_bytes, run.checkpoint_bytes, run.database_bytes, run.artifact_bytes)
                ),
                dmc.TableTd(run.host or formatting.MISSING),
            ],
            **attributes(data_run=run.run_id),
        )
        for run in runs
    ]
    head = ("Run", "State", "In all", "Folder", "of it checkpoints", "Records", "Downloads", "Machine")
    return _table(head, rows)


def _retention(rules: Sequence[RetentionRule]) -> Any:
    rows = []
    for rule in rules:
        label, since = PARTS[rule.part]
        what = "downloads" if rule.part == "artifacts" else "runs"
        rows.append(
            dmc.TableTr(
                [
                    dmc.TableTd(label),
                    dmc.TableTd("never" if rule.days is None else f"{rule.days:g} days {since}"),
                    dmc.TableTd(
                        formatting.MISSING if rule.days is None else f"{rule.num_due:,} {what}", className="number"
                    ),
                ],
                **attributes(data_part=rule.part),
            )
        )
    note = (
        "The deployment's settings say after how long. Runs that go on, that somebody has starred or that are tagged "
        "“keep” are left alone."
    )
    return html.Div([_table(("What", "Goes", "Due now"), rows), dmc.Text(note, size="xs", c="dimmed", mt="xs")])


def _table(head: Sequence[str], rows: Sequence[Any]) -> html.Div:
    table = dmc.Table(
        [
            dmc.TableThead(dmc.TableTr([dmc.TableTh(title, className="nowrap") for title in head])),
            dmc.TableTbody(list(rows)),
        ],
        className="artifact-table",
        verticalSpacing="xs",
    )
    return html.Div(dmc.ScrollArea(table, type="auto"), className="panel-card")


def _detail(text: str) -> html.Div:
    return html.Div(text, className="artifact-text")


def register(app: Dash, api: Api) -> None:
    """Following, giving up, compacting."""

    @app.callback(
        Output("storage-board", "children"), Input("storage-refresh", "n_intervals"), prevent_initial_call=True
    )
    async def refresh(_: int) -> Any:
        try:
            return await _board(api)
        except (ApiError, httpx.TransportError):
            # A passing trouble must not wipe what is shown.
            return no_update

    @app.callback(
        Output(question("storage"), "data"),
        Input({"type": "storage-give-up", "id": ALL, "name": ALL, "host": ALL}, "n_clicks"),
        Input("storage-compact", "n_clicks"),
        prevent_initial_call=True,
    )
    def ask(_: Any, __: Any) -> Any:
        trigger: Any = ctx.triggered_id
        if not any(each["value"] for each in ctx.triggered):
            return no_update
        if trigger == "storage-compact":
            return Question(
                title="Compact the database?", text=COMPACTING, button="Compact", colour="blue", data={"do": "compact"}
            )
        return Question(
            title="Give this deletion up?",
            subject=trigger["name"],
            text=f"No worker on {trigger['host'] or 'any machine'} will delete the folder any more: do it by hand, if "
            "the machine still has it.",
            button="Give up",
            data={"do": "give-up", "id": trigger["id"]},
        )

    outputs = [
        Output("storage-board", "children", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
    ]

    @when_agreed(app, "storage", outputs)
    async def agreed(about: dict[str, Any]) -> Any:
        client = api.client()
        if about["do"] == "compact":
            report = await client.compact_database()
            before, after = formatting.size(report.before_bytes), formatting.size(report.after_bytes)
            told = toast(f"{before} before, {after} now.", title="Compacted", colour="green")
        else:
            await client.give_up_deletion(about["id"])
            told = toast("The folder is left where it is.", title="Given up", colour="green")
        return await _board(api), told
