"""The difference of two accuracy transition matrices: where two runs or groups moved prompts differently (Fig. 15)."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bapo.api.difficulty import Migration
from bapo.figures.axes import accuracy_names, matrix_axes
from bapo.figures.looks import LineStyle
from bapo.figures.theme import Palette, blended


class MigrationDifference(NamedTuple):
    """Shares of the tracked prompts by accuracy before (row) and after (column), second less first."""

    first: str
    second: str
    group_size: int
    first_shares: NDArray[np.float64]
    second_shares: NDArray[np.float64]
    first_step: int
    """Last sampling, the earliest of the group's runs."""
    second_step: int
    num_prompts: tuple[int, int]
    """Over the runs of each."""

    @property
    def difference(self) -> NDArray[np.float64]:
        """Subtracts the first matrix from the second."""
        return self.second_shares - self.first_shares


def migration_difference_data(
    first: str, first_runs: Sequence[Migration], second: str, second_runs: Sequence[Migration]
) -> MigrationDifference | None:
    """Add up the counts of each group's runs, as shares; None if one has none or the group sizes differ."""
    sizes = {run.group_size for run in (*first_runs, *second_runs)}
    if not first_runs or not second_runs or len(sizes) != 1:
        return None
    counts = [_seen(runs) for runs in (first_runs, second_runs)]
    totals = [int(each.sum()) for each in counts]
    if not all(totals):
        return None
    return MigrationDifference(
        first,
        second,
        sizes.pop(),
        counts[0] / totals[0],
        counts[1] / totals[1],
        min(run.to_step for run in first_runs),
        min(run.to_step for run in second_runs),
        (totals[0], totals[1]),
    )


def _seen(runs: Sequence[Migration]) -> NDArray[np.int64]:
    """Return prompts seen both times."""
    total: NDArray[np.int64] = np.sum([np.array(run.matrix.counts)[:-1, :-1] for run in runs], axis=0)
    return total


def migration_difference_figure(
    data: MigrationDifference, first_style: LineStyle, second_style: LineStyle, palette: Palette
) -> go.Figure:
    """Draw a heat map in two colours: a cell has the colour of the group in which more prompts moved so."""
    names = accuracy_names(data.group_size)[: data.group_size + 1]
    percent = 100 * data.difference
    furthest = float(np.abs(percent).max()) or 1.0
    first, second = html.escape(data.first), html.escape(data.second)
    hover = [
        [f"{100 * a:.1f} % in {first}<br>{100 * b:.1f} % in {second}" for a, b in zip(*rows, strict=True)]
        for rows in zip(data.first_shares.tolist(), data.second_shares.tolist(), strict=True)
    ]
    cells = go.Heatmap(
        x=names,
        y=names,
        z=percent,
        zmin=-furthest,
        zmax=furthest,
        colorscale=[
            [0.0, blended(palette.card, first_style.colour, 0.85)],
            [0.5, palette.card],
            [1.0, blended(palette.card, second_style.colour, 0.85)],
        ],
        text=[["" if abs(value) < 0.05 else f"{value:+.1f}".replace("-", "−") for value in row] for row in percent],
        texttemplate="%{text}",
        hovertext=hover,
        hovertemplate="%{y} → %{x}<br>%{hovertext}<extra></extra>",
        xgap=1,
        ygap=1,
        showscale=False,
    )
    axes = matrix_axes("correct before training", "correct at the last sampling")
    return go.Figure([cells], {"height": 420, "hovermode": "closest", **axes})
