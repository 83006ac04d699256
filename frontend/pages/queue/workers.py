"""The slots of the workers with the runs in them, and the table of all machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.queue import GpuSlot, HeldRun, WorkerSlots
from bapo.api.workers import Delivery
from bapo.figures import formatting
from frontend.components.controls import small_button
from frontend.components.elements import Link, attributes, store_button
from frontend.components.notices import notice
from frontend.components.runs import status_badge
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.pages.queue.waiting_table import cancel_button

WORKER_ACTION = "worker-action"
"""Names the buttons that drain, undrain and forget a worker."""
DELIVERIES: Mapping[Delivery, str] = {"broker": "runs from the broker", "https": "runs over HTTPS"}
"""Channel through which workers receive their runs."""
MOST_FREE_SHOWN = 8
"""Free slots that are drawn one by one; the others are counted."""

GIB = 1024.0**3


def worker_board(workers: Sequence[WorkerSlots], now: datetime) -> Any:
    """Return a card for each worker, with one line for each slot."""
    if not workers:
        return _no_workers()
    return html.Div([_card(worker, now) for worker in workers], className="worker-grid")


def _no_workers() -> Any:
    text = (
        "Runs wait until a machine takes them. On this machine `bapo up` starts a worker; another joins over HTTPS "
        "with `bapo worker --server ADDRESS --token-file FILE`."
    )
    return notice("No worker is connected", text, icon_name="alert")


def _card(worker: WorkerSlots, now: datetime) -> html.Div:
    free = worker.slots - worker.busy
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
                    _state(worker),
                ],
                className="worker-head",
            ),
            html.Div(
                [f"{worker.host} · heartbeat ", moment(worker.last_seen_at, now=now), *_gpus(worker)],
                className="queue-detail",
            ),
            _end(worker),
            _meters(worker),
            _gpu_board(worker),
            html.Div(lines, className="slots"),
        ],
        className="panel-card worker-card",
        key=worker.id,
    )


def _end(worker: WorkerSlots) -> html.Div | None:
    """Return the machine's end, if the worker knows it."""
    if worker.drain_before is None:
        return None
    until = ["its machine ends ", moment(worker.drain_before, relative=False), "; runs are given back before that"]
    return html.Div(until, className="queue-detail")


def _gpus(worker: WorkerSlots) -> list[str]:
    if not worker.gpus:
        return [" · no GPU"]
    kinds = Counter(gpu.name for gpu in worker.gpus)
    return [" · " + ", ".join(f"{number} × {name}" for name, number in kinds.items())]


def _state(worker: WorkerSlots) -> html.Span:
    if not worker.online:
        text, kind = "silent", "bad"
    elif worker.draining:
        text, kind = "draining, handing over its runs" if worker.hands_on and worker.runs else "draining", "waits"
    else:
        text, kind = "online", "good"
    return html.Span([html.Span(className="status-dot"), text], className=f"worker-state {kind}")


def _gpu_board(worker: WorkerSlots) -> html.Div | None:
    """Return each GPU with its memory and the run that holds it."""
    if not worker.gpus:
        return None
    names = {run.id: run.name for run in worker.runs}
    return html.Div([_gpu(gpu, names, worker.system) for gpu in worker.gpus], className="gpus")


def _gpu(gpu: GpuSlot, names: Mapping[str, str], system: Mapping[str, float]) -> html.Div:
    memory = f"{gpu.memory_gib:.0f} GiB" if gpu.memory_gib else "memory unknown"
    holder = names.get(gpu.run_id or "", "a run of another project") if gpu.is_held else "free"
    load, used = system.get(f"gpu_{gpu.index}_percent"), system.get(f"gpu_{gpu.index}_memory_used_bytes")
    if used is not None and gpu.memory_gib:
        memory = f"{used / GIB:.0f} of {gpu.memory_gib:.0f} GiB"
    return html.Div(
        [
            html.B(f"GPU {gpu.index}"),
            *([] if load is None else [html.Span(f"{load:.0f} %", className="gpu-load"), _load_bar(gpu.index, load)]),
            html.Span(memory),
            html.Span(holder, className="gpu-holder"),
        ],
        className=f"gpu {'gpu-held' if gpu.is_held else 'gpu-free'}",
        title=f"{gpu.name}, {memory}: {holder}",
    )


def _load_bar(index: int, load: float) -> dmc.Progress:
    label = f"Load of GPU {index}"
    return dmc.Progress(
        value=load, size="xs", color="var(--bapo-muted)", className="gpu-bar", **attributes(aria_label=label)
    )


def _meters(worker: WorkerSlots) -> html.Div:
    """Return the shares that the machine reported, as bars."""
    system = worker.system
    shares = [("CPU", system["cpu_percent"])] if "cpu_percent" in system else []
    if system.get("memory_total_bytes"):
        shares.append(("Memory", 100 * system.get("memory_used_bytes", 0.0) / system["memory_total_bytes"]))
    reserved = sum(run.memory_gib for run in worker.runs)
    if reserved and worker.memory_gib:
        shares.append((f"Reserved of {worker.memory_gib:.0f} GiB", 100 * reserved / worker.memory_gib))
    return html.Div(
        [
            html.Div(
                [
                    html.Span(label, className="meter-label"),
                    dmc.Progress(
                        value=value, size="sm", color="var(--bapo-muted)", **attributes(aria_label=f"{label} in use")
                    ),
                    html.Span(f"{value:.0f} %", className="meter-value"),
                ],
                className="meter",
            )
            for label, value in shares
        ],
        className="meters",
    )


def _link(run: HeldRun) -> Link:
    return Link(run.name, href=f"/runs/{run.id}", className="queue-name", title=run.name)


def _held(run: HeldRun) -> html.Div:
    share = 100 * run.step / run.num_steps if run.num_steps else 0.0
    remaining = f" · {formatting.duration(run.eta_seconds)} left" if run.eta_seconds is not None else ""
    stops = "" if run.stop_seconds is None else f" · stops within about {formatting.duration(run.stop_seconds)}"
    stage = {"assigned": "sent, not taken yet", "claimed": "starting"}.get(run.state, "")
    where = _listed(run.gpus)
    steps = f"step {run.step:,} of {run.num_steps:,}{remaining}{stops}"
    return html.Div(
        [
            html.Div(
                [
                    _link(run),
                    status_badge(run.status, size="sm"),
                    cancel_button(run.id, run.name, "held") if run.may_cancel else None,
                ],
                className="slot-head",
            ),
            dmc.Progress(value=share, size="sm", **attributes(aria_label=f"Progress of {run.name}")),
            html.Div(f"{run.owner} · attempt {run.attempt} · {stage or steps}{where}", className="queue-detail"),
        ],
        className="slot",
        key=run.id,
    )


def _listed(gpus: Sequence[int]) -> str:
    if not gpus:
        return ""
    return f" · {'GPU' if len(gpus) == 1 else 'GPUs'} {', '.join(str(index) for index in gpus)}"


HEAD = ("Worker", "State", "Slots in use", "GPUs", "Runs", "Version", "Last heartbeat", "Started")


def worker_table(workers: Sequence[WorkerSlots], now: datetime, *, may_administer: bool = False) -> Any:
    """Return every registered machine, with its description and the time of its last heartbeat."""
    if not workers:
        return _no_workers()
    rows = [
        row(
            [
                html.Div(worker.name, className="worker-name"),
                _detail(worker.host),
                _detail(DELIVERIES[worker.delivery]),
                _end(worker),
                _meters(worker),
            ],
            [_state(worker), _actions(worker) if may_administer else None],
            cell(f"{worker.busy:,} of {worker.slots:,}", "number nowrap"),
            ["".join(_gpus(worker)).removeprefix(" · "), _gpu_board(worker)],
            [html.Div(_link(run)) for run in worker.runs] or "none",
            worker.version,
            cell(moment(worker.last_seen_at, now=now), "nowrap"),
            cell(moment(worker.registered_at, now=now), "nowrap"),
        )
        for worker in workers
    ]
    return table_card(HEAD, rows, "queue-table worker-table row-hover", spacing=12)


def _actions(worker: WorkerSlots) -> html.Div:
    """Return the actions on the worker that an administrator may take now."""
    verbs = ["undrain"] if worker.draining else ["drain"]
    if not worker.online:
        verbs.append("forget")
    return html.Div([_action(worker, verb) for verb in verbs], className="worker-actions")


def _action(worker: WorkerSlots, verb: str) -> dmc.Button:
    label = attributes(aria_label=f"{verb.capitalize()} {worker.name}")
    pressed = store_button(WORKER_ACTION, worker=worker.id, verb=verb, name=worker.name)
    return small_button(verb.capitalize(), **label, **pressed)


def _detail(text: str) -> html.Div:
    return html.Div(text, className="queue-detail")
