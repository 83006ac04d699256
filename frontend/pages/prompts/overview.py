"""The prompts of a project over all of its runs, the hardest first; the address holds the filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Dash, Input, State, html

from bapo.analysis.number_format import counted
from bapo.api.prompts import ProjectPromptFilter, ProjectPromptPage, PromptTotalsAcross
from frontend.components.actions import go_to, open_when_pressed, when_pressed
from frontend.components.card import page_heading
from frontend.components.choices import choices, first_choice
from frontend.components.controls import download_links, small_select
from frontend.components.elements import Link
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.components.prompts import legal, marking_dialog, marks, pick
from frontend.components.table import cell, row, table_card
from frontend.pages.prompts import accuracy_cell, address_of, badges, offset_of, paging
from frontend.request.session import Api

ROWS = 50
SHOWN = (
    ("all", "All prompts"),
    ("suspected", "Label or verifier suspected in a run"),
    ("never_solved", "Never solved in any run"),
    ("always_solved", "Always solved in every run"),
    ("disputed", "Never in one run, always in another"),
    ("mixed", "Solved at times"),
)
ORDERS: Mapping[str, tuple[str, str]] = {
    # Order → label, and the direction that comes first.
    "accuracy": ("Accuracy", "up"),
    "num_responses": ("Responses", "down"),
    "num_runs": ("Runs", "down"),
    "num_suspected": ("Suspected in", "down"),
}
ABOUT = (
    "Every training prompt over all runs of the project. The accuracy is that of all answers of all policies, with the "
    "central 95 % of its posterior: how much was seen, not how much policies differ. A prompt is suspected in the runs "
    "whose own findings doubt its label or verifier; its page weighs the responses of several runs together."
)


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the page of the list that the address asks for."""
    wanted, offset = filter_of(query), offset_of(query)
    client = api.client()
    me = await client.me()
    names = [each.name for each in me.projects if not each.is_archived]
    if wanted.project is None and len(names) > 1:
        wanted = wanted.model_copy(update={"project": first_choice(names, None) or names[0]})
    page = await client.project_prompts(wanted, offset=offset, limit=ROWS)
    lists = await client.prompt_lists(page.project)
    given = wanted.model_dump(mode="json", exclude_defaults=True)
    kept = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    return html.Div(
        [
            marks(project=page.project, filter=given),
            page_heading("Prompts", ABOUT, *_actions(kept)),
            _filters(wanted, names, page.project),
            _waiting(page),
            _content(page, wanted, kept),
            paging("/prompts", kept, offset, ROWS, page.total),
            marking_dialog(lists.items, total=page.total),
        ],
        className="across-page",
    )


def filter_of(query: Mapping[str, str]) -> ProjectPromptFilter:
    """Return the filter of an address; unknown keys are ignored."""
    return legal(ProjectPromptFilter, query)


def _actions(kept: Mapping[str, str]) -> list[Any]:
    query = f"?{urlencode(kept)}" if kept else ""
    return [
        *download_links("/api/v1/prompts", "prompts", query),
        link_button("Prompt lists", "/prompt-lists", variant="default", size="xs"),
        html.Div(dmc.Button("Put on a list…", id="across-mark", size="xs"), className="for-members"),
    ]


def _filters(wanted: ProjectPromptFilter, projects: Sequence[str], project: str) -> dmc.Group:
    return dmc.Group(
        [
            dmc.TextInput(
                id="across-search", label="Search", value=wanted.search or "", placeholder="Identifier or text", w=220,
                size="xs",
            ),
            html.Div(
                [
                    html.Div("Show", className="across-label"),
                    small_select("across-show", "Show", wanted.show, choices(SHOWN), w=250),
                ]
            ),
            dmc.TextInput(
                id="across-runs", label="In at least … runs", value=str(wanted.min_runs), w=130, size="xs"
            ),
            html.Div(
                [
                    html.Div("Project", className="across-label"),
                    small_select("across-project", "Project", project, list(projects), w=160),
                ],
                style={} if len(projects) > 1 else {"display": "none"},
            ),
            dmc.Button("Filter", id="across-filter", variant="default", size="xs"),
        ],
        align="flex-end",
        gap="sm",
        mb="sm",
    )  # fmt: skip


def _waiting(page: ProjectPromptPage) -> Any:
    if not page.num_waiting:
        return None
    text = f"{counted(page.num_waiting, 'run')} not counted yet: it happens in the background, some runs a second."
    return dmc.Alert(text, color="gray", variant="light", p="xs", mb="sm")


def _content(page: ProjectPromptPage, wanted: ProjectPromptFilter, kept: Mapping[str, str]) -> Any:
    if not page.items and wanted == ProjectPromptFilter(project=wanted.project):
        text = "Prompts appear here after a run has sampled them, with their results in every run."
        return notice("No prompts yet", text, icon_name="runs", action=link_button("New run", "/new", variant="light"))
    if not page.items:
        return notice("No prompt matches", "Nothing matches this filter.", icon_name="search",
                      action=link_button("Show all", "/prompts", variant="light"))  # fmt: skip
    head = (
        "", "Prompt", *(_sorter(order, wanted, kept) for order in ORDERS), "Never / always solved in", "Lists"
    )  # fmt: skip
    return table_card(head, [_row(each, page.project) for each in page.items], "queue-table across-table")


def _sorter(order: str, wanted: ProjectPromptFilter, kept: Mapping[str, str]) -> Link:
    label, first = ORDERS[order]
    is_sorted = wanted.sort == order
    descending = not wanted.descending if is_sorted else first == "down"
    sign = (" ↓" if wanted.descending else " ↑") if is_sorted else ""
    query = {**kept, "sort": order, "descending": str(descending).lower()}
    return Link(f"{label}{sign}", href=f"/prompts?{urlencode(query)}", className="across-sorter")


def _row(each: PromptTotalsAcross, project: str) -> html.Tr:
    return row(
        pick(each.prompt_id),
        html.Div(
            [
                Link(each.prompt_id, href=address_of(each.prompt_id, project), className="sample-link wrap-anywhere"),
                html.Div(each.text or "text not stored", className="queue-detail across-text"),
            ]
        ),
        accuracy_cell(each.accuracy),
        cell(f"{each.accuracy.num_responses:,}", "number"),
        cell(f"{each.num_runs:,}", "number"),
        cell(_suspected(each), "number"),
        cell(f"{each.num_never_solved:,} / {each.num_always_solved:,}", "number"),
        html.Div(badges(each.lists), className="across-lists"),
        attributes={"data-prompt": each.prompt_id},
    )


def _suspected(each: PromptTotalsAcross) -> Any:
    if not each.num_suspected:
        return "–"
    return dmc.Badge(counted(each.num_suspected, "run"), color="yellow", variant="light", size="sm")


PAGES = (Page("/prompts", layout, section="prompts-over-all-runs", query_makes_page=True),)


def register(app: Dash, _: Api) -> None:
    """Write the filter into the address, and open the form."""
    open_when_pressed(app, "across-mark", "mark-dialog")

    @when_pressed(
        app,
        "across-filter",
        Input("across-search", "n_submit"),
        Input("across-runs", "n_submit"),
        states=[State(f"across-{name}", "value") for name in ("search", "show", "runs", "project")],
    )
    async def show(_: Any, search: str, shown: str, min_runs: str, project: str) -> None:
        given = (min_runs or "").strip()
        # What is no number of runs filters nothing.
        runs = str(min(max(1, int(given)), 1_000_000)) if given.isdecimal() else ""
        wanted = {"search": (search or "").strip()[:200], "show": shown, "min_runs": runs, "project": project}
        usual = {"search": "", "show": "all", "min_runs": "1"}
        found = urlencode({name: value for name, value in wanted.items() if value and value != usual.get(name)})
        go_to(f"/prompts{'?' + found if found else ''}")
