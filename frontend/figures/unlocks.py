"""Which of the tracked prompts became solvable, with the rates that re-sampling the unchanged base model gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.records import TrackingRecord
from frontend.figures.axes import XAxis, over_training
from frontend.figures.evaluations import MOST_MARKERS
from frontend.theme import Palette


class MigrationRates(NamedTuple):
    """Moves between two samplings of the same prompts; None where no prompt could move so."""

    unlocked: float | None
    """Of the prompts at 0/G, those now above."""
    strictly_unlocked: float | None
    """Of the prompts at 0/G, those now at 1/2 or more."""
    lost: float | None
    """Of the prompts above 0/G, those now at 0/G."""
    num_unsolved: int
    """Prompts at 0/G in the first sampling."""


class Unlocks(NamedTuple):
    """Migration against the base model over training."""

    axis: XAxis
    x: Sequence[Any]
    rates: Sequence[MigrationRates]
    null: MigrationRates | None
    """Base against base: what chance alone gives. None until it was sampled twice."""


def migration_rates(before: TrackingRecord, after: TrackingRecord) -> MigrationRates:
    """Compare two samplings prompt by prompt; prompts that only one of them has are left out."""
    later = dict(zip(after.prompt_ids, after.num_correct, strict=True))
    pairs = [
        (count, later[prompt])
        for prompt, count in zip(before.prompt_ids, before.num_correct, strict=True)
        if prompt in later
    ]
    unsolved = [now for first, now in pairs if first == 0]
    solved = [now for first, now in pairs if first > 0]
    return MigrationRates(
        unlocked=_share(sum(now > 0 for now in unsolved), len(unsolved)),
        strictly_unlocked=_share(sum(2 * now >= after.group_size for now in unsolved), len(unsolved)),
        lost=_share(sum(now == 0 for now in solved), len(solved)),
        num_unsolved=len(unsolved),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def unlocks_data(records: Sequence[TrackingRecord], axis: XAxis) -> Unlocks:
    """Every later sampling against the first one of the base model, and its second against its first."""
    base = next((record for record in records if record.step == 0 and record.replicate == 0), None)
    again = next((record for record in records if record.step == 0 and record.replicate == 1), None)
    if base is None:
        return Unlocks(axis, [], [], None)
    later = [record for record in records if record.step > 0 and record.replicate == 0]
    return Unlocks(
        axis,
        [axis.at(record.step) for record in later],
        [migration_rates(base, record) for record in later],
        migration_rates(base, again) if again is not None else None,
    )


def unlocks_figure(data: Unlocks, palette: Palette) -> go.Figure:
    """Three rates as lines, each with its null as a dashed level of the same colour."""
    lines = (
        ("unlocked", "0/G → above", palette.fresh),
        ("strictly_unlocked", "0/G → at least half", palette.reused),
        ("lost", "above → 0/G", palette.bad),
    )
    figure = over_training([], data.axis, yaxis={"title": {"text": "share of those prompts"}, "tickformat": ".0%"})
    for field, name, colour in lines:
        null = getattr(data.null, field) if data.null is not None else None
        figure.add_scatter(
            x=data.x,
            y=[getattr(rates, field) for rates in data.rates],
            name=name,
            mode="lines+markers" if len(data.x) <= MOST_MARKERS else "lines",
            line={"color": colour, "width": 2},
            hovertemplate="%{y:.1%}" + ("" if null is None else f" (chance {100 * null:.1f} %)"),
        )
        if null is not None:
            figure.add_hline(y=null, line={"color": colour, "width": 1, "dash": "dash"}, opacity=0.7)
    if data.null is not None:
        figure.add_scatter(
            x=[None],
            y=[None],
            name="chance: base model sampled twice",
            mode="lines",
            line={"color": palette.reference, "width": 1, "dash": "dash"},
        )
    return figure
