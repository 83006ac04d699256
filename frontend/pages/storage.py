"""Storage of this server, for administrators: what takes up space, what is deleted automatically, and what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, html

from bapo.analysis.number_format import counted
from bapo.api.storage import PendingDeletion, RetentionRule, RunSpace, StorageState
from bapo.client import AsyncClient
from bapo.figures import formatting
from frontend.components.actions import show, tell, unchanged, when_pressed
from frontend.components.card import page_heading, section_title, tiles
from frontend.components.controls import small_button
from frontend.components.dialogs import Question, confirm_dialog, question, when_agreed
from frontend.components.elements import Interval, Link, attributes
from frontend.components.notices import notice
from frontend.components.page import Page
from frontend.components.runs import status_badge
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.request.session import Api

REFRESH_MILLISECONDS = 5000
PARTS: dict[str, tuple[str, str]] = {
    "samples": ("Samples", "after the end of a run"),
    "log": ("Logs", "after the end of a run"),
    "checkpoints": ("Checkpoints", "after the end of a run"),
    "archived": ("Archived runs with their folders", "in the archive"),
    "artifacts": ("Downloads", "after they were made"),
    "trash": ("Runs in the trash with their folders", "in the trash"),
}
COMPACTING = (
    "The tables of records are rewritten one after the other, without the space that deleted runs left. Training "
    "continues; its records wait in the journals while a table is being rewritten."
)


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page."""
    compact = dmc.Button("Compact the database", id="storage-compact", variant="default", color="gray")
    return html.Div(
        [
            page_heading("Storage", None, compact),
            html.Div(await _board(api.client()), id="storage-board"),
            Interval(id="storage-refresh", interval=REFRESH_MILLISECONDS),
            confirm_dialog("storage", keep="Cancel"),
        ]
    )


async def _board(client: AsyncClient) -> list[Any]:
    state = await client.storage()
    return [
        _tiles(state),
        *(_deletions(state.deletions) if state.deletions else []),
        section_title("Largest runs"),
        _runs(state.runs),
        section_title("Automatic clean-up"),
        _retention(state.retention),
    ]


def _tiles(state: StorageState) -> html.Div:
    size = formatting.size
    return tiles(
        ("Run folders", size(state.folder_bytes), f"as measured, {counted(state.num_runs, 'run')}"),
        ("Records", size(state.record_bytes), f"database on disk: {size(state.database_bytes)}"),
        ("Downloads", size(state.artifact_bytes), f"limit: {size(state.artifact_quota_bytes)}"),
        ("Trash", size(state.trash_bytes), f"{counted(state.num_trashed, 'run')}, included in the others"),
        ("Pending deletions", f"{len(state.deletions):,}", "folders on the workers' machines"),
    )


def _deletions(deletions: Sequence[PendingDeletion]) -> list[Any]:
    head = ("Run", "Part", "Machine", "Requested", "State", "")
    rows = [_deletion(each) for each in deletions]
    return [section_title("Pending deletions"), table_card(head, rows, "artifact-table")]


def _deletion(each: PendingDeletion) -> html.Tr:
    give_up = small_button(
        "Give up",
        {"type": "storage-give-up", "id": each.id, "name": each.run_name, "host": each.host or ""},
        **attributes(aria_label=f"Give up deleting the folder of {each.run_name}"),
    )
    name = html.Div(each.run_name, className="artifact-name artifact-short", title=each.run_name)
    state = f"tried {each.num_tries:,} times: {each.reason}" if each.reason else "waiting for its worker"
    return row(
        [name, _detail(each.run_id)],
        each.part,
        each.host or "any",
        cell([moment(each.requested_at), _detail(f"by {each.author}")], "nowrap"),
        _detail(state),
        give_up,
    )


def _runs(runs: Sequence[RunSpace]) -> Any:
    if not runs:
        return notice("No runs yet", "The space that runs take up is shown here.", icon_name="data")
    head = ("Run", "State", "Total", "Folder", "Checkpoints", "Records", "Downloads", "Machine")
    largest = max(run.num_bytes for run in runs) or 1
    return table_card(head, [_run(run, largest) for run in runs], "artifact-table")


def _run(run: RunSpace, largest: int) -> html.Tr:
    size = formatting.size(run.num_bytes)
    share = dmc.Progress(
        value=100 * run.num_bytes / largest,
        size="xs",
        color="var(--bapo-muted)",
        **attributes(aria_label=f"{size} of {run.name}"),
    )
    sizes = (run.folder_bytes, run.checkpoint_bytes, run.database_bytes, run.artifact_bytes)
    href = f"/runs/{run.run_id}?tab=artifacts" if run.trashed_at is None else "/runs?trash=only"
    link = Link(run.name, href=href, className="queue-name", title=run.name)
    trashed = "" if run.trashed_at is None else f" · in the trash, moved there by {run.trashed_by}"
    return row(
        [link, _detail(f"{run.owner}{' · kept' if run.is_kept else ''}{trashed}")],
        status_badge(run.status, size="sm"),
        cell([html.Div(size, className="number"), share], "storage-total"),
        *(cell(formatting.size(value), "number nowrap") for value in sizes),
        run.host or formatting.MISSING,
        attributes=attributes(data_run=run.run_id),
    )


def _retention(rules: Sequence[RetentionRule]) -> Any:
    note = (
        "Set in the deployment's settings. Unfinished runs, starred runs and runs that are tagged "
        "“keep” are left alone."
    )
    rows = [_rule(rule) for rule in rules]
    text = dmc.Text(note, size="xs", c="dimmed", mt="xs")
    return html.Div([table_card(("What", "Deleted", "Due now"), rows, "artifact-table"), text])


def _rule(rule: RetentionRule) -> html.Tr:
    label, since = PARTS[rule.part]
    what = "downloads" if rule.part == "artifacts" else "runs"
    due = formatting.MISSING if rule.days is None else f"{rule.num_due:,} {what}"
    when = "never" if rule.days is None else f"{rule.days:g} days {since}"
    return row(label, when, cell(due, "number"), attributes=attributes(data_part=rule.part))


def _detail(text: str) -> html.Div:
    return html.Div(text, className="artifact-text")


PAGES = (Page("/storage", layout, section="storage"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: refreshing, giving up deletions, compacting."""

    @app.callback(
        Output("storage-board", "children"),
        Input("storage-refresh", "n_intervals"),
        prevent_initial_call=True,
        on_error=unchanged,
    )
    async def refresh(_: int) -> Any:
        return await _board(api.client())

    @when_pressed(
        app,
        "storage-compact",
        {"type": "storage-give-up", "id": ALL, "name": ALL, "host": ALL},
        outputs=[Output(question("storage"), "data")],
    )
    async def ask(pressed: Any) -> Question:
        if pressed == "storage-compact":
            return Question(
                title="Compact the database?", text=COMPACTING, button="Compact", colour="blue", data={"do": "compact"}
            )
        return Question(
            title="Give up this deletion?",
            subject=pressed["name"],
            text=f"No worker on {pressed['host'] or 'any machine'} will try to delete the folder again. If the machine "
            "still has it, delete it by hand.",
            button="Give up",
            data={"do": "give-up", "id": pressed["id"]},
        )

    @when_agreed(app, "storage")
    async def agreed(about: Mapping[str, str]) -> None:
        client = api.client()
        if about["do"] == "compact":
            report = await client.compact_database()
            before, after = formatting.size(report.before_bytes), formatting.size(report.after_bytes)
            tell(f"Tables of records: {before} before, {after} now.", "Compacted")
        else:
            await client.give_up_deletion(int(about["id"]))
            tell("The folder is left where it is.", "Given up")
        show("storage-board", await _board(client))
