"""The waiting runs: rows that `assets/queue.js` drags, selects and changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.queue import WaitingRun
from bapo.config.method import method_name
from bapo.figures import formatting
from frontend.components.controls import icon_button
from frontend.components.elements import Link, attributes, store_button
from frontend.components.icon import icon
from frontend.components.notices import link_button, notice
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment

CANCEL = "queue-cancel"
"""Names the buttons that cancel a run, and the question before that."""


HEAD = ("", "", "Run", "Owner", "Priority", "Queued", "Reason", "Expected start", "")


def waiting_table(waiting: Sequence[WaitingRun], num_waiting: int, now: datetime) -> Any:
    """Return place, run, priority, reason and expected start of the waiting runs."""
    if not waiting:
        return notice(
            "No run is waiting",
            "A run that is submitted while no slot is free waits here, with the reason.",
            icon_name="check",
            action=link_button("New run", "/new", leftSection=icon("plus", 16)),
        )
    is_cut = num_waiting > len(waiting)
    note = [html.Div(f"first {len(waiting):,} of {num_waiting:,}", className="chart-note")] if is_cut else []
    rows = [_row(run, now) for run in waiting]
    return table_card(HEAD, rows, "queue-table waiting-table row-hover", *note)


def _row(run: WaitingRun, now: datetime) -> html.Tr:
    progress = f"resumes at step {run.step:,} of {run.num_steps:,}" if run.attempt else f"{run.num_steps:,} steps"
    details = " · ".join(part for part in (method_name(run.method), progress, needs_text(run)) if part)
    return row(
        cell(_handles(run) if run.may_cancel else None, "queue-handles"),
        cell("held" if run.position is None else f"{run.position:,}", "number"),
        [
            Link(run.name, href=f"/runs/{run.id}", className="queue-name", title=run.name),
            html.Div(details, className="queue-detail"),
        ],
        html.Div(run.owner, className="queue-owner", title=run.owner),
        cell(run.priority, "number"),
        cell(moment(run.queued_at, now=now), "nowrap"),
        [_reason(run), *([html.Div(run.retry, className="queue-detail")] if run.retry else [])],
        cell("" if run.position is None else _expected(run.expected_seconds), "nowrap"),
        cell(_actions(run) if run.may_cancel else None, "queue-actions"),
        look="queue-held" if run.held_by else "",
        attributes=attributes(
            data_run=run.id,
            data_name=run.name,
            data_priority=str(run.priority),
            data_held="1" if run.held_by else "",
            data_may="1" if run.may_cancel else "",
        ),
    )


def needs_text(run: WaitingRun) -> str:
    """Return what it needs of a worker, such as `4 GPUs of 80 GiB, 200 GiB`; empty if any slot will do."""
    parts = []
    if run.gpus:
        gpus = counted(run.gpus, "GPU")
        each = f" of {run.gpu_memory_gib:g} GiB" if run.gpu_memory_gib else ""
        parts.append("a GPU if available" + each if run.gpus_optional else gpus + each)
    if run.memory_gib:
        parts.append(f"{run.memory_gib:g} GiB")
    return ", ".join(parts)


def _handles(run: WaitingRun) -> html.Div:
    choose = html.Button(
        className="queue-check",
        role="checkbox",
        type="button",
        **attributes(aria_label=f"Select {run.name}", aria_checked="false"),
    )
    if run.held_by:
        return html.Div([html.Span(className="queue-no-handle"), choose])
    drag = html.Button(
        "⠿",
        className="queue-handle",
        type="button",
        title="Drag, or move with the arrow keys",
        **attributes(aria_label=f"Move {run.name}: arrow up, arrow down"),
    )
    return html.Div([drag, choose])


def _reason(run: WaitingRun) -> html.Div:
    if run.promised_to:
        return html.Div(f"sent to {run.promised_to}, not taken yet")
    return html.Div(run.reason or "looking for a slot", className="queue-reason")


def _expected(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    return "now" if seconds <= 0 else f"in about {formatting.duration(seconds)}"


def _actions(run: WaitingRun) -> html.Div:
    more = html.Button(
        "⋯",
        className="queue-more",
        type="button",
        **attributes(aria_label=f"Change {run.name}", aria_haspopup="menu"),
    )
    return html.Div([more, cancel_button(run.id, run.name, "waiting")])


def cancel_button(run_id: str, name: str, kind: str) -> dmc.ActionIcon:
    """Return a button that asks first; `kind` says whether the run waits or is held by a worker."""
    return icon_button("cross", f"Cancel {name}", **store_button(CANCEL, run=run_id, kind=kind, name=name))
