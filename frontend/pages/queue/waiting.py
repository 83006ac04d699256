"""The waiting runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from bapo.api import WaitingRun
from frontend import formatting
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import link_button, notice


def waiting_table(waiting: Sequence[WaitingRun], num_waiting: int, now: datetime) -> Any:
    """Place, run, priority, reason and expected start; the browser scrolls it sideways where it is narrow."""
    if not waiting:
        return notice(
            "Nothing waits",
            "A run that is submitted while no slot is free waits here, and says why.",
            icon_name="check",
            action=link_button("New run", "/new", leftSection=icon("plus", 16)),
        )
    head = ("", "Run", "Owner", "Priority", "Waits since", "Why", "Expected start", "")
    table = dmc.Table(
        [
            dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in head])),
            dmc.TableTbody([_row(run, now) for run in waiting]),
        ],
        highlightOnHover=True,
        className="queue-table",
        verticalSpacing="xs",
    )
    note = (
        [html.Div(f"the first {len(waiting):,} of {num_waiting:,}", className="chart-note")]
        if num_waiting > len(waiting)
        else []
    )
    return html.Div([dmc.ScrollArea(table, type="auto"), *note], className="panel-card")


def _row(run: WaitingRun, now: datetime) -> dmc.TableTr:
    progress = f"goes on from step {run.step:,} of {run.num_steps:,}" if run.attempt else f"{run.num_steps:,} steps"
    return dmc.TableTr(
        [
            dmc.TableTd(f"{run.position:,}", className="number"),
            dmc.TableTd(
                [
                    dcc.Link(run.name, href=f"/runs/{run.id}", className="queue-name", title=run.name),
                    html.Div(f"{run.method} · {progress}", className="queue-detail"),
                ]
            ),
            dmc.TableTd(run.owner),
            dmc.TableTd(run.priority, className="number"),
            dmc.TableTd(
                moment(run.queued_at, now=now),
                className="nowrap",
            ),
            dmc.TableTd(_reason(run)),
            dmc.TableTd(_expected(run.expected_seconds), className="nowrap"),
            dmc.TableTd(cancel_button(run.id, run.name, "waiting") if run.may_cancel else None),
        ],
    )


def _reason(run: WaitingRun) -> str:
    if run.promised_to:
        return f"sent to {run.promised_to}, which has not taken it yet"
    return run.reason or "the server is looking for a slot"


def _expected(seconds: float | None) -> str:
    if seconds is None:
        return "not known"
    return "now" if seconds <= 0 else f"in about {formatting.duration(seconds)}"


def cancel_button(run_id: str, name: str, kind: str) -> dmc.ActionIcon:
    """Asks first; `kind` says whether the run waits or is held by a worker."""
    return dmc.ActionIcon(
        icon("cross", 16),
        id={"type": "queue-cancel", "run": run_id, "kind": kind, "name": name},
        variant="subtle",
        color="red",
        size="sm",
        **attributes(aria_label=f"Cancel {name}"),
    )
