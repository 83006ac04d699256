"""Figure 7's rates: tracked prompts that training unlocked or lost, per method, beside what chance alone gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import plotly.graph_objects as go

from bapo.comparison import Estimate, estimate
from bapo.migration import Matrix, Rate, migration_rates
from frontend.figures.groups import Group
from frontend.figures.methods import styles_of
from frontend.figures.panels import Panel, axis_of, panel_figure, titled
from frontend.figures.seed_curves import shown
from frontend.figures.tracked import common_steps, moved, moved_by_chance
from frontend.theme import Palette

Kind = Literal["unlocked", "strictly_unlocked", "lost"]
KINDS: tuple[tuple[Kind, str], ...] = (
    ("unlocked", "Unlocked: 0/G → above"),
    ("strictly_unlocked", "Strictly unlocked: 0/G → at least ½"),
    ("lost", "Lost: above → 0/G"),
)


class UnlockRates(NamedTuple):
    """One kind of move of one group."""

    rate: Estimate | None
    """Mean over the runs with Student's interval; of one run Wilson's interval over its prompts."""
    chance: Estimate | None
    """The same for the base model against itself."""


class GroupUnlocks(NamedTuple):
    """The moves of one group's tracked prompts between step 0 and its last sampling."""

    label: str
    n: int
    step: int
    rates: Sequence[UnlockRates]
    """In the order of `KINDS`."""


class UnlockComparison(NamedTuple):
    """All groups that track prompts."""

    groups: Sequence[GroupUnlocks]


def unlock_comparison_data(groups: Sequence[Group]) -> UnlockComparison:
    """Rates run by run, then over the replicates, at the last step that all of a group's runs sampled."""
    found = []
    for group in groups:
        runs = [run for run in group.runs if run.tracking]
        steps = [step for step in common_steps(runs) if step > 0]
        if not steps:
            continue
        after = [moved(run, steps[-1]) for run in runs]
        chance = [moved_by_chance(run) for run in runs]
        rates = [UnlockRates(_over_runs(after, kind), _over_runs(chance, kind)) for kind, _ in KINDS]
        found.append(GroupUnlocks(group.label, len(runs), steps[-1], rates))
    return UnlockComparison(found)


def _over_runs(matrices: Sequence[Matrix | None], kind: Kind) -> Estimate | None:
    rates: list[Rate] = [
        rate
        for matrix in matrices
        if matrix is not None and (rate := getattr(migration_rates(matrix), kind)) is not None
    ]
    if len(rates) == 1:
        interval = rates[0].interval
        return Estimate(interval.value, interval.low, interval.high, 1)
    return estimate([rate.interval.value for rate in rates])


def unlock_comparison_figure(data: UnlockComparison, palette: Palette) -> go.Figure:
    """A panel per kind of move: bars with intervals, and the level that chance gives as a grey line across each."""
    styles = styles_of([group.label for group in data.groups], palette)
    names = [f"{shown(group.label)}<br>n = {group.n}" for group in data.groups]
    panels = []
    for index, (_, title) in enumerate(KINDS):
        suffix = axis_of(index)
        placed = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        rates = [group.rates[index] for group in data.groups]
        traces: list[go.Bar | go.Scatter] = [
            go.Bar(
                x=names,
                y=[None if each.rate is None else each.rate.mean for each in rates],
                error_y=_errors([each.rate for each in rates], palette.text),
                marker={"color": [styles[group.label].colour for group in data.groups]},
                width=0.55,
                name="after training",
                showlegend=False,
                hovertemplate="%{y:.1%}<extra>after training</extra>",
                **placed,
            ),
            go.Scatter(
                x=names,
                y=[None if each.chance is None else each.chance.mean for each in rates],
                error_y=_errors([each.chance for each in rates], palette.reference),
                mode="markers",
                marker={
                    "symbol": "line-ew",
                    "size": 34,
                    "line": {"color": palette.reference, "width": 3},
                },
                name="chance: base model sampled twice",
                showlegend=index == 0,
                hovertemplate="%{y:.1%}<extra>chance</extra>",
                **placed,
            ),
        ]
        xaxis = {"type": "category", "fixedrange": True}
        yaxis = titled("of those prompts", tickformat=".0%", fixedrange=True, rangemode="tozero")
        panels.append(Panel(title, traces, xaxis, yaxis))
    return panel_figure(panels, hovermode="closest")


def _errors(estimates: Sequence[Estimate | None], colour: str) -> dict[str, object]:
    up = [0.0 if each is None or each.high is None else each.high - each.mean for each in estimates]
    down = [0.0 if each is None or each.low is None else each.mean - max(0.0, each.low) for each in estimates]
    return {
        "type": "data",
        "symmetric": False,
        "array": up,
        "arrayminus": down,
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }
