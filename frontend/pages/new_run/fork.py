"""The heading of the form of a fork: its checkpoint, and the config in force there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.steered import values_in_force
from bapo.api.artifacts import CheckpointInfo
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.figures import formatting
from frontend.components.card import page_title
from frontend.components.choices import select
from frontend.components.elements import Link, attributes
from frontend.components.notices import link_button, notice

MOST_SIBLINGS = 20
"""Runs of the group whose checkpoints are offered."""


class Fork(NamedTuple):
    """A run, one of its checkpoints, and what had been changed by then."""

    parent: RunDetail
    checkpoints: Sequence[CheckpointInfo]
    step: int | None
    """`None` if it keeps no checkpoint."""
    in_force: Mapping[str, Any]
    """The changes that the checkpoint contains, by field, the later over the earlier."""
    others: Mapping[str, str] = MappingProxyType({})
    """Further checkpoints to repeat an experiment from, as `run:step` → what they are called: of this run, and of runs
    of its group with its method."""


async def choice(client: AsyncClient, run_id: str, step: str | None) -> Fork:
    """Return the checkpoint of that step, or the newest one."""
    parent, page = await client.run(run_id), await client.checkpoints(run_id)
    steps = [each.step for each in page.items]
    chosen = int(step) if step and step.isdigit() and int(step) in steps else next(iter(steps), None)
    held = [change for change in parent.applied_changes if chosen is not None and change.step <= chosen]
    return Fork(parent, page.items, chosen, values_in_force({}, held), await _others(client, parent, page.items))


async def _others(client: AsyncClient, parent: RunDetail, own: Sequence[CheckpointInfo]) -> dict[str, str]:
    found = {f"{parent.id}:{each.step}": _label(each) for each in own}
    if parent.group is None:
        return found
    page = await client.runs(group=parent.group, project=parent.project, method=parent.method, limit=MOST_SIBLINGS)
    siblings = [run for run in page.items if run.id != parent.id and run.step]
    kept = await asyncio.gather(*(client.checkpoints(run.id) for run in siblings))
    for run, checkpoints in zip(siblings, kept, strict=True):
        found |= {f"{run.id}:{each.step}": f"{run.name}: {_label(each)}" for each in checkpoints.items}
    return found


def further_steps(step: int, steps: int | None) -> dict[str, Any]:
    """Return the number of steps to begin with where the parent's leaves none: as many again after the checkpoint."""
    return {} if steps is None or steps > step else {"training.steps": step + steps}


def nothing_to_fork(parent: RunDetail) -> Any:
    """Return the page of a run without a checkpoint."""
    return notice(
        "No checkpoint to fork from",
        f"“{parent.name}” keeps none: the first one has not been written yet, they were deleted, or the run was "
        "imported. A clone starts from the beginning with the same config.",
        icon_name="fork",
        action=link_button("Clone it", f"/new?parent={parent.id}"),
    )


def heading(fork: Fork) -> html.Div:
    """Return what the fork has of its parent, and the choice of the checkpoint."""
    options = [{"value": str(each.step), "label": _label(each)} for each in fork.checkpoints]
    text: Any = [
        "Continues from a checkpoint of ",
        Link(fork.parent.name, href=f"/runs/{fork.parent.id}", className="wrap-anywhere"),
        " with its weights, optimizer, buffers and counters, and the config in force at that step. Model, task, engine "
        "and G cannot be changed. Its charts begin with the parent's steps.",
    ]
    return html.Div(
        [
            page_title("Fork from a checkpoint"),
            dmc.Text(text, c="dimmed", size="sm", mb="sm"),
            select(
                "new-fork-step",
                "Checkpoint",
                str(fork.step),
                options,
                size="sm",
                maw=420,
                **attributes(data_parent=fork.parent.id),
            ),
        ],
        className="form-heading",
    )


def _label(each: CheckpointInfo) -> str:
    results = ", ".join(f"{name} {formatting.percent(value)}" for name, value in each.evaluations.items())
    return f"after step {each.step:,}" + (f" · {results}" if results else "")
