"""One prompt list: its entries, its versions, and the runs that were submitted with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.prompt_lists import (
    PromptListEntryInfo,
    PromptListEntryPage,
    PromptListInfo,
    PromptListRun,
    PromptListVersionInfo,
)
from bapo.config.prompt_weights import LEFT_OUT, weight_text
from frontend.components.card import crumbs, page_heading, section_title
from frontend.components.changes_query import changes_text
from frontend.components.controls import download_links
from frontend.components.elements import Link, Store
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.components.prompts import pick
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.pages.prompt_lists.editor import PICK, entry_form
from frontend.pages.prompt_lists.overview import FIELD, run_link
from frontend.request.session import Api

ROWS = 100
MOST_VERSIONS = 20
HEAD = ("", "Prompt", "Weight", "Note", "By", "Added")


async def layout(api: Api, path: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the page of the newest version, or of the one in the address."""
    list_id, client = path["list_id"], api.client()
    version, offset = (int(query[name]) if query.get(name, "").isdecimal() else None for name in ("version", "offset"))
    search = query.get("search") or None
    info, entries, versions, runs = await asyncio.gather(
        client.prompt_list(list_id),
        client.prompt_list_entries(list_id, version, search=search, offset=offset or 0, limit=ROWS),
        client.prompt_list_versions(list_id),
        client.prompt_list_runs(list_id),
    )
    is_newest = entries.version == info.version
    return html.Div(
        [
            Store(id="list-mounted", data={"id": info.id, "project": info.project}),
            crumbs(Link("Prompt lists", href="/prompt-lists", className="crumb")),
            page_heading(f"@{info.name}", info.description or None, *_actions(info, entries.version)),
            _facts(info, entries, is_newest=is_newest),
            *([html.Div(entry_form(), className="for-members")] if is_newest else []),
            _entries(info, entries, search, offset or 0, is_newest=is_newest),
            *([section_title("Versions"), _versions(info, versions.items)] if versions.items else []),
            *([section_title("Runs with this list"), _runs(info, runs.items)] if runs.items else []),
        ],
        className="across-page",
    )


def _actions(info: PromptListInfo, version: int) -> list[Any]:
    query = f"?version={version}" if version else ""
    return [
        *download_links(f"/api/v1/prompt-lists/{info.id}/entries", f"{info.name}-{version}", query),
        html.Div(run_link(info), className="for-members"),
    ]


def _facts(info: PromptListInfo, entries: PromptListEntryPage, *, is_newest: bool) -> Any:
    if not is_newest:
        text = [
            f"Version {entries.version:,} of {info.version:,}. ",
            Link("Show the newest", href=f"/prompt-lists/{info.id}"),
        ]
        return dmc.Alert(text, color="gray", variant="light", p="xs", mb="sm")
    facts = (
        f"version {info.version:,}",
        f"{info.num_quarantined:,} quarantined",
        f"{info.num_weighted:,} weighed",
        f"{counted(info.num_runs, 'run')}",
        f"by {info.owner} in {info.project}",
    )
    return html.Div([html.Span(each, className="fact") for each in facts], className="run-facts")


def _entries(
    info: PromptListInfo, page: PromptListEntryPage, search: str | None, offset: int, *, is_newest: bool
) -> Any:
    if not page.items and not search:
        text = "Add prompts above, from a file, from the project's prompts, or from what a finding of a run names."
        return notice(
            "Nothing on this list", text, icon_name="tag", action=link_button("Prompts", "/prompts", variant="light")
        )
    here = {"version": str(page.version)} if not is_newest else {}
    more = []
    for label, to in (("‹ Previous", offset - ROWS), ("Next ›", offset + ROWS)):
        if 0 <= to < page.total:
            query = urlencode({**here, **({"search": search} if search else {}), "offset": str(to)})
            more.append(link_button(label, f"/prompt-lists/{info.id}?{query}", size="xs", variant="default"))
    shown = f"{offset + 1:,} to {offset + len(page.items):,} of {page.total:,}" if page.items else "nothing matches"
    return table_card(
        HEAD,
        [_entry(each, info, is_newest=is_newest) for each in page.items],
        "queue-table across-table",
        dmc.Group([html.Span(shown, className="queue-detail"), *more], gap="sm", mt="xs"),
    )


def _entry(each: PromptListEntryInfo, info: PromptListInfo, *, is_newest: bool) -> html.Tr:
    href = f"/prompts/{quote(each.prompt_id, safe='')}?{urlencode({'project': info.project})}"
    weight = (
        dmc.Badge("quarantined", color="red", variant="light", size="sm")
        if each.weight == LEFT_OUT
        else f"× {weight_text(each.weight)}"
    )
    return row(
        pick(each.prompt_id, PICK) if is_newest else None,
        Link(each.prompt_id, href=href, className="sample-link wrap-anywhere"),
        weight,
        html.Div(each.note, className="across-text"),
        each.author,
        cell(moment(each.added_at), "nowrap"),
        attributes={"data-prompt": each.prompt_id},
    )


def _versions(info: PromptListInfo, versions: Sequence[PromptListVersionInfo]) -> Any:
    rows = [
        row(
            Link(f"{each.number:,}", href=f"/prompt-lists/{info.id}?version={each.number}", className="sample-link"),
            f"{each.num_set:,} set, {each.num_removed:,} taken off",
            f"{each.num_quarantined:,} quarantined, {each.num_weighted:,} weighed",
            each.author,
            moment(each.created_at),
        )
        for each in versions[:MOST_VERSIONS]
    ]
    return table_card(("Version", "Change", "Since", "By", "When"), rows, "queue-table")


def _runs(info: PromptListInfo, runs: Sequence[PromptListRun]) -> Any:
    rows = [
        row(
            Link(each.name, href=f"/runs/{each.id}", className="sample-link wrap-anywhere"),
            each.status,
            f"version {each.version:,}",
            moment(each.created_at),
            html.Div(
                link_button("Clone with the newest", clone_address(each.id, info), size="compact-xs", variant="light"),
                className="for-members",
            ),
        )
        for each in runs
    ]
    return table_card(("Run", "State", "With", "Started", ""), rows, "queue-table")


def clone_address(run_id: str, info: PromptListInfo) -> str:
    """Return the form of a clone that takes the list as it is now."""
    return "/new?" + urlencode({"parent": run_id, "set": changes_text({FIELD: f"@{info.name}"})}, safe="@:")


PAGES = (Page("/prompt-lists/(?P<list_id>[^/]+)", layout, section="prompt-lists", query_makes_page=True),)
