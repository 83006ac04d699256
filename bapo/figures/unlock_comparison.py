"""Figure 7's rates: tracked prompts that training unlocked or lost, per method, compared with chance."""

from __future__ import annotations

import html
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.accuracy_transitions import Matrix, migration_rates
from bapo.analysis.comparison import estimate, over_replicates
from bapo.analysis.result import MeanEstimate
from bapo.analysis.transition_results import MigrationRate
from bapo.figures.groups import Group, replicates_of
from bapo.figures.looks import styles_of
from bapo.figures.panels import Panel, axis_of, error_bars, panel_figure, titled
from bapo.figures.paper_values import UNLOCKED, method_of
from bapo.figures.seed_curves import shown
from bapo.figures.theme import Palette
from bapo.figures.tracked import common_steps, moved, moved_by_chance

Kind = Literal["unlocked", "strictly_unlocked", "lost"]
WIDE_INTERVAL_RUNS = 2
HEADROOM = 1.15
KINDS: tuple[tuple[Kind, str], ...] = (
    ("unlocked", "Unlocked: 0/G → above"),
    ("strictly_unlocked", "Strictly unlocked: 0/G → at least ½"),
    ("lost", "Lost: above → 0/G"),
)


class UnlockRates(NamedTuple):
    """One kind of move of one group."""

    rate: MeanEstimate | None
    """Mean over the runs with Student's interval; of one run Wilson's interval over its prompts."""
    chance: MeanEstimate | None
    """The same for the base model against itself."""


class GroupUnlocks(NamedTuple):
    """The moves of one group's tracked prompts between step 0 and its last sampling."""

    label: str
    n: int
    step: int
    rates: Sequence[UnlockRates]
    """In the order of `KINDS`."""
    quoted: float | None = None
    """The paper's share of unlocked prompts with this method, which is of another model and data."""


class UnlockComparison(NamedTuple):
    """Unlock rates of all groups that track prompts."""

    groups: Sequence[GroupUnlocks]


def unlock_comparison_data(groups: Sequence[Group]) -> UnlockComparison:
    """Compute rates run by run, then over the replicates, at the last step that all of a group's runs sampled."""
    found = []
    for group in groups:
        runs = [run for run in group.runs if run.tracking]
        steps = [step for step in common_steps(runs) if step > 0]
        if not steps:
            continue
        after = [moved(run, steps[-1]) for run in runs]
        chance = [moved_by_chance(run) for run in runs]
        keys = replicates_of(runs)
        rates = [UnlockRates(_over_runs(after, keys, kind), _over_runs(chance, keys, kind)) for kind, _ in KINDS]
        found.append(GroupUnlocks(group.label, len(set(keys)), steps[-1], rates, UNLOCKED.get(method_of(group) or "")))
    return UnlockComparison(found)


def _over_runs(matrices: Sequence[Matrix | None], replicates: Sequence[Hashable], kind: Kind) -> MeanEstimate | None:
    rates: list[tuple[Hashable, MigrationRate]] = [
        (key, rate)
        for key, matrix in zip(replicates, matrices, strict=True)
        if matrix is not None and (rate := getattr(migration_rates(matrix), kind)) is not None
    ]
    if len(rates) == 1:
        ((_, only),) = rates
        return MeanEstimate(value=only.value, low=only.low, high=only.high, n=1)
    return estimate(over_replicates([(key, rate.value) for key, rate in rates]))


def unlock_comparison_figure(data: UnlockComparison, palette: Palette) -> go.Figure:
    """Return a panel per kind of move: a bar with its interval per group, and the level that chance gives as a grey
    line."""
    styles = styles_of([group.label for group in data.groups], palette)
    positions = list(range(len(data.groups)))
    panels = []
    for index, (_, title) in enumerate(KINDS):
        suffix = axis_of(index)
        placed = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        traces: list[go.Bar | go.Scatter] = [
            go.Bar(
                x=[position],
                y=[_mean(group.rates[index].rate)],
                error_y=_errors([group.rates[index].rate], palette.text),
                marker={"color": styles[group.label].colour},
                width=0.6,
                name=f"{shown(group.label)} (n = {group.n})",
                legendgroup=group.label,
                showlegend=index == 0,
                hovertemplate="%{y:.1%}",
                **placed,
            )
            for position, group in zip(positions, data.groups, strict=True)
        ]
        chance = [group.rates[index].chance for group in data.groups]
        traces.append(
            go.Scatter(
                x=positions,
                y=[_mean(each) for each in chance],
                error_y=_errors(chance, palette.reference),
                mode="markers",
                marker={"symbol": "line-ew", "size": 26, "line": {"color": palette.reference, "width": 3}},
                name="chance: base model sampled twice",
                legendgroup="chance",
                showlegend=index == 0,
                hovertemplate="%{y:.1%}<extra>chance</extra>",
                **placed,
            )
        )
        if index == 0:
            traces += _quoted(data, palette, placed)
        xaxis = {"showticklabels": False, "ticks": "", "range": [-0.6, len(positions) - 0.4], "fixedrange": True}
        yaxis = titled("of those prompts", tickformat=".0%", fixedrange=True, range=[0, _top(data, index)])
        panels.append(Panel(title, traces, xaxis, yaxis))
    return panel_figure(panels, hovermode="closest", barmode="overlay")


def _quoted(data: UnlockComparison, palette: Palette, placed: Mapping[str, str]) -> list[go.Scatter]:
    """Return the paper's shares as dashed lines over the bars of the same methods."""
    known = [(position, group) for position, group in enumerate(data.groups) if group.quoted is not None]
    return [
        go.Scatter(
            x=[position - 0.4, position + 0.4],
            y=[group.quoted, group.quoted],
            mode="lines",
            line={"color": palette.reference, "dash": "dash", "width": 1.5},
            name="the paper's, of another model",
            legendgroup="paper",
            showlegend=number == 0,
            hovertemplate="%{y:.0%}<extra>" + f"{html.escape(group.label)} in the paper</extra>",
            **placed,
        )
        for number, (position, group) in enumerate(known)
    ]


def _mean(value: MeanEstimate | None) -> float | None:
    return None if value is None else value.value


def _top(data: UnlockComparison, index: int) -> float:
    """Return the end of an axis; intervals of two runs are too wide to affect it."""
    both = [each for group in data.groups for each in group.rates[index] if each is not None]
    quoted = [group.quoted for group in data.groups if index == 0 and group.quoted is not None]
    means = max([*(each.value for each in both), *quoted], default=0.0)
    bounds = [each.high for each in both if each.high is not None and each.n != WIDE_INTERVAL_RUNS]
    return min(1.0, HEADROOM * max([means, *(min(bound, 2 * means) for bound in bounds)])) or 1.0


def _errors(estimates: Sequence[MeanEstimate | None], colour: str) -> dict[str, Any]:
    """Return bars within 0, without which a rate would seem to be negative."""
    values = [0.0 if each is None else each.value for each in estimates]
    lows = [None if each is None or each.low is None else max(0.0, each.low) for each in estimates]
    return error_bars(values, lows, [None if each is None else each.high for each in estimates], colour)
