"""All prompt lists of the caller's projects; with a finding in the address, the form that puts its prompts on one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Dash, State, html

from bapo.analysis.findings.finding import LABELS
from bapo.analysis.number_format import counted
from bapo.api.prompt_lists import PromptListCreate, PromptListInfo
from bapo.client import AsyncClient
from frontend.components.actions import go_to, open_when_pressed, tell, when_submitted
from frontend.components.card import card, new_button, page_heading
from frontend.components.changes_query import changes_text
from frontend.components.choices import project_select, writable_projects
from frontend.components.controls import icon_button
from frontend.components.dialogs import confirm_dialog, form_dialog, when_asked
from frontend.components.elements import Link
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.components.prompts import marking_fields, marks
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.request.session import Api

FIELD = "task.prompt_list"
HEAD = ("Name", "Quarantined", "Weighed", "Version", "Runs", "Changed", "", "")
ABOUT = (
    "A list says which prompts are left out of training, and which come up more or less often. A run names one in "
    "task.prompt_list; it keeps the version that it was submitted with."
)


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the page."""
    client = api.client()
    page, me = await asyncio.gather(client.prompt_lists(query.get("project")), client.me())
    writable = writable_projects(me)
    return html.Div(
        [
            page_heading(
                "Prompt lists",
                ABOUT,
                link_button("Prompts", "/prompts", variant="default", size="sm"),
                html.Div(new_button("New list", "lists-new"), className="for-members"),
            ),
            await _of_finding(client, query, page.items),
            _table(page.items, shows_projects=len(me.projects) > 1),
            _dialog(writable),
            confirm_dialog("lists-remove"),
        ],
        className="across-page",
    )


async def _of_finding(client: AsyncClient, query: Mapping[str, str], lists: Sequence[PromptListInfo]) -> Any:
    """Return the form for a finding's prompts."""
    run_id, kind = query.get("run"), query.get("finding")
    if run_id is None or kind is None or kind not in LABELS:
        return None
    run, found = await asyncio.gather(client.run(run_id), client.finding_prompts(run_id, kind))
    label = LABELS[found.kind]
    where = Link(run.name, href=f"/runs/{run.id}?tab=findings", className="wrap-anywhere")
    if not found.items:
        return card(html.P([f"The finding “{label}” names no prompts now in ", where, "."]))
    own = [each for each in lists if each.project == run.project]
    return card(
        marks(project=run.project, run=run.id, finding=kind),
        html.P([f"{counted(len(found.items), 'prompt')} of the finding “{label}” in ", where, "."]),
        html.Div(
            [
                *marking_fields(own, note=f"{label}, run {run.id}"),
                html.Div(id="mark-problem"),
                dmc.Group([dmc.Button("Save", id="mark-submit")], justify="flex-end"),
            ],
            className="panel-stack",
        ),
        title="Put a finding's prompts on a list",
        look="for-members",
    )


def _table(lists: Sequence[PromptListInfo], *, shows_projects: bool) -> Any:
    if not lists:
        text = (
            "Choose prompts in the project's list, or take those that a finding of a run names: quarantine them, or "
            "have them come up more often, in the next run."
        )
        return notice(
            "No prompt lists yet", text, icon_name="tag", action=link_button("Prompts", "/prompts", variant="light")
        )
    now = datetime.now(UTC)
    return table_card(HEAD, [_row(each, now, shows_projects) for each in lists], "queue-table across-table")


def _row(each: PromptListInfo, now: datetime, shows_projects: bool) -> html.Tr:
    remove = icon_button("trash", f"Remove @{each.name}", id={"type": "lists-remove", "id": each.id, "name": each.name})
    return row(
        html.Div(
            [
                Link(f"@{each.name}", href=f"/prompt-lists/{each.id}", className="sample-link wrap-anywhere"),
                html.Div(each.description, className="queue-detail across-text"),
            ]
        ),
        cell(f"{each.num_quarantined:,}", "number"),
        cell(f"{each.num_weighted:,}", "number"),
        cell(f"{each.version:,}", "number"),
        cell(f"{each.num_runs:,}", "number"),
        html.Div([moment(each.changed_at, now=now), f" in {each.project}" if shows_projects else ""]),
        html.Div(run_link(each), className="for-members"),
        remove if each.may_remove else None,
        attributes={"data-list": each.name},
    )


def run_link(each: PromptListInfo) -> Any:
    """Return a link to the form of a run that takes the list; None if the list has never had an entry."""
    if not each.version:
        return None
    query = urlencode({"set": changes_text({FIELD: f"@{each.name}"}), "project": each.project}, safe="@:")
    href = f"/new?{query}"
    return link_button("Train with this", href, size="compact-xs", variant="light")


def _dialog(writable: Sequence[str]) -> dmc.Modal:
    fields = [
        dmc.TextInput(id="lists-name", label="Name", description="Configs refer to it as @name.", size="sm"),
        dmc.Textarea(id="lists-description", label="Description", placeholder="optional", size="sm"),
        project_select("lists-project", writable, size="sm"),
    ]
    return form_dialog("lists", "New prompt list", fields, "Create")


PAGES = (Page("/prompt-lists", layout, section="prompt-lists", query_makes_page=True),)


def register(app: Dash, api: Api) -> None:
    """Register making and removing lists."""
    open_when_pressed(app, "lists-new", "lists-dialog")

    @when_submitted(
        app,
        "lists-submit",
        fields={"name": "lists-name", "description": "lists-description", "project": "lists-project"},
        problem="lists-problem",
        states=[State(f"lists-{name}", "value") for name in ("name", "description", "project")],
    )
    async def create(name: str, description: str, project: str | None) -> None:
        body = PromptListCreate.model_construct(
            name=(name or "").strip().removeprefix("@"), description=description or "", project=project
        )
        made = await api.client().create_prompt_list(body)
        go_to(f"/prompt-lists/{made.id}")

    @when_asked(
        app,
        "lists-remove",
        title="Remove this list?",
        text="Configs can no longer name it. Runs that were submitted with it keep its entries, and their clones its "
        "versions.",
        button="Remove",
        sign="@",
    )
    async def remove(list_id: str) -> None:
        await api.client().remove_prompt_list(list_id)
        tell("Configs can no longer name it.", "Removed")
        go_to("/prompt-lists")
