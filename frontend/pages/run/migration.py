"""Answers the section on migration when another step is chosen (assets/difficulty.js)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from bapo.analysis.number_format import bounds_text
from bapo.api.difficulty import Migration, MigrationKind, MigrationMatrix, MigrationRate
from bapo.client import AsyncClient
from bapo.figures.accuracy_counts import accuracy_counts, accuracy_counts_figure
from bapo.figures.flows import flow_columns, flows_figure
from bapo.figures.formatting import percent, points, share
from bapo.figures.migration_matrix import migration_cells, migration_matrix_figure
from bapo.figures.theme import Palette, palette_of, themed


async def migration_answer(client: AsyncClient, run_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer `?kind=tracked&from=0&to=50&difference=1&scheme=dark`.

    It has the steps really used (`from_step`, `to_step`), those that can be asked for (`steps`, `last_step`), `rates`
    for the tiles, and `figures` by card, None where there is nothing to draw.
    """
    found = await client.migration(
        run_id, kind=_kind(query), from_step=_step(query.get("from")), to_step=_step(query.get("to"))
    )
    palette = palette_of(query.get("scheme"))
    difference = query.get("difference") == "1" and found.null is not None
    return {
        "from_step": found.from_step,
        "to_step": found.to_step,
        "steps": found.steps,
        "last_step": found.last_step,
        "has_null": found.null is not None,
        "rates": _rate_tiles(found),
        "figures": {
            name: None if figure is None else _fitted(figure, palette)
            for name, figure in _figures(found, palette, difference=difference).items()
        },
        "notes": {"migration": "percentage points from chance" if difference else _prompts(found.matrix)},
    }


async def flows_answer(client: AsyncClient, run_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer `?kind=tracked&steps=0,50,100,150&scheme=dark` with the steps really used and the figure, or none."""
    wanted = [_step(part) for part in query["steps"].split(",")] if query.get("steps") else []
    steps = sorted({step for step in wanted if step is not None})
    found = await client.flows(run_id, kind=_kind(query), steps=steps or None)
    palette = palette_of(query.get("scheme"))
    figure = _fitted(flows_figure(flow_columns(found), palette), palette) if found.num_prompts else None
    return {
        "steps": found.steps,
        "figures": {"flows": figure},
        "notes": {"flows": f"{found.num_prompts:,} prompts" if found.num_prompts else ""},
    }


def _kind(query: Mapping[str, str]) -> MigrationKind:
    return "last_seen" if query.get("kind") == "last_seen" else "tracked"


def _step(text: str | None) -> int | None:
    """Return a step of an address; None, which is the server's choice, for anything else."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None


def _fitted(figure: go.Figure, palette: Palette) -> dict[str, Any]:
    """Return a figure as high as its card, which depends on its neighbours."""
    return themed(figure.update_layout(height=None), palette)


def _figures(found: Migration, palette: Palette, *, difference: bool) -> dict[str, Any]:
    matrix, null = found.matrix, found.null
    before, after = f"step {found.from_step:,}", f"step {found.to_step:,}"
    # With nothing seen before there may still be prompts that were first seen in between.
    has_cells = sum(matrix.before) > matrix.counts[-1][-1]
    return {
        "migration": migration_matrix_figure(
            migration_cells(matrix, before, after, null), palette, difference=difference
        )
        if has_cells
        else None,
        "migration-null": migration_matrix_figure(migration_cells(null, "step 0", "step 0 again"), palette)
        if null is not None
        else None,
        "accuracy-counts": accuracy_counts_figure(accuracy_counts(matrix, before, after), palette)
        if matrix.num_prompts
        else None,
    }


def _prompts(matrix: MigrationMatrix) -> str:
    return f"{matrix.num_prompts:,} prompts" if matrix.num_prompts else ""


def _rate_tiles(found: Migration) -> list[dict[str, str]]:
    rates, chance = found.matrix.rates, found.null.rates if found.null is not None else None
    zero, half = f"0/{found.group_size}", f"{(found.group_size + 1) // 2}/{found.group_size}"
    moves = (
        (
            "unlocked",
            f"Unlocked of {zero}",
            f"Of the prompts at {zero} at the earlier step, those above it at the later one.",
        ),
        (
            "strictly_unlocked",
            f"Strictly: {zero} → {half} or more",
            f"Of the prompts at {zero} at the earlier step, those of which at least half of the responses are correct "
            "at the later one. Chance hardly ever moves a prompt that far.",
        ),
        (
            "lost",
            f"Lost to {zero}",
            f"Of the prompts above {zero} at the earlier step, those at {zero} at the later one.",
        ),
    )
    tiles = [
        _tile(kind.replace("_", "-"), label, text, getattr(rates, kind), getattr(chance, kind, None))
        for kind, label, text in moves
    ]
    return [*tiles, _mean_tile(found.matrix)]


def _tile(
    name: str, label: str, explanation: str, rate: MigrationRate | None, chance: MigrationRate | None
) -> dict[str, str]:
    return {
        "name": name,
        "label": label,
        "explanation": explanation,
        "value": percent(None if rate is None else rate.value),
        "chance": "" if chance is None else f"chance {percent(chance.value)}{_bounds(chance, ' ({})')}",
        "note": "no prompt to compare"
        if rate is None
        else f"{_bounds(rate, '95 %: {}; ')}{rate.num_moved:,} of {rate.num_prompts:,} prompts",
    }


def _bounds(rate: MigrationRate, form: str) -> str:
    bounds = bounds_text(rate.low, rate.high, share, "–")
    return form.format(bounds) if bounds else ""


def _mean_tile(matrix: MigrationMatrix) -> dict[str, str]:
    seen = [row[:-1] for row in matrix.counts[:-1]]
    before = _mean([sum(row) for row in seen])
    after = _mean([sum(column) for column in zip(*seen, strict=True)])
    change = None if before is None or after is None else after - before
    return {
        "name": "mean",
        "label": "Mean accuracy",
        "explanation": "Mean over the prompts that were seen at both steps.",
        "value": percent(after),
        "chance": "" if change is None else points(change),
        "note": "" if before is None else f"from {percent(before)}",
    }


def _mean(counts: Sequence[int]) -> float | None:
    """Return the mean accuracy of so many prompts with 0..G correct responses."""
    num_prompts = sum(counts)
    return sum(k * count for k, count in enumerate(counts)) / (len(counts) - 1) / num_prompts if num_prompts else None
