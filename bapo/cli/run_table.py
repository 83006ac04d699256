"""Columns of a list of runs."""

from __future__ import annotations

from rich.text import Text

from bapo.api.runs import RunSummary
from bapo.cli.listing import Cell, Listing
from bapo.cli.output import console, duration, number, percent, status_text, user_text


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
        "method": lambda run: run.method,
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
    cut=("name", "tags", "reason", "recipe", "project", "group", "owner"),
    right=("step", "reward", "eval", "change", "best", "eta", "hours", "cost"),
)
NARROW = ("id", "name", "status", "step", "eval")
WIDE = ("id", "name", "status", "step", "reward", "eval", "change", "eta", "owner", "created")
WIDE_CHARACTERS = 110


def default_columns() -> tuple[str, ...]:
    """Returns the columns that fit the terminal."""
    return WIDE if console().width >= WIDE_CHARACTERS else NARROW
