"""Workers: their slots with what runs in them, and the table of all machines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from bapo.api import HeldRun, WorkerSlots
from frontend import formatting
from frontend.components.attributes import attributes
from frontend.components.moment import moment
from frontend.components.notices import notice
from frontend.components.status_badge import status_badge
from frontend.pages.queue.waiting import cancel_button

MOST_FREE_SHOWN = 8
"""Free slots drawn one by one; of more, their number."""

NO_WORKERS = (
    "No worker is connected",
    "Runs wait until a machine takes them. On this machine `bapo up` starts a worker; another joins with "
    "`bapo worker --server URL --token …`.",
)


def worker_board(workers: Sequence[WorkerSlots], now: datetime) -> Any:
    """A card for each worker, with one line for each slot."""
    if not workers:
        title, text = NO_WORKERS
        return notice(title, text, icon_name="alert")
    return html.Div([_card(worker, now) for worker in workers], className="worker-grid")


def _card(worker: WorkerSlots, now: datetime) -> html.Div:
    free = worker.slots - len(worker.runs)
    lines = [_held(run) for run in worker.runs]
    if worker.online:
        lines += [html.Div("free", className="slot slot-free") for _ in range(min(free, MOST_FREE_SHOWN))]
        if free > MOST_FREE_SHOWN:
            lines.append(html.Div(f"and {free - MOST_FREE_SHOWN:,} more free slots", className="queue-detail"))
    return html.Div(
        [
            html.Div(
                [
                    html.Span(worker.name, className="worker-name", title=worker.name),
                    html.Span(
                        [html.Span(className="status-dot"), "online" if worker.online else "silent"],
                        className=f"worker-state {'good' if worker.online else 'bad'}",
                    ),
                ],
                className="worker-head",
            ),
            html.Div(
                [f"{worker.host} · heartbeat ", _heartbeat(worker, now), *_gpus(worker)],
                className="queue-detail",
            ),
            _meters(worker),
            html.Div(lines, className="slots"),
        ],
        className="panel-card worker-card",
        key=worker.id,
    )


def _heartbeat(worker: WorkerSlots, now: datetime) -> html.Span:
    return html.Span(moment(worker.last_seen_at, now=now))


def _gpus(worker: WorkerSlots) -> list[str]:
    if not worker.gpus:
        return [" · no GPU"]
    kinds = {name: worker.gpus.count(name) for name in worker.gpus}
    return [" · " + ", ".join(f"{number} × {name}" for name, number in kinds.items())]


def _meters(worker: WorkerSlots) -> html.Div:
    """What the machine reported, as bars where it is a share."""
    system = worker.system
    shares = [(label, system[key]) for key, label in (("cpu_percent", "CPU"), ("gpu_percent", "GPU")) if key in system]
    if system.get("memory_total_bytes"):
        shares.append(("Memory", 100 * system.get("memory_used_bytes", 0.0) / system["memory_total_bytes"]))
    return html.Div(
        [
            html.Div(
                [
                    html.Span(label, className="meter-label"),
                    dmc.Progress(value=value, size="sm", color="gray", **attributes(aria_label=f"{label} in use")),
                    html.Span(f"{value:.0f} %", className="meter-value"),
                ],
                className="meter",
            )
            for label, value in shares
        ],
        className="meters",
    )


def _held(run: HeldRun) -> html.Div:
    share = 100 * run.step / run.num_steps if run.num_steps else 0.0
    remaining = f" · {formatting.duration(run.eta_seconds)} left" if run.eta_seconds is not None else ""
    stage = {"assigned": "sent, not taken yet", "claimed": "starting"}.get(run.state, "")
    steps = f"step {run.step:,} of {run.num_steps:,}{remaining}"
    return html.Div(
        [
            html.Div(
                [
                    dcc.Link(run.name, href=f"/runs/{run.id}", className="queue-name", title=run.name),
                    status_badge(run.status, size="sm"),
                    cancel_button(run.id, run.name, "held") if run.may_cancel else None,
                ],
                className="slot-head",
            ),
            dmc.Progress(value=share, size="sm", **attributes(aria_label=f"Progress of {run.name}")),
            html.Div(f"{run.owner} · attempt {run.attempt} · {stage or steps}", className="queue-detail"),
        ],
        className="slot",
        key=run.id,
    )


def worker_table(workers: Sequence[WorkerSlots], now: datetime) -> Any:
    """Every machine that has registered, with what it is and when it was heard of."""
    if not workers:
        title, text = NO_WORKERS
        return notice(title, text, icon_name="alert")
    head = ("Worker", "State", "Slots in use", "GPUs", "Runs", "Version", "Last heartbeat", "Started")
    rows = [
        dmc.TableTr(
            [
                dmc.TableTd([html.Div(worker.name, className="worker-name"), _detail(worker.host), _meters(worker)]),
                dmc.TableTd(
                    html.Span(
                        [html.Span(className="status-dot"), "online" if worker.online else "silent"],
                        className=f"worker-state {'good' if worker.online else 'bad'}",
                    )
                ),
                dmc.TableTd(f"{len(worker.runs):,} of {worker.slots:,}", className="number nowrap"),
                dmc.TableTd("".join(_gpus(worker)).removeprefix(" · "), className="nowrap"),
                dmc.TableTd(
                    [
                        html.Div(dcc.Link(run.name, href=f"/runs/{run.id}", className="queue-name", title=run.name))
                        for run in worker.runs
                    ]
                    or "none"
                ),
                dmc.TableTd(worker.version),
                dmc.TableTd(_heartbeat(worker, now), className="nowrap"),
                dmc.TableTd(
                    moment(worker.registered_at, now=now),
                    className="nowrap",
                ),
            ],
        )
        for worker in workers
    ]
    table = dmc.Table(
        [dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in head])), dmc.TableTbody(rows)],
        highlightOnHover=True,
        className="queue-table worker-table",
        verticalSpacing="sm",
    )
    return html.Div(dmc.ScrollArea(table, type="auto"), className="panel-card")


def _detail(text: str) -> html.Div:
    return html.Div(text, className="queue-detail")
