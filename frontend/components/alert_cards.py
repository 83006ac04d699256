"""Alerts as cards, on the page of the alerts and on that of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import get_args

import dash_mantine_components as dmc
from dash import html

from bapo.api.alerts import AlertInfo, AlertKind
from frontend.components.controls import small_button
from frontend.components.elements import Link, store_button
from frontend.components.text import moment

KINDS: Mapping[AlertKind, str] = {
    "finished": "Finished",
    "failed": "Failed",
    "lost": "Lost",
    "stalled": "No progress",
    "entropy_collapse": "Entropy collapse",
    "empty_batches": "Empty batches",
    "fill_rate": "Fill rate",
    "ratio": "Importance ratio",
    "finding": "Finding",
    "metric": "Any metric",
}
assert set(KINDS) == set(get_args(AlertKind)), "each kind has a name"


def acknowledging(page: str) -> str:
    """Return the name of the buttons that acknowledge an alert: of the `list`, or on the page of one `run`."""
    return f"alert-acknowledge-{page}"


def alert_cards(alerts: Sequence[AlertInfo], *, page: str = "list") -> list[html.Div]:
    """Return a card for each alert; on the page of one `run` without its name."""
    now = datetime.now(UTC)
    return [_card(alert, now, page) for alert in alerts]


def _card(alert: AlertInfo, now: datetime, page: str) -> html.Div:
    run = Link(alert.run, href=f"/runs/{alert.run_id}", className="alert-run", title=alert.run)
    head = [
        *([run] if page != "run" else []),
        dmc.Badge(KINDS[alert.kind], color="gray", variant="outline", size="sm"),
        html.Span(alert.rule, className="wrap-anywhere"),
        html.Span(f"step {alert.step:,}"),
    ]
    side = [moment(alert.opened_at, now=now), Link("See why", href=alert.link, className="alert-link")]
    if alert.acknowledged_at is None and alert.resolved_at is None:
        side.append(
            small_button(
                "Acknowledge",
                {"type": acknowledging(page), "id": alert.id},
                className="for-members",
                **store_button(acknowledging(page), id=alert.id),
            )
        )
    notes = [
        *([f"Acknowledged by {alert.acknowledged_by}"] if alert.acknowledged_by else []),
        *([f"Resolved: {alert.resolution}"] if alert.resolution else []),
    ]
    return html.Div(
        [
            html.Div(
                [
                    html.Div(head, className="alert-head"),
                    html.Div(alert.message, className="alert-message"),
                    html.Div(alert.advice, className="alert-advice") if alert.resolved_at is None else None,
                    html.Div(" · ".join(notes), className="alert-advice") if notes else None,
                ]
            ),
            html.Div(side, className="alert-side"),
        ],
        className=f"alert-card {_look(alert)}",
    )


def _look(alert: AlertInfo) -> str:
    if alert.kind == "finished":
        return "notice"
    if alert.resolved_at is not None:
        return "over"
    return "seen" if alert.acknowledged_at is not None else "open"
