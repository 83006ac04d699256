"""Prompts over all runs of a project: the list, and one prompt across runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import bounds_text, percent
from bapo.api.prompts import Accuracy, ListedIn
from bapo.config.prompt_weights import LEFT_OUT, weight_text
from frontend.components.card import share_bar
from frontend.components.elements import Link, attributes

MISSING = "–"


def accuracy_cell(found: Accuracy) -> Any:
    """Return k/n as a share, with its posterior interval and a bar."""
    if found.value is None or found.low is None or found.high is None:
        return html.Span(MISSING, title="No evaluation is recorded")
    return html.Div(
        [
            html.Div(
                [
                    html.Span(percent(found.value), className="across-share"),
                    html.Span(bounds_text(found.low, found.high, percent), className="queue-detail"),
                ],
                className="across-figures",
            ),
            share_bar(found.value, found.low, found.high),
        ],
        title=f"{found.num_correct:,} of {found.num_responses:,} responses",
    )


def badges(lists: Sequence[ListedIn]) -> list[Any]:
    """Return what lists say of a prompt."""
    return [
        Link(
            dmc.Badge(
                f"@{each.name}: {'quarantined' if each.weight == LEFT_OUT else f'× {weight_text(each.weight)}'}",
                color="red" if each.weight == LEFT_OUT else "blue",
                variant="light",
                size="sm",
            ),
            href=f"/prompt-lists/{each.list_id}",
            className="plain-link",
            title=each.note,
        )
        for each in lists
    ]


def address_of(prompt_id: str, project: str | None = None) -> str:
    """Return the page of a prompt across runs."""
    query = f"?{urlencode({'project': project})}" if project else ""
    return f"/prompts/{quote(prompt_id, safe='')}{query}"


def paging(path: str, query: Mapping[str, str], offset: int, limit: int, total: int) -> html.Nav | None:
    """Return the page's position in a list with links to its neighbours; None if there is one page."""
    if total <= limit and not offset:
        return None

    def way(label: str, to: int, *, is_there: bool) -> Any:
        button = dmc.Button(label, size="xs", variant="default", color="gray", disabled=not is_there)
        if not is_there:
            return html.Span(button)
        return Link(button, href=f"{path}?{urlencode({**query, 'offset': str(to)})}", className="plain-link")

    last = min(offset + limit, total)
    return html.Nav(
        [
            way("‹ Previous", max(0, offset - limit), is_there=offset > 0),
            html.Span(f"{offset + 1:,} to {last:,} of {total:,}" if total > offset else f"of {total:,}"),
            way("Next ›", offset + limit, is_there=last < total),
        ],
        className="pages across-pages",
        **attributes(aria_label="Pages"),
    )


def offset_of(query: Mapping[str, str]) -> int:
    """Return where the page begins; 0 for an address that does not say."""
    given = query.get("offset", "")
    return int(given) if given.isdecimal() and len(given) < 8 else 0
