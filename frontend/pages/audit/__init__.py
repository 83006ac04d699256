"""Who did what on this server, for administrators; the address holds whom and what is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
import orjson
from dash import Dash, Input, Output, State, dcc, html, no_update

from bapo.api.people import AuditRecord
from frontend.components.moment import moment
from frontend.components.notices import link_button, notice
from frontend.session import Api

PAGE = 100
HEAD = ("When", "Who", "What", "")


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The newest first."""
    wanted = {name: query[name] for name in ("author", "action") if query.get(name)}
    page = await api.client().audit_trail(**wanted, cursor=query.get("cursor"), limit=PAGE)
    older = None
    if page.next_cursor is not None:
        address = f"/audit?{urlencode({**wanted, 'cursor': page.next_cursor})}"
        older = link_button("Older", address, variant="default", size="xs")
    return html.Div(
        [
            dmc.Title("Audit trail", order=2, mb="xs"),
            dmc.Group(
                [
                    dmc.TextInput(
                        id="audit-author", label="Who", value=wanted.get("author", ""), placeholder="anybody", w=200
                    ),
                    dmc.TextInput(
                        id="audit-action", label="What", value=wanted.get("action", ""), placeholder="anything", w=200
                    ),
                    dmc.Button("Show", id="audit-show", variant="default"),
                ],
                align="flex-end",
                gap="sm",
                mb="md",
            ),
            _table(page.items),
            dmc.Group([older], mt="sm"),
        ]
    )


def _table(records: Any) -> Any:
    if not records:
        return notice("Nothing of this kind", "Nobody has done this yet: look for somebody or something else.")
    table = dmc.Table(
        [
            dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in HEAD])),
            dmc.TableTbody([_row(each) for each in records]),
        ],
        verticalSpacing="xs",
        className="audit-table",
    )
    return html.Div(dmc.ScrollArea(table, type="auto"), className="panel-card")


def _row(record: AuditRecord) -> dmc.TableTr:
    run = dcc.Link(record.run_id, href=f"/runs/{record.run_id}", className="queue-name") if record.run_id else None
    detail = ", ".join(
        f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
        for name, value in record.detail.items()
        if value not in (None, [], {})
    )
    return dmc.TableTr(
        [
            dmc.TableTd(moment(record.at, relative=False), className="nowrap"),
            dmc.TableTd(record.author, className="account-text"),
            dmc.TableTd([record.action.replace("_", " "), " " if run else "", run], className="nowrap"),
            dmc.TableTd(html.Div(detail[:2_000], className="audit-detail")),
        ]
    )


def register(app: Dash, _: Api) -> None:
    """The fields go into the address."""

    @app.callback(
        Output("url", "href", allow_duplicate=True),
        Input("audit-show", "n_clicks"),
        Input("audit-author", "n_submit"),
        Input("audit-action", "n_submit"),
        State("audit-author", "value"),
        State("audit-action", "value"),
        prevent_initial_call=True,
    )
    def show(clicks: int | None, author_submits: int | None, action_submits: int | None, who: str, what: str) -> Any:
        if not (clicks or author_submits or action_submits):
            return no_update
        wanted = {"author": (who or "").strip(), "action": (what or "").strip().replace(" ", "_")}
        found = urlencode({name: value for name, value in wanted.items() if value})
        return f"/audit{'?' + found if found else ''}"
