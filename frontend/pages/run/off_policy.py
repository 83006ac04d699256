"""The tab Off-policy: its charts, and what they say together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dash import html

from bapo.api.runs import RunDetail
from bapo.config.method import method_name
from frontend.pages.run.charting import chart_panel
from frontend.pages.run.charts.off_policy import constants_of


def off_policy_panel(run: RunDetail, recorded: Collection[str]) -> list[Any]:
    """Return the charts, and below them what they say together; `recorded` are the metrics that the run has."""
    return [*chart_panel(run, "off-policy", recorded), reading_of(run)]


def reading_of(run: RunDetail) -> html.P:
    """Return a paragraph: the bound, its constants for this run, and how to read the charts."""
    known = constants_of(run)
    if known is None:
        return html.P(
            f"{method_name(run.method)} has no thresholds, so Theorem 3.2 does not apply. Ratios and ages still show "
            "how stale its data are: a wide band around 1 and a large clipped share mean that much of a batch gives no "
            "gradient.",
            className="panel-text",
        )
    k1 = "not defined (the filter keeps groups without mixed rewards)" if known.k1 is None else f"{known.k1:.2f}"
    return html.P(
        [
            "Theorem 3.2 gives a lower bound on the gain of a step. It subtracts the distance to each source's policy, "
            "times a constant that is smaller the more mixed the rewards of its groups are: ",
            html.Strong(f"K1 = {k1}"),
            " for fresh groups, ",
            html.Strong(f"K2 = {known.k2_exact:.2f}"),
            f" for re-evaluated ones (the paper's bound gives {known.k2:.2f}), and ",
            html.Strong(f"K3 = {known.k3:.2f}"),
            " for reused ones at r_tot = 0; it moves with the reuse window. Re-evaluated groups come from the current "
            "policy, so their distance is 0 up to rounding; fresh groups lag by the delay v, reused ones by their age. "
            "If the line of a source grows faster than the others, its data become too old first: lower v, or expire "
            "reused groups earlier.",
        ],
        className="panel-text",
    )
