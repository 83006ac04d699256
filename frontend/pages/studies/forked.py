"""A fork experiment: what it shows and what its intervals cover, its arms, and the button that continues one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.fork.results import ForkArm, ForkExperiment, repetition_text
from bapo.analysis.number_format import bounds_text, counted, points_text, within_share
from bapo.api.runs import RunStatus
from bapo.api.studies import StudyDetail, StudyRun
from bapo.figures import formatting
from bapo.figures.fork_experiment import arm_styles
from bapo.figures.theme import Palette
from frontend.components.choices import select
from frontend.components.controls import small_button
from frontend.components.elements import Link, store_button
from frontend.components.runs import status_badge
from frontend.components.table import cell, row, table_card

CONTINUE = "study-arm"
"""Name of the buttons that continue an arm."""
ROLES = {"baseline": "baseline", "noise": "noise: another seed", "arm": ""}
HEAD = ("Arm", "Steps", "Held-out", "Difference to the baseline", "On fresh prompts", "Runs")


def origin_of(study: StudyDetail) -> list[Any]:
    """Return where its runs began, for the page's head."""
    parts: list[Any] = [", forks "]
    for number, each in enumerate(study.checkpoints[:3]):
        link = Link(each.run_name, href=f"/runs/{each.run_id}", className="wrap-anywhere")
        parts += [", " if number else "", link, f" at step {each.step:,}"]
    more = len(study.checkpoints) - 3
    if more > 0:
        parts.append(f" and {counted(more, 'further checkpoint')}")
    return [*parts, f", {counted(study.further_steps or 0, 'step')} each"]


def dataset_select(found: ForkExperiment | None) -> dmc.Select:
    """Return the choice of the held-out set, hidden where there are not several."""
    datasets = [] if found is None else list(found.datasets)
    return select(
        "study-dataset",
        "Held-out set",
        None if found is None else found.dataset,
        datasets,
        size="xs",
        maw=200,
        mb="sm",
        style={} if len(datasets) > 1 else {"display": "none"},
    )


def experiment_parts(study: StudyDetail, found: ForkExperiment, palette: Palette) -> list[Any]:
    """Return the outcome and the arms."""
    check = repetition_text(found)
    is_broken = found.repetition is not None and found.repetition.first_difference is not None
    return [
        html.Div(
            [
                html.P(found.text, className="fork-outcome", role="status"),
                html.P(found.covers, className="chart-note"),
                *([html.P(check, className="chart-note warned" if is_broken else "chart-note")] if check else []),
            ],
            className="panel-card",
        ),
        table_card(
            HEAD,
            [_arm(study, found, arm, palette) for arm in found.arms],
            "study-table fork-arms",
            html.Div(
                "Held-out and fresh prompts are paired with the baseline's: at the same step, both arms have the same. "
                "The first steps after a fork are answered by the same policy, and differ by 0.",
                className="chart-note",
            ),
            least_width=760,
        ),
    ]


def _arm(study: StudyDetail, found: ForkExperiment, arm: ForkArm, palette: Palette) -> html.Tr:
    runs = study.runs[arm.number :: len(found.arms)]
    style = arm_styles(found.arms, palette)[arm.number]
    name = [
        html.Span(className="fork-swatch", style={"background": style.colour}),
        html.Span(arm.label, className="study-run", title=arm.label),
        *([html.Span(ROLES[arm.role], className="study-interval")] if ROLES[arm.role] else []),
    ]
    return row(
        cell(name),
        cell(f"{arm.num_steps:,} of {found.further_steps:,}", "number"),
        cell(_accuracy(arm), "number"),
        cell("" if arm.against_baseline is None else points_text(arm.against_baseline), "number"),
        cell(_fresh(arm), "number"),
        cell(html.Div([*map(_run, runs), *_continue(arm, runs)], className="fork-runs")),
    )


def _accuracy(arm: ForkArm) -> list[Any]:
    if arm.accuracy is None:
        return []
    shown: list[Any] = [formatting.percent(arm.accuracy.value)]
    if bounds := bounds_text(arm.accuracy.low, arm.accuracy.high, within_share):
        shown.append(html.Span(f"{bounds}{formatting.THIN_SPACE}%", className="study-interval"))
    return shown


def _fresh(arm: ForkArm) -> Any:
    if arm.fresh is None or not arm.fresh.num_groups:
        return ""
    paired = f"{arm.fresh.num_pairs:,} of {arm.fresh.num_groups:,} paired"
    if arm.fresh.difference is None:
        return html.Span(paired, className="study-interval")
    parts: list[Any] = [html.Span(points_text(arm.fresh.difference), title=paired)]
    if arm.fresh.num_pairs < arm.fresh.num_groups:
        parts.append(html.Span(paired, className="study-interval"))
    return parts


def _run(run: StudyRun) -> Any:
    if run.run_id is None or run.status is None:
        return html.Div(run.reason or run.state)
    badge = html.Span(status_badge(run.status, size="sm"), title=run.reason or "")
    return html.Div(Link(badge, href=f"/runs/{run.run_id}", className="plain-link", title=run.name))


def _continue(arm: ForkArm, runs: Sequence[StudyRun]) -> list[Any]:
    """Return the button, once all runs of the arm have succeeded, and the studies that already continue it."""
    continued = [run_id for run in runs for run_id in run.continued_as]
    links = [
        html.Div(Link("Continued" if len(continued) == 1 else f"Continued {number}", href=f"/runs/{run_id}"))
        for number, run_id in enumerate(continued, start=1)
    ]
    if links or any(run.status is not RunStatus.SUCCEEDED for run in runs):
        return links
    title = "Trains on from its last checkpoint, to the steps that its parent planned. The other arms stay as they are."
    pressed = store_button(CONTINUE, arm=arm.number, label=arm.label)
    return [
        small_button(
            "Continue this arm",
            icon_name="play",
            className="for-members",
            attributes={"root": {"title": title}},
            **pressed,
        )
    ]
