"""The audit trail of this server, for administrators; the address holds the filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
import orjson
from dash import Dash, Input, State, html

from bapo.api.people import AuditRecord
from frontend.components.actions import go_to, when_pressed
from frontend.components.card import page_heading
from frontend.components.elements import Link
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.request.session import Api

PAGE = 100
FIELDS = (("author", "User", "anyone"), ("action", "Action", "any"))
HEAD = ("Time", "User", "Action", "Details")


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the page, the newest entries first."""
    wanted = {name: query[name] for name, *_ in FIELDS if query.get(name)}
    page = await api.client().audit_trail(**wanted, cursor=query.get("cursor"), limit=PAGE)
    inputs = [
        dmc.TextInput(id=f"audit-{name}", label=label, value=wanted.get(name, ""), placeholder=placeholder, w=200)
        for name, label, placeholder in FIELDS
    ]
    older = []
    if page.next_cursor is not None:
        address = f"/audit?{urlencode({**wanted, 'cursor': page.next_cursor})}"
        older = [link_button("Older", address, variant="default", size="xs")]
    return html.Div(
        [
            page_heading("Audit trail"),
            dmc.Group(
                [*inputs, dmc.Button("Filter", id="audit-show", variant="default")], align="flex-end", gap="sm", mb="md"
            ),
            _table(page.items),
            dmc.Group(older, mt="sm"),
        ]
    )


def _table(records: Sequence[AuditRecord]) -> Any:
    if not records:
        return notice("No entries", "Nothing in the audit trail matches this filter.")
    return table_card(HEAD, [_row(each) for each in records], "audit-table")


def _row(record: AuditRecord) -> html.Tr:
    run = Link(record.run_id, href=f"/runs/{record.run_id}", className="queue-name") if record.run_id else None
    detail = ", ".join(
        f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
        for name, value in record.detail.items()
        if value not in (None, [], {})
    )
    return row(
        cell(moment(record.at, relative=False), "nowrap"),
        cell(record.author, "account-text"),
        cell([record.action.replace("_", " "), " " if run else "", run], "nowrap"),
        html.Div(detail[:2_000], className="audit-detail"),
    )


PAGES = (Page("/audit", layout, section="audit-trail", query_makes_page=True),)


def register(app: Dash, _: Api) -> None:
    """Write the filter into the address."""

    @when_pressed(
        app,
        "audit-show",
        *(Input(f"audit-{name}", "n_submit") for name, *_ in FIELDS),
        states=[State(f"audit-{name}", "value") for name, *_ in FIELDS],
    )
    async def show(_: Any, author: str, action: str) -> None:
        wanted = {"author": (author or "").strip(), "action": (action or "").strip().replace(" ", "_")}
        found = urlencode({name: value for name, value in wanted.items() if value})
        go_to(f"/audit{'?' + found if found else ''}")
