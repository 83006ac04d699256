"""The charts of the tab Off-policy: how far the policy is from those that generated its data."""

from __future__ import annotations

import plotly.graph_objects as go
from dash import html

from bapo.analysis.steered import config_in_force
from bapo.api.runs import RunDetail
from bapo.config import RunConfig
from bapo.config.method import method_name
from bapo.figures import ratio_distribution, staleness, tv_bounds
from bapo.figures.metric_charts import (
    CLIPPED,
    LOGPROB_GAP,
    RATIO_ENDS,
    RESPONSE_DISTANCES,
    ROLLOUT_LAG,
    TOKEN_DISTANCES,
)
from bapo.figures.theme import Palette
from bapo.methods.bapo import BapoConfig
from bapo.theory import TheoryConstants, theory_constants
from frontend.pages.run.charts.base import Chart, metric_chart, of_tab, recorded_chart
from frontend.pages.run.data import RunData


def _ratios(data: RunData, palette: Palette) -> go.Figure:
    content = ratio_distribution.ratio_distribution_data(data.ratios, data.axis)
    return ratio_distribution.ratio_distribution_figure(content, palette)


def _staleness(data: RunData, palette: Palette) -> go.Figure:
    return staleness.staleness_totals_figure(staleness.staleness_totals(data.staleness), palette)


def _staleness_course(data: RunData, palette: Palette) -> go.Figure:
    return staleness.staleness_course_figure(staleness.staleness_course(data.staleness, data.axis), palette)


def constants_of(run: RunDetail) -> TheoryConstants | None:
    """Return K1, K2 and the first K3 of the config in force; None for methods without thresholds."""
    config = RunConfig.model_validate(config_in_force(run.config, run.applied_changes))
    if not isinstance(config.method, BapoConfig):
        return None
    return theory_constants(
        group_size=config.rollout.group_size,
        c1=config.method.c1,
        c2=config.method.c2[0],
        c3=config.method.c3[0],
        filter_keeps_mixed_only=config.method.filter.type != "uniform",
    )


def _fixed_constants(run: RunDetail) -> tuple[float | None, float | None]:
    """Return K1 and the exact K2, which hold at every step."""
    known = constants_of(run)
    return (None, None) if known is None else (known.k1, known.k2_exact)


def _bound(data: RunData, palette: Palette) -> go.Figure:
    k1, k2 = _fixed_constants(data.run)
    return tv_bounds.bound_figure(tv_bounds.bound_data(data.series, data.axis, k1=k1, k2=k2), palette)


def _penalties(data: RunData, palette: Palette) -> go.Figure:
    k1, k2 = _fixed_constants(data.run)
    content = tv_bounds.penalties_data(data.series, data.axis, k1=k1, k2=k2)
    return tv_bounds.penalties_figure(content, palette)


CHARTS = of_tab(
    "off-policy",
    Chart(
        "ratios",
        "Importance ratios",
        "ρ = π_θ / behaviour policy of every token trained on, before clipping; the scale is logarithmic. On-policy "
        "data lie at 1; the wider the band, the staler. Long runs sum neighbouring steps.",
        _ratios,
        needs=frozenset({"ratios"}),
        live="rebuild",
        wide=True,
        height=320,
        smoothing="never",
        question="How far off-policy is the data?",
    ),
    metric_chart(
        "clip-fraction",
        CLIPPED,
        "Clipped tokens",
        "Share of tokens whose ratio left the clip range, so that they gave no gradient. Dotted: the share that the "
        "numerical gap alone (below) takes out of the range, measured on tokens without staleness.",
        height=220,
    ),
    metric_chart(
        "ratio-ends",
        RATIO_ENDS,
        "Mean and largest ratio",
        "The mean stays near 1 by its definition; the largest shows the outliers that clipping is for.",
        height=220,
    ),
    metric_chart(
        "logprob-gap",
        LOGPROB_GAP,
        "Log-probability gap, rollout vs trainer",
        "How far log-probabilities when generating (on verl: vLLM's) are from those of the same tokens and weights "
        "when training: numerical error without staleness. Normal is a level mean, below 1e-5 in float32 and a few "
        "1e-3 in bfloat16. If it rises, or tokens leave the clip range by it, set engine.verl.dtype to float32.",
        empty="No tokens so far were trained on by the weights that generated them.",
        question="How much of the ratios is numerical error?",
    ),
    Chart(
        "staleness",
        "Age of the training data",
        "Groups trained on by age, all steps so far: step - 1 - version of the policy that generated the group. 0 is "
        "on-policy.",
        _staleness,
        needs=frozenset({"staleness"}),
        live="rebuild",
        smoothing="never",
        has_marks=False,
        empty="No group has been trained on yet.",
        question="How old is what it trains on?",
    ),
    Chart(
        "staleness-course",
        "Age of the training data by step",
        "Share of each batch by age. Long runs sum neighbouring steps.",
        _staleness_course,
        needs=frozenset({"staleness"}),
        live="rebuild",
        smoothing="never",
        empty="No group has been trained on yet.",
    ),
    metric_chart(
        "tv-tokens",
        TOKEN_DISTANCES,
        "Distance to each source, per token",
        "Total variation between the policy and the one that generated each source's groups, estimated as "
        "½·mean|ρ - 1| over tokens in one forward pass before the update.",
    ),
    metric_chart(
        "tv-sequences",
        RESPONSE_DISTANCES,
        "Distance to each source, per response",
        "The same over whole responses, as Theorem 3.2 means it: the ratios of a response's tokens multiply.",
    ),
    Chart(
        "bound",
        "Both sides of the bound",
        "Solid: by how much the update raised the expected reward on the prompts of each source, J(π_θ) - J(π_θt). "
        "Dashed: what Theorem 3.2 guarantees at least, L_α - 2·K·TV(π_θ, α) - 2·TV(π_θt, α), with L_α the mean of ρ·Â. "
        "Both are estimated from the responses trained on, by their ratios after the update, every seventh step.",
        _bound,
        tv_bounds.BOUND_KEYS,
        only="has_thresholds",
        smoothing="never",
        empty="The local engine measures it in steps 1, 8, 15, …; this run has none of them, or is an older one.",
        question="Does each update improve as much as Theorem 3.2 guarantees?",
    ),
    Chart(
        "penalties",
        "Penalties of the bound",
        "Both terms of each source, 2·K·TV(π_θ, α) + 2·TV(π_θt, α), for the policy before the update, where π_θ is "
        "π_θt. K1 follows from the filter, K2 from c1, K3 from the reuse window, which moves with r_tot (Eq. 11-13). "
        "K2 is the exact one, which also holds for accuracies near 1.",
        _penalties,
        tv_bounds.KEYS,
        only="has_thresholds",
        question="What does Theorem 3.2 subtract for each source?",
    ),
    recorded_chart("kl-behaviour", "actor/ppo_kl"),
    recorded_chart("kl-reference", "actor/kl_loss"),
    metric_chart(
        "rollout-staleness",
        ROLLOUT_LAG,
        "Lag of the rollout policy",
        "Steps that the rollout policy α lags behind the trained weights; it is synchronised every v steps.",
        height=220,
        smoothing="never",
        question="How far behind the trained weights is it?",
    ),
)


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
