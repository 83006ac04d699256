"""The charts of the run page: what each answers, what it needs and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from frontend.figures import (
    accuracy_bins,
    batch_composition,
    buffer_ages,
    buffer_sizes,
    evaluations,
    fill_rate,
    reevaluation,
    rewards,
    rollouts,
    scalar,
    thresholds,
    unlocks,
)
from frontend.figures.axes import XAxis
from frontend.figures.marks import add_marks
from frontend.pages.run.data import Need, RunData
from frontend.theme import Palette

Tab = Literal["overview", "batch", "difficulty"]
BAPO = frozenset({"bapo"})
BUFFERED = frozenset({"bapo", "bapo_mini"})


@dataclass(frozen=True, slots=True)
class Chart:
    """One card of the run page."""

    name: str
    tab: Tab
    title: str
    explanation: str
    draw: Callable[[RunData, Palette], go.Figure]
    keys: tuple[str, ...] = ()
    needs: frozenset[Need] = frozenset()
    live: Literal["append", "rebuild", "event"] = "append"
    """`append`: new steps are added; `rebuild`: drawn anew now and then; `event`: only when such a record comes."""
    methods: frozenset[str] | None = None
    """Methods that it says anything about; all where None."""
    wide: bool = False
    height: int = 260
    empty: str = "The first step is not finished yet."


def _scalar(name: str, key: str, title: str, explanation: str, unit: str, *, from_zero: bool = True) -> Chart:
    def draw(data: RunData, palette: Palette) -> go.Figure:
        content = scalar.scalar_data(data.series, data.axis, key, name=title.lower(), unit=unit, from_zero=from_zero)
        return scalar.scalar_figure(content, palette)

    return Chart(name, "overview", title, explanation, draw, (key,), height=220)


def _fresh_bins(data: RunData, palette: Palette) -> go.Figure:
    histograms = data.histograms
    # The server samples long runs apart from the metrics.
    positions = [data.axis.at(step) for step in histograms.steps]
    axis = XAxis(data.axis.kind, histograms.steps, positions, data.axis.start)
    return accuracy_bins.accuracy_bins_figure(
        accuracy_bins.histogram_bins(histograms.fresh, axis, data.group_size), palette
    )


def _rollouts(data: RunData, palette: Palette) -> go.Figure:
    content = rollouts.rollouts_data(
        data.series,
        data.axis,
        prompts_per_step=int(data.run.config["rollout"]["batch_size"]),
        group_size=data.group_size,
    )
    return rollouts.rollouts_figure(content, palette)


CHARTS: tuple[Chart, ...] = (
    Chart(
        "rewards",
        "overview",
        "Is it learning? Training reward",
        "Share of correct responses among the fresh rollouts of each step. The dotted line is the training batch, "
        "which filtering keeps near the middle: it says nothing about the policy.",
        lambda data, palette: rewards.rewards_figure(rewards.rewards_data(data.series, data.axis), palette),
        rewards.KEYS,
    ),
    Chart(
        "evaluations",
        "overview",
        "Does it generalise? Test accuracy",
        "Accuracy on held-out problems, averaged over k samples each (avg@k) with its 95 % interval; dotted: at least "
        "one of k correct (pass@k); dashed: the base model.",
        lambda data, palette: evaluations.evaluations_figure(
            evaluations.evaluations_data(data.evaluations, data.axis), palette
        ),
        needs=frozenset({"evaluations"}),
        live="event",
        empty="The first evaluation is not finished yet.",
    ),
    _scalar(
        "entropy",
        "actor/entropy",
        "Entropy of the policy",
        "Mean entropy per response token. A collapse towards 0 means that the policy no longer explores.",
        "nats per token",
    ),
    _scalar(
        "grad-norm",
        "actor/grad_norm",
        "Gradient norm",
        "Norm of the gradient before it is scaled down to training.max_grad_norm.",
        "norm",
    ),
    _scalar(
        "kl",
        "actor/ppo_kl",
        "KL to the behaviour policy",
        "How far the trained policy has moved from the policies that generated its batch.",
        "nats per token",
        from_zero=False,
    ),
    _scalar(
        "clip-fraction",
        "actor/pg_clipfrac",
        "Clipped tokens",
        "Share of tokens whose ratio left the clip range, so that they gave no gradient.",
        "share of tokens",
    ),
    Chart(
        "batch-composition",
        "batch",
        "What is each batch made of?",
        "Groups trained on in each step: X1 fresh from the rollout policy α, X2 difficult prompts that the current "
        "policy answered again, X3 groups reused from the last steps; dashed: the batch size B (Eq. 7).",
        lambda data, palette: batch_composition.batch_composition_figure(
            batch_composition.batch_composition_data(data.series, data.axis), palette
        ),
        batch_composition.KEYS,
        wide=True,
        height=320,
    ),
    Chart(
        "fill-rate",
        "batch",
        "How full are the batches?",
        "Groups trained on, divided by B.",
        lambda data, palette: fill_rate.fill_rate_figure(fill_rate.fill_rate_data(data.series, data.axis), palette),
        fill_rate.KEYS,
    ),
    Chart(
        "reevaluation",
        "batch",
        "What became of re-evaluated prompts?",
        "All difficult prompts that the current policy answered again so far. Improved: c1 < accuracy < 1.",
        lambda data, palette: reevaluation.reevaluation_figure(reevaluation.reevaluation_data(data.totals), palette),
        needs=frozenset({"totals"}),
        live="rebuild",
        methods=BUFFERED,
        empty="No prompt has been re-evaluated yet.",
    ),
    Chart(
        "thresholds",
        "batch",
        "Which groups may be reused?",
        "The reuse window [c2, c3] moves with the mean accuracy r_tot of the last ten steps (Eq. 8); prompts at or "
        "below c1 are difficult. Grid lines stand at the accuracies that G responses can have.",
        lambda data, palette: thresholds.thresholds_figure(
            thresholds.thresholds_data(data.series, data.axis, data.group_size), palette
        ),
        thresholds.KEYS,
        methods=BAPO,
    ),
    Chart(
        "buffer-sizes",
        "batch",
        "What do the buffers hold?",
        "Difficult prompts waiting to be re-evaluated, and high-quality groups that may be reused.",
        lambda data, palette: buffer_sizes.buffer_sizes_figure(
            buffer_sizes.buffer_sizes_data(data.series, data.axis), palette
        ),
        buffer_sizes.KEYS,
        methods=BUFFERED,
    ),
    Chart(
        "buffer-ages",
        "batch",
        "How old is it?",
        "Steps since a difficult prompt was last evaluated, or a high-quality group generated; old groups are "
        "off-policy.",
        lambda data, palette: buffer_ages.buffer_ages_figure(
            buffer_ages.buffer_ages_data(data.series, data.axis), palette
        ),
        buffer_ages.KEYS,
        methods=BUFFERED,
    ),
    Chart(
        "rollouts",
        "batch",
        "What has it cost?",
        "Responses generated for training so far, re-evaluations and dropped groups included; dashed: the fresh ones "
        "alone, as GRPO would need.",
        _rollouts,
        rollouts.KEYS,
    ),
    Chart(
        "tracked-bins",
        "difficulty",
        "Which prompts can it solve? Tracked prompts",
        "A fixed set of training prompts, sampled G times by the current policy apart from training. From deep red "
        "(0/G, nobody solves it) to deep blue (G/G).",
        lambda data, palette: accuracy_bins.accuracy_bins_figure(
            accuracy_bins.tracking_bins(data.tracking, data.axis, data.group_size), palette
        ),
        needs=frozenset({"tracking"}),
        live="event",
        height=320,
        empty="The tracked prompts have not been sampled yet.",
    ),
    Chart(
        "fresh-bins",
        "difficulty",
        "Which prompts does it meet? Fresh rollouts",
        "Accuracy of the fresh groups of each step, by the rollout policy α, as means of ten steps.",
        _fresh_bins,
        needs=frozenset({"histograms"}),
        height=320,
    ),
    Chart(
        "unlocks",
        "difficulty",
        "What has it unlocked?",
        "Tracked prompts that moved since the base model. Dashed: what sampling the unchanged base model twice gives. "
        "Only what lies above it is learning.",
        lambda data, palette: unlocks.unlocks_figure(unlocks.unlocks_data(data.tracking, data.axis), palette),
        needs=frozenset({"tracking"}),
        live="event",
        wide=True,
        empty="Shown after the first sampling during training.",
    ),
)

BY_NAME: Mapping[str, Chart] = {chart.name: chart for chart in CHARTS}
NO_MARKS = frozenset({"reevaluation"})


def charts_of(tab: str, method: str) -> list[Chart]:
    """The charts of a tab that mean something for the method."""
    return [chart for chart in CHARTS if chart.tab == tab and (chart.methods is None or method in chart.methods)]


def drawn(chart: Chart, data: RunData, palette: Palette) -> go.Figure:
    """The chart with the run's marks."""
    figure = chart.draw(data, palette).update_layout(height=chart.height)
    return figure if chart.name in NO_MARKS else add_marks(figure, data.marks, data.axis, palette)


def is_empty(figure: go.Figure) -> bool:
    """Whether there is nothing to see: no point, or bars of length 0 only."""
    return not any(
        value is not None and (trace.type != "bar" or value)
        for trace in figure.data
        for value in (trace.x if trace.type == "bar" else trace.y)
    )


def note_of(chart: Chart, data: RunData) -> str:
    """Says that steps were left out, where they were."""
    if chart.live != "append" or not data.num_left_out:
        return ""
    return f"{len(data.series.steps):,} of {data.run.step:,} steps shown"
