"""The difference between the migration of the reference group and that of another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from dash import html

from bapo.analysis.comparison import shown_name
from bapo.api.compare import CurveGroup
from bapo.api.difficulty import Migration
from bapo.client import ApiError, AsyncClient
from bapo.figures import formatting
from bapo.figures.methods import LineStyle
from bapo.figures.migration_difference import migration_difference_data, migration_difference_figure
from bapo.figures.theme import Palette
from frontend.pages.compare.panels import card

MOST_OF_A_GROUP = 10
"""Most runs of a group whose matrices are added up."""


async def migrations(client: AsyncClient, run_ids: Sequence[str]) -> list[Migration]:
    """Return the migrations from the base model to the last sampling, of the runs that track prompts."""
    asked = (_migration(client, run_id) for run_id in run_ids[:MOST_OF_A_GROUP])
    return [found for found in await asyncio.gather(*asked) if found is not None]


async def _migration(client: AsyncClient, run_id: str) -> Migration | None:
    try:
        return await client.migration(run_id, kind="tracked", from_step=0)
    except ApiError as error:
        if error.status in (404, 409, 422):
            return None
        raise


async def migration_card(
    client: AsyncClient, first: CurveGroup, second: CurveGroup, styles: dict[str, LineStyle], palette: Palette
) -> Any:
    """Return a card with the difference of the two matrices, in the colours of the two groups."""
    ours, theirs = await asyncio.gather(migrations(client, first.run_ids), migrations(client, second.run_ids))
    names = shown_name(first.label), shown_name(second.label)
    data = migration_difference_data(names[0], ours, names[1], theirs)
    if data is None:
        return html.P(
            "Not comparable: one of the groups tracked no prompts, or the group sizes differ.",
            className="compare-remark",
        )
    figure = migration_difference_figure(data, styles[first.label], styles[second.label], palette)
    note = (
        f"Percentage points of the tracked prompts, {names[1]} less {names[0]}; base model against step "
        f"{data.second_step:,} and {data.first_step:,}; {formatting.count(data.num_prompts[1])} and "
        f"{formatting.count(data.num_prompts[0])} prompts over all runs."
    )
    return card("migration", f"Migration: {names[1]} less {names[0]}", note, figure, palette, wide=True)
