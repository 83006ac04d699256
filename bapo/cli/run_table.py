"""Columns of a list of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.text import Text

from bapo.api.runs import CONFIG_COLUMN, METRIC_COLUMN, GroupedRuns, RunSummary
from bapo.cli.listing import Cell, Listing
from bapo.cli.output import console, duration, number, percent, status_text, user_text
from bapo.config.method import method_name


def _name(run: RunSummary) -> Text:
    return Text("★ " if run.is_starred else "") + user_text(run.name)


def _change(run: RunSummary) -> Cell:
    if run.eval_latest is None or run.eval_base is None:
        return None
    points = 100 * (run.eval_latest - run.eval_base)
    return Text(f"{points:+.1f}", style="green" if points > 0 else "red" if points < 0 else "")


RUNS = Listing[RunSummary](
    {
        "id": lambda run: Text(run.id, style="bold"),
        "name": _name,
        "status": lambda run: status_text(run.status),
        "step": lambda run: f"{run.step:,}/{run.num_steps:,}" if run.num_steps else f"{run.step:,}",
        "reward": lambda run: number(run.reward_mean, ".3f"),
        "eval": lambda run: percent(run.eval_latest),
        "change": _change,
        "best": lambda run: percent(run.eval_best),
        "eta": lambda run: duration(run.eta_seconds) if run.status in ("running", "starting") else None,
        "method": lambda run: method_name(run.method),
        "origin": lambda run: run.origin,
        "recipe": lambda run: run.recipe,
        "owner": lambda run: run.owner,
        "project": lambda run: run.project,
        "group": lambda run: run.group,
        "tags": lambda run: ", ".join(run.tags) or None,
        "attempt": lambda run: run.attempt,
        "rollouts": lambda run: run.num_rollouts,
        "hours": lambda run: f"{run.compute_hours:.2f}",
        "cost": lambda run: None if run.cost is None else f"{run.cost:,.2f} {run.currency}",
        "created": lambda run: run.created_at,
        "finished": lambda run: run.finished_at,
        "reason": lambda run: run.status_reason,
    },
    raw={"method": lambda run: run.method},
    cut=("name", "tags", "reason", "recipe", "project", "group", "owner"),
    right=("step", "reward", "eval", "change", "best", "eta", "hours", "cost"),
)
NARROW = ("id", "name", "status", "step", "eval")
WIDE = ("id", "name", "status", "step", "reward", "eval", "change", "eta", "owner", "created")
WIDE_CHARACTERS = 110


RECORDED = (CONFIG_COLUMN, METRIC_COLUMN)
"""Columns that begin so are config fields and metrics, whose values come with a run where they are asked for."""


def with_columns(recorded: Sequence[str]) -> Listing[RunSummary]:
    """Return the table with these config fields and metrics added."""
    added = {name: partial(_recorded, name) for name in recorded}
    return replace(RUNS, columns={**RUNS.columns, **added}, right=(*RUNS.right, *recorded))


def group_table(metrics: Sequence[str]) -> Listing[GroupedRuns]:
    """Return the table of groups: number, states, and mean ± standard deviation of these columns."""
    return Listing[GroupedRuns](
        {
            "group": lambda group: group.label,
            "runs": lambda group: group.num_runs,
            "states": lambda group: ", ".join(f"{count} {status.value}" for status, count in group.states.items()),
            **{name: partial(_spread, name) for name in metrics},
        },
        cut=("group", "states"),
        right=metrics,
        empty="no runs match",
    )


def _spread(name: str, group: GroupedRuns) -> Cell:
    found = group.aggregates[name]
    if found.num_sets is not None:
        return f"{found.num_sets} held-out sets"
    if found.mean is None:
        return None
    return f"{found.mean:.4g}" + ("" if found.std is None else f" ± {found.std:.2g}")


def _recorded(name: str, run: RunSummary) -> Cell:
    value = run.values.get(name)
    return value if value is None or isinstance(value, str) else json.dumps(value)


def default_columns() -> tuple[str, ...]:
    """Return the columns that fit the terminal."""
    return WIDE if console().width >= WIDE_CHARACTERS else NARROW
