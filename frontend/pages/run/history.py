"""The tab History: the requests to the trainer with their outcomes, and who did what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html

from bapo.api.runs import AuditEntry, ControlInfo
from bapo.figures import formatting
from frontend.components.actions import in_place
from frontend.components.card import card
from frontend.components.controls import small_button
from frontend.components.elements import attributes, store_button
from frontend.components.symbols import short_name
from frontend.components.text import moment
from frontend.request.session import Api

WITHDRAW = "change-withdraw"
"""Names the buttons that withdraw a change."""


def control_list(
    controls: Sequence[ControlInfo], marked: str | None = None, *, withdrawable: bool = False
) -> list[Any]:
    """Return the requests with their outcomes, newest first; an applied one leads to its mark on the charts.

    With `withdrawable`, a pending change has a button that withdraws it.
    """
    colours = {"pending": "yellow", "applied": "green", "refused": "red", "withdrawn": "gray"}
    items = []
    for control in sorted(controls, key=lambda each: each.created_at, reverse=True):
        changes = changed_values(control.set)
        outcome = {
            "pending": _waiting(control),
            "withdrawn": f"withdrawn by {control.withdrawn_by}",
            "applied": "" if control.applied_step is None else f"in force from step {control.applied_step:,}",
            "refused": control.reason or "refused by the trainer",
        }[control.state]
        has_mark = control.kind == "change" and control.state == "applied"
        items.append(
            html.Div(
                [
                    dmc.Badge(control.state, color=colours[control.state], **attributes(data_control=control.state)),
                    html.Span(changes or control.kind, className="control-change"),
                    html.Span(outcome, className="fact"),
                    html.Span([f"{control.author}, ", moment(control.created_at)], className="fact"),
                    *([_to_charts(control.id)] if has_mark else []),
                    *([_withdraw(control)] if withdrawable and _can_be_withdrawn(control) else []),
                ],
                className="control marked" if control.id == marked else "control",
            )
        )
    return items


def changed_values(changes: Mapping[str, Any]) -> str:
    """Return a change in words: "c1 = 1/4, v = 7"."""
    return ", ".join(f"{short_name(path)} = {formatting.config_value(value)}" for path, value in changes.items())


def _waiting(control: ControlInfo) -> str:
    if control.withdrawn_by is not None:
        return f"withdrawn by {control.withdrawn_by}, unless already applied"
    if control.when == "checkpoint":
        return "waiting for the next regular checkpoint"
    if control.when == "now":
        return "stopping the trainer"
    return "waiting for the next step boundary" if control.at_step is None else f"waiting for step {control.at_step:,}"


def _can_be_withdrawn(control: ControlInfo) -> bool:
    return control.kind == "change" and control.state == "pending" and control.withdrawn_by is None


def _withdraw(control: ControlInfo) -> dmc.Button:
    return small_button("Withdraw", **store_button(WITHDRAW, id=control.id))


def _to_charts(name: str) -> html.Button:
    return html.Button(
        "Show on charts",
        type="button",
        className="text-button",
        **attributes(data_show_mark=name),
    )


def audit_detail(entry: AuditEntry) -> str:
    """Return an entry's details besides its action, without empty values."""
    detail = dict(entry.detail)
    moved = f"{detail.pop('from')} → {detail.pop('to')}" if {"from", "to"} <= detail.keys() else ""
    rest = [
        f"{name.replace('_', ' ')} {_plain(value)}" for name, value in detail.items() if value not in (None, {}, [])
    ]
    return ", ".join(part for part in (moved, *rest) if part)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{short_name(name)} = {_plain(part)}" for name, part in value.items())
    return formatting.config_value(value)


def history_panel(audit: Sequence[AuditEntry], controls: Sequence[ControlInfo], marked: str | None = None) -> html.Div:
    """Return the tab; the request whose mark was clicked on a chart is highlighted."""
    entries = [
        html.Div(
            [
                html.Span(moment(entry.at), className="audit-time"),
                html.Span(entry.author, className="audit-author"),
                html.Span(entry.action.replace("_", " "), className="audit-action"),
                html.Span(audit_detail(entry), className="audit-detail"),
            ],
            className="audit",
        )
        for entry in sorted(audit, key=lambda each: each.at, reverse=True)
    ]
    requests = control_list(controls, marked) or [dmc.Text("No requests yet.", size="sm", c="dimmed")]
    actions = entries or [dmc.Text("Nothing yet.", size="sm", c="dimmed")]
    cards = [card(*requests, title="Requests to the trainer"), card(*actions, title="Actions")]
    return html.Div(cards, className="panel-stack")


def register(app: Dash, api: Api) -> None:
    """Fill the tab, and follow what happens."""

    @app.callback(
        Output("history", "children"),
        Input("history", "id"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        State("history", "data-mark"),
        on_error=in_place("history"),
    )
    async def show_history(_: str, __: int, run_id: str, marked: str | None) -> Any:
        history = await api.client().history(run_id)
        return history_panel(history.audit, history.controls, marked)
