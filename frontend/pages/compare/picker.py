"""The choice of the runs: a search over all of them, and what to do while none is selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.runs import RunSummary
from bapo.client import AsyncClient
from frontend.components.elements import Link, attributes
from frontend.components.icon import icon
from frontend.components.markup import Later
from frontend.components.notices import link_button, notice
from frontend.pages.compare.view import MOST_RUNS, View

MOST_FOUND = 30
MOST_UNFOLDED = 12
"""Pills; browsers take a third of a second to draw fifty."""


def run_picker(view: View, options: Sequence[dict[str, str]]) -> Any:
    """Return the selected runs as pills, folded up where they are many; typing searches all runs on the server."""
    picker = dmc.MultiSelect(
        id="compare-runs",
        value=list(view.runs),
        data=list(options),
        searchable=True,
        clearable=True,
        hidePickedOptions=True,
        clearSearchOnChange=True,
        maxValues=MOST_RUNS,
        # The server has searched already, also in notes, tags and configs.
        filter={"function": "compareFound"},
        placeholder="Add runs: name, tag, method.c1=0.25 …",
        nothingFoundMessage="No other run matches",
        leftSection=icon("search", 16),
        size="sm",
        className="compare-runs",
        **attributes(aria_label="Runs to compare"),
    )
    if len(view.runs) <= MOST_UNFOLDED:
        return picker
    counted_runs = html.Span(counted(len(view.runs), "run"), id="compare-count")
    return html.Details(
        [html.Summary([counted_runs, ": show, add or remove"]), Later(picker)], className="compare-choice"
    )


async def run_options(
    client: AsyncClient, chosen: Sequence[str], options: Sequence[dict[str, str]], search: str | None
) -> list[dict[str, str]]:
    """Return the selected runs and those that match; runs of the same name show their identifiers."""
    page = await client.runs(search=search or None, limit=MOST_FOUND)
    names = {option["value"]: option["label"] for option in options if option["value"] in chosen}
    found = {run.id: run.name for run in page.items if run.id not in names}
    times = Counter([*names.values(), *found.values()])
    labels = names | {run_id: name if times[name] == 1 else f"{name} ({run_id})" for run_id, name in found.items()}
    return [{"value": run_id, "label": label} for run_id, label in labels.items()]


def nothing_chosen(recent: Sequence[RunSummary]) -> Any:
    """Return instructions for selecting runs, and the groups of the newest ones."""
    by_group: dict[str, list[RunSummary]] = {}
    for run in recent:
        if run.group:
            by_group.setdefault(run.group, []).append(run)
    offers = [
        (f"{name} ({counted(len(members), 'run')})", members)
        for name, members in by_group.items()
        if 2 <= len(members) <= MOST_RUNS
    ][:4]
    if not offers and len(recent) >= 2:
        offers = [("The 2 newest runs", list(recent[:2]))]
    links = [
        link_button(
            label,
            f"/compare?runs={','.join(run.id for run in members)}",
            variant="light",
            size="xs",
            className="compare-offer",
        )
        for label, members in offers
    ]
    return notice(
        "Select two or more runs",
        html.Span(
            [
                "Search for them above, or select them in the ",
                Link("run list", href="/runs"),
                " and press Compare there. Runs that differ only in their seed form a group, with a mean and its "
                "95 % interval. The address of this page restores all choices.",
            ]
        ),
        icon_name="compare",
        action=dmc.Group(links, justify="center", gap="xs") if links else None,
    )
