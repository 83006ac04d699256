"""The line on the tab Overview about the run's warm start: what it learned from, and what that brought."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import html

from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from frontend.components.card import card


async def warm_start_line(client: AsyncClient, run: RunDetail) -> list[html.Section]:
    """Return the line; nothing for runs without a warm start, or before it has begun."""
    if not (run.config.get("warm_start") or {}).get("steps"):
        return []
    events = (await client.records(run.id, "event", to_step=0)).items
    said = next((each for each in reversed(events) if each["event"] == "warm_start"), None)
    return [] if said is None else [card(html.Div(_text(said), className="wrap-anywhere"), title="Warm start")]


def _text(event: Mapping[str, Any]) -> str:
    is_under_way = event["data"].get("phase") == "begun"
    return f"Under way: {event['message']}." if is_under_way else f"{event['message']}."
