"""Charts that draw metrics of training steps as they were recorded: which metric is which line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.number_format import are_shares
from bapo.api.records import Series
from bapo.figures.axes import XAxis
from bapo.figures.lines import Dash, Line, column, lines_figure
from bapo.figures.panels import titled
from bapo.figures.theme import Palette, translucent

Colour = Literal["fresh", "reevaluated", "reused", "reference", "good", "bad"] | int
"""A colour of the palette by its meaning, or a place among its series."""
GIB = 2**-30


class Metric(NamedTuple):
    """A metric as a line: its name in the legend, and its look."""

    key: str
    name: str
    colour: Colour
    dash: Dash = "solid"
    width: float = 1.5
    opacity: float = 1.0
    stack: str | None = None
    """Drawn as an area on top of those before it in the same stack."""
    factor: float = 1.0
    """To the unit of the axis."""

    def line(self, series: Series, palette: Palette) -> Line:
        """Read the metric by step; a step without it is a gap."""
        colour = palette.series[self.colour] if isinstance(self.colour, int) else str(getattr(palette, self.colour))
        if self.opacity < 1:
            colour = translucent(colour, self.opacity)
        values = column(series, self.key, self.factor)
        return Line(self.name, values, colour, self.dash, self.width, stack=self.stack)


class MetricChart(NamedTuple):
    """Metrics on one y-axis."""

    metrics: Sequence[Metric]
    yaxis: dict[str, Any]
    hover: str
    """Text of a point, such as `%{y:.1f} tokens`."""
    only_recorded: bool = False
    """True if metrics that no step has are left out; a chart to which steps are appended has all of its lines."""
    beyond_shares: tuple[dict[str, Any], str] | None = None
    """Axis and text of a point where a value is none between 0 and 1."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The metrics that it needs."""
        return tuple(metric.key for metric in self.metrics)

    def lines(self, series: Series, palette: Palette) -> list[Line]:
        """Read the lines off the metrics."""
        lines = [metric.line(series, palette) for metric in self.metrics]
        return [line for line in lines if not self.only_recorded or any(value is not None for value in line.values)]

    def figure(self, series: Series, axis: XAxis, palette: Palette) -> go.Figure:
        """Draw all lines over the axis."""
        lines, yaxis, hover = self.lines(series, palette), self.yaxis, self.hover
        values = (value for line in lines for value in line.values)
        if self.beyond_shares is not None and not are_shares(values):
            yaxis, hover = self.beyond_shares
        return lines_figure(lines, axis, hover=hover, yaxis=yaxis)


def scalar(key: str, name: str, unit: str, *, from_zero: bool = True) -> MetricChart:
    """Return the chart of one metric; the axis of a signed one shows both sides of 0."""
    yaxis = titled(unit, rangemode="tozero" if from_zero else "normal")
    return MetricChart([Metric(key, name, 0)], yaxis, "%{y:.4g}")


REWARDS = MetricChart(
    [
        # Thin, for it is no measure of the policy.
        Metric("bapo/batch/reward_mean", "batch", "reference", "dot", 1, opacity=0.6),
        Metric("critic/rewards/mean", "fresh", "fresh", width=2),
    ],
    titled("correct responses", tickformat=".0%"),
    "%{y:.1%}",
    beyond_shares=(titled("mean reward"), "%{y:.4g}"),
)
FILL_RATE = MetricChart(
    [Metric("bapo/batch/fill_rate", "fill rate", 2, width=2)],
    # At least up to 1, and beyond where stored responses come on top of B.
    titled("batch / B", tickformat=".0%", autorangeoptions={"include": [0, 1.05], "clipmin": 0}, fixedrange=True),
    "%{y:.1%}",
)
STORED_GROUPS = MetricChart(
    [Metric("bapo/buffer/high_quality/size", "stored groups", "reused", width=2)], titled("stored groups"), "%{y:,d}"
)
BUFFER_SIZES = MetricChart(
    [
        Metric("bapo/buffer/difficult/size", "difficult prompts", "bad", width=2),
        *STORED_GROUPS.metrics,
        Metric("bapo/buffer/difficult/capacity", "difficult capacity", "reference", "dash"),
    ],
    titled("entries"),
    "%{y:,d}",
)
STORED_AGES = MetricChart(
    [
        Metric("bapo/buffer/high_quality/age_mean", "stored groups, mean", "reused", width=2),
        Metric("bapo/buffer/high_quality/age_max", "stored groups, oldest", "reused", "dot", 1.2),
    ],
    titled("age in steps"),
    "%{y:.1f} steps",
)
"""Steps since a group was generated; a gap where the buffer is empty."""
BUFFER_AGES = STORED_AGES._replace(
    metrics=[
        Metric("bapo/buffer/difficult/age_mean", "difficult, mean", "bad", width=2),
        Metric("bapo/buffer/difficult/age_max", "difficult, oldest", "bad", "dot", 1.2),
        *STORED_AGES.metrics,
    ]
)
"""The same, and steps since a difficult prompt was evaluated."""


def _turnover(buffer: str) -> MetricChart:
    """Return entries of a buffer per step: above zero what came in, below it what went out."""
    moves: tuple[tuple[str, str, Colour, int], ...] = (
        ("entered", "entered", "fresh", 1),
        ("refreshed", "refreshed", "reused", 1),
        ("left_improved", "left, improved", "good", -1),
        ("evicted", "evicted, no room", "reference", -1),
        ("expired", "expired, too old", "reevaluated", -1),
    )
    metrics = [
        Metric(f"bapo/buffer/{buffer}/{key}", name, colour, stack="in" if sign > 0 else "out", factor=sign)
        for key, name, colour, sign in moves
    ]
    return MetricChart(metrics, titled("entries: out | in", rangemode="normal", zeroline=True), "%{y:d}")


DIFFICULT_TURNOVER = _turnover("difficult")
STORED_TURNOVER = _turnover("high_quality")
VALUES = MetricChart(
    [
        Metric("critic/values/mean", "expected value", 0, width=2),
        Metric("critic/returns/mean", "return that came", 0, "dot", 1.2),
    ],
    titled("reward"),
    "%{y:.3f}",
)
RATIO_ENDS = MetricChart(
    [
        Metric("bapo/ratio/mean", "mean", 0, width=2),
        Metric("bapo/ratio/max", "largest", 0, "dot", 1.2),
    ],
    titled("ratio ρ", rangemode="normal"),
    "%{y:.4f}",
)
CLIPPED = MetricChart(
    [
        Metric("actor/pg_clipfrac", "clipped tokens", 0),
        Metric("bapo/logprob_gap/outside_clip_range", "outside by the gap alone", "reference", "dot", 1.2),
    ],
    titled("share of tokens", rangemode="tozero"),
    "%{y:.4g}",
)
LOGPROB_GAP = MetricChart(
    [
        Metric("bapo/logprob_gap/mean", "mean |Δ log p|", 0, width=2),
        # Another colour as well: known in some steps only, both are points.
        Metric("bapo/logprob_gap/max", "largest |Δ log p|", 1, "dot", 1.2),
    ],
    # From 1e-7 in float32 to 1 where something is wrong.
    titled("nats per token", type="log", exponentformat="power", dtick=1),
    "%{y:.2e}",
)
OBSERVED_LOGPROB_GAP = LOGPROB_GAP._replace(
    metrics=[
        *LOGPROB_GAP.metrics,
        Metric("training/rollout_probs_diff_mean", "mean |Δp|, as verl logs it", 2, width=2),
        Metric("training/rollout_probs_diff_max", "largest |Δp|, as verl logs it", 3, "dot", 1.2),
    ],
    yaxis=titled("difference per token", type="log", exponentformat="power", dtick=1),
    only_recorded=True,
)
"""Gap of other trainers: TRL logs differences of log-probabilities, verl those of probabilities."""
ROLLOUT_LAG = MetricChart(
    [Metric("bapo/policy/rollout_staleness", "delay of α", "fresh")], titled("steps behind"), "%{y:d} steps"
)


def _distances(measure: str, unit: str) -> MetricChart:
    """Describe the chart of TV(π_θ, behaviour policy) before the update, estimated as ½·mean|ρ - 1|, per source."""
    metrics = [
        Metric(f"bapo/tv/{measure}/fresh", "X1 fresh", "fresh"),
        Metric(f"bapo/tv/{measure}/reevaluated", "X2 re-evaluated", "reevaluated"),
        Metric(f"bapo/tv/{measure}/reused", "X3 reused", "reused"),
    ]
    return MetricChart(metrics, titled(f"TV per {unit}"), "%{y:.3g}")


TOKEN_DISTANCES = _distances("tokens", "token")
RESPONSE_DISTANCES = _distances("sequences", "whole response")
STEP_TIMES = MetricChart(
    [
        Metric("timing_s/step", "step", 0, width=2),
        Metric("timing_s/step_cpu", "CPU time of the trainer", 1),
        Metric("timing_s/journal", "writing the journal", "reference"),
    ],
    titled("seconds"),
    "%{y:.4f} s",
)
VERL_PHASES = MetricChart(
    [
        Metric("timing_s/verl/update_weights", "weights to vLLM", 0),
        Metric("timing_s/verl/gen", "generating", 1),
        Metric("timing_s/verl/update_actor", "updating the policy", 2),
        Metric("timing_s/verl/update_critic", "updating the critic", 3),
        Metric("timing_s/verl/values", "values of the critic", 4),
        # Colours come round again.
        Metric("timing_s/verl/log_prob", "log-probabilities", 0, "dot"),
        Metric("timing_s/verl/adv", "advantages", 1, "dot"),
        Metric("timing_s/verl/reward", "verifying", 2, "dot"),
    ],
    titled("seconds per step"),
    "%{y:.3f} s",
    only_recorded=True,
)
MEMORY = MetricChart(
    [
        Metric("bapo/system/memory_bytes", "in use", 0, width=2, factor=GIB),
        Metric("bapo/system/memory_peak_bytes", "peak", 0, "dot", 1.2, factor=GIB),
    ],
    titled("GiB"),
    "%{y:.2f} GiB",
)
GPU_MEMORY = MEMORY._replace(
    metrics=[
        Metric("bapo/system/gpu_memory_bytes", "in use", 0, width=2, factor=GIB),
        Metric("bapo/system/gpu_memory_peak_bytes", "peak", 0, "dot", 1.2, factor=GIB),
    ]
)
CPU = MetricChart([Metric("bapo/system/cpu_percent", "CPU", 0)], titled("% of one core"), "%{y:.0f} %")
GPU = MetricChart(
    [
        Metric("bapo/system/gpu_percent", "utilisation", 0),
        Metric("bapo/system/gpu_memory_used_percent", "memory used, all processes", 2),
    ],
    titled("%", range=[0, 102]),
    "%{y:.0f} %",
)
STEPS_READY = MetricChart([Metric("bapo/system/num_steps_ready", "steps", 0)], titled("steps"), "%{y:.0f} steps")
REWARD_FAILURES = MetricChart(
    [Metric("bapo/system/num_reward_failures", "responses", 0)], titled("responses"), "%{y:,.0f} responses"
)
