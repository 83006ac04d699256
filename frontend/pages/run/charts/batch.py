"""The charts of the tab Batch: what the run trains on."""

from __future__ import annotations

from functools import partial

import plotly.graph_objects as go

from bapo.config.method import has_trait, is_trainable
from bapo.figures import batch_composition, reevaluation, rollouts, thresholds
from bapo.figures.metric_charts import (
    BUFFER_AGES,
    BUFFER_SIZES,
    DIFFICULT_TURNOVER,
    FILL_RATE,
    STORED_AGES,
    STORED_GROUPS,
    STORED_TURNOVER,
    MetricChart,
)
from bapo.figures.theme import Palette
from frontend.pages.run.charts.base import Chart, metric_chart, of_tab, recorded_chart
from frontend.pages.run.data import RunData


def _rollouts(data: RunData, palette: Palette) -> go.Figure:
    content = rollouts.rollouts_data(
        data.series,
        data.axis,
        prompts_per_step=int(data.run.config["rollout"]["batch_size"]),
        group_size=data.group_size,
    )
    return rollouts.rollouts_figure(content, palette)


def _buffers(whole: MetricChart, stored: MetricChart, data: RunData, palette: Palette) -> go.Figure:
    """Return both buffers, or only the stored groups of a method that re-evaluates nothing."""
    chart = whole if has_trait(data.run.method, "reevaluates") else stored
    return chart.figure(data.series, data.axis, palette)


TURNOVER = "Entries per step: above zero what entered, below zero what left. "


CHARTS = of_tab(
    "batch",
    Chart(
        "batch-composition",
        "Batch composition",
        "Groups trained on in each step: X1 fresh from the rollout policy α, X2 difficult prompts that the current "
        "policy answered again, X3 groups reused from earlier steps, whole or in part; dashed: the batch size B "
        "(Eq. 7), on top of which some methods reuse single responses. A click on a step walks through it.",
        lambda data, palette: batch_composition.batch_composition_figure(
            batch_composition.batch_composition_data(data.series, data.axis),
            palette,
            is_observed=not is_trainable(data.run.method),
        ),
        batch_composition.KEYS,
        wide=True,
        height=320,
        question="What is each batch made of?",
    ),
    Chart(
        "reevaluation",
        "Re-evaluated prompts",
        "Difficult prompts that the current policy answered again, in all steps or in those chosen here. Improved: "
        "c1 < accuracy < 1. Groups for which the batch had no room are surplus: kept for reuse, or dropped.",
        lambda data, palette: reevaluation.reevaluation_figure(reevaluation.reevaluation_data(data.totals), palette),
        needs=frozenset({"totals"}),
        live="rebuild",
        only="reevaluates",
        empty="No prompt has been re-evaluated in these steps.",
        wide=True,
        height=320,
        has_marks=False,
        question="What became of them?",
    ),
    metric_chart(
        "fill-rate",
        FILL_RATE,
        "Fill rate",
        "Groups trained on, divided by B.",
        smoothing="always",
        question="Are the batches full?",
    ),
    recorded_chart("rounds", "bapo/batch/num_rounds"),
    Chart(
        "thresholds",
        "Reuse window",
        "The reuse window [c2, c3] moves with the mean accuracy r_tot of the last ten steps (Eq. 8); prompts at or "
        "below c1 are difficult. Grid lines mark the accuracies that G responses can have.",
        lambda data, palette: thresholds.thresholds_figure(
            thresholds.thresholds_data(data.series, data.axis, data.group_size), palette
        ),
        thresholds.KEYS,
        only="has_thresholds",
        smoothing="never",
        question="Which groups may be reused?",
    ),
    Chart(
        "buffer-sizes",
        "Buffer sizes",
        "Stored groups that may be reused and, if the method has them, difficult prompts waiting to be re-evaluated.",
        partial(_buffers, BUFFER_SIZES, STORED_GROUPS),
        BUFFER_SIZES.keys,
        only="reuses_groups",
    ),
    Chart(
        "buffer-ages",
        "Buffer ages",
        "Steps since a difficult prompt was last evaluated, or a stored group generated; old groups are off-policy.",
        partial(_buffers, BUFFER_AGES, STORED_AGES),
        BUFFER_AGES.keys,
        only="reuses_groups",
        question="How old is what the buffers hold?",
    ),
    metric_chart(
        "turnover-difficult",
        DIFFICULT_TURNOVER,
        "Turnover of difficult prompts",
        TURNOVER + "If as many prompts enter in a step as the buffer holds, re-evaluation only meets prompts that were "
        "just rolled out.",
        only="reevaluates",
    ),
    metric_chart(
        "turnover-high-quality",
        STORED_TURNOVER,
        "Turnover of reusable groups",
        TURNOVER + "A group expires when it is too old to be reused.",
        only="reuses_groups",
    ),
    Chart(
        "rollouts",
        "Rollouts so far",
        "Responses generated for training so far, re-evaluations, further rounds and dropped groups included; dashed: "
        "one full batch of fresh prompts in every step, as GRPO would need.",
        _rollouts,
        rollouts.KEYS,
        smoothing="never",
        question="What has training cost?",
    ),
)
