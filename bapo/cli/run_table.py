"""Columns of a list of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table
from rich.text import Text

from bapo.cli.output import NOTHING, ago, console, duration, number, percent, status_text, table, user_text

if TYPE_CHECKING:
    from bapo.api.runs import RunSummary


class Column(NamedTuple):
    """What stands in a column."""

    of: Callable[[RunSummary], Text]
    right: bool = False


def _name(run: RunSummary) -> Text:
    return Text("★ " if run.is_starred else "") + user_text(run.name)


def _change(run: RunSummary) -> Text:
    if run.eval_latest is None or run.eval_base is None:
        return Text(NOTHING)
    points = 100 * (run.eval_latest - run.eval_base)
    return Text(f"{points:+.1f}", style="green" if points > 0 else "red" if points < 0 else "")


def _eta(run: RunSummary) -> Text:
    return Text(duration(run.eta_seconds) if run.status in ("running", "starting") else NOTHING)


def _cost(run: RunSummary) -> Text:
    return Text(NOTHING if run.cost is None else f"{run.cost:,.2f} {run.currency}")


COLUMNS: dict[str, Column] = {
    "id": Column(lambda run: Text(run.id, style="bold")),
    "name": Column(_name),
    "status": Column(lambda run: status_text(run.status)),
    "step": Column(lambda run: Text(f"{run.step:,}/{run.num_steps:,}"), right=True),
    "reward": Column(lambda run: Text(number(run.reward_mean, ".3f")), right=True),
    "eval": Column(lambda run: Text(percent(run.eval_latest)), right=True),
    "change": Column(_change, right=True),
    "best": Column(lambda run: Text(percent(run.eval_best)), right=True),
    "eta": Column(_eta, right=True),
    "method": Column(lambda run: Text(run.method)),
    "recipe": Column(lambda run: user_text(run.recipe or NOTHING)),
    "owner": Column(lambda run: user_text(run.owner)),
    "project": Column(lambda run: user_text(run.project or NOTHING)),
    "group": Column(lambda run: user_text(run.group or NOTHING)),
    "tags": Column(lambda run: user_text(", ".join(run.tags) or NOTHING)),
    "attempt": Column(lambda run: Text(f"{run.attempt}"), right=True),
    "rollouts": Column(lambda run: Text(f"{run.num_rollouts:,}"), right=True),
    "hours": Column(lambda run: Text(f"{run.compute_hours:.2f}"), right=True),
    "cost": Column(_cost, right=True),
    "created": Column(lambda run: Text(ago(run.created_at)), right=True),
    "finished": Column(lambda run: Text(ago(run.finished_at)), right=True),
    "reason": Column(lambda run: user_text(run.status_reason or NOTHING)),
}

TEXTS = ("name", "tags", "reason", "recipe", "project", "group", "owner")
"""What people wrote: cut off where there is no room."""
NARROW = ("id", "name", "status", "step", "eval")
WIDE = ("id", "name", "status", "step", "reward", "eval", "change", "eta", "owner", "created")
WIDE_CHARACTERS = 110


def default_columns() -> tuple[str, ...]:
    """Those that fit."""
    return WIDE if console().width >= WIDE_CHARACTERS else NARROW


def run_table(runs: Sequence[RunSummary], columns: Sequence[str]) -> Table:
    """One line a run."""
    made = table(*columns, right=[name for name in columns if COLUMNS[name].right])
    for run in runs:
        made.add_row(*(COLUMNS[name].of(run) for name in columns))
    return made
