"""The comparison that an address describes: its runs, their grouping, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from bapo.api.compare import CompareAxis

AXES: Mapping[CompareAxis, str] = {"step": "Step", "rollouts": "Rollouts", "time": "Time"}
DEFAULT_GROUP = "config"
MOST_RUNS = 50
SMOOTH_STRETCHES = 80
"""Stretches that a smoothed run is averaged over."""


class View(NamedTuple):
    """The controls of the page."""

    runs: tuple[str, ...] = ()
    group: str = DEFAULT_GROUP
    x: CompareAxis = "step"
    equal: bool = True
    """True if runs are cut off where the shortest ends."""
    smooth: bool = False
    metrics: tuple[str, ...] = ()
    """Empty: the usual ones."""
    hidden: frozenset[str] = frozenset()
    """Labels of groups that are not drawn."""
    dataset: str | None = None
    reach: float | None = None
    """In percent."""
    reference: str | None = None
    other: str | None = None
    """Label of the group whose migration is compared with that of the reference."""


def view_of(query: Mapping[str, str]) -> View:
    """Parse the address; invalid parts are ignored."""
    x: CompareAxis = next((kind for kind in AXES if kind == query.get("x")), "step")
    return View(
        runs=_names(query.get("runs", "")),
        group=query.get("group") or DEFAULT_GROUP,
        x=x,
        equal=query.get("equal") != "0",
        smooth=query.get("smooth") == "1",
        metrics=_names(query.get("metric", "")),
        hidden=frozenset(_names(query.get("hide", ""), "|")),
        dataset=query.get("dataset") or None,
        reach=_number(query.get("reach", "")),
        reference=query.get("reference") or None,
        other=query.get("other") or None,
    )


def _names(text: str, separator: str = ",") -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for part in text.split(separator) if part))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 100 else None


def api_address(view: View, path: str, **parameters: str) -> str:
    """Return the address of the same comparison in the API, for a download."""
    query = [("run", run) for run in view.runs] + [("group", view.group), ("x", view.x)]
    query += [("equal", "true")] if view.equal else []
    query += list(parameters.items())
    return f"/api/v1/{path}?{urlencode(query, quote_via=quote)}"
