"""The charts of the tab System: speed, memory and load."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures import timeline, timings
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.metric_charts import (
    CPU,
    GPU,
    GPU_MEMORY,
    MEMORY,
    REWARD_FAILURES,
    STEP_TIMES,
    STEPS_READY,
    VERL_PHASES,
)
from bapo.figures.theme import Palette
from frontend.pages.run.charts.base import Chart, metric_chart, of_tab
from frontend.pages.run.data import NEWEST_STEPS, RunData

STEP_SECONDS = "timing_s/step"
GENERATION = ("timing_s/gen", "timing_s/reevaluation")
GENERATOR = "timing_s/generator"
"""Generation by another process than the trainer."""
TOKENS, ROLLOUTS = "change:bapo/cost/num_tokens", "change:bapo/cost/num_rollouts"


def _timings(data: RunData, palette: Palette) -> go.Figure:
    return timings.timings_figure(timings.timings_data(data.series, data.axis), palette)


def _timeline(data: RunData, palette: Palette) -> go.Figure:
    return timeline.timeline_figure(timeline.timeline_data(data.newest_steps), palette)


def rates(series: Series, key: str, phases: Sequence[str] = (STEP_SECONDS,)) -> Sequence[float | None]:
    """Return what each step added per second of these phases."""
    seconds = [
        sum(value or 0.0 for value in parts) for parts in zip(*(column(series, each) for each in phases), strict=True)
    ]
    return [
        None if value is None or not time else value / time
        for value, time in zip(column(series, key), seconds, strict=True)
    ]


def _tokens(data: RunData, palette: Palette) -> go.Figure:
    # A step whose responses were generated ahead generates none; with another process that does, it only waits.
    has_generator = any(column(data.series, GENERATOR))
    phases = (GENERATOR, GENERATION[1]) if has_generator else GENERATION
    generating = [rate or None for rate in rates(data.series, TOKENS, phases)]
    lines = [
        Line("of the whole step", rates(data.series, TOKENS), palette.series[0], width=2),
        Line("while generating", generating, palette.series[1]),
    ]
    return lines_figure(lines, data.axis, hover="%{y:,.0f} tokens/s", yaxis={"title": {"text": "response tokens / s"}})


def _rollouts(data: RunData, palette: Palette) -> go.Figure:
    line = Line("rollouts per second", rates(data.series, ROLLOUTS), palette.series[0])
    return lines_figure([line], data.axis, hover="%{y:,.0f} rollouts/s", yaxis={"title": {"text": "rollouts / s"}})


CHARTS = of_tab(
    "system",
    Chart(
        "timings",
        "Time by phase",
        "Seconds of each step by phase: fresh rollouts, re-evaluation of difficult prompts, building the batch, the "
        "update, and what is left. Vertical marks show where an attempt resumed.",
        _timings,
        timings.KEYS,
        wide=True,
        height=320,
        question="Where does the time go?",
    ),
    Chart(
        "timeline",
        "Timeline of the newest steps",
        f"What each process did in the last {NEWEST_STEPS} steps of the newest attempt, and the share of that time in "
        "which it waited or had nothing to do. With rollout.ahead=overlap a generator works while the trainer trains; "
        "other charts show the rollouts ahead and those thrown away, the tab Off-policy how stale they are.",
        _timeline,
        # Recorded with the spans.
        ("timing_s/sync",),
        needs=frozenset({"newest_steps"}),
        live="rebuild",
        wide=True,
        height=260,
        smoothing="never",
        has_marks=False,
        only_recorded=True,
        question="Which process waits for which?",
    ),
    Chart(
        "tokens-per-second",
        "Tokens per second",
        "Response tokens of training that the step added, divided by the time of the whole step, and by that of "
        "generating alone, new weights for the rollout engine included.",
        _tokens,
        (TOKENS, STEP_SECONDS, *GENERATION, GENERATOR),
        height=220,
        question="How fast does it generate?",
    ),
    metric_chart(
        "verl-phases",
        VERL_PHASES,
        "verl phases",
        "Seconds of verl's own phases within the step, re-evaluation included. Answers are verified while others are "
        "still being generated; that line adds up all workers.",
        live="rebuild",
        wide=True,
        height=320,
        only_recorded=True,
        question="What do verl's processes spend their time on?",
    ),
    Chart(
        "rollouts-per-second",
        "Rollouts per second",
        "Responses of training, fresh and re-evaluated, divided by the time of the whole step.",
        _rollouts,
        (ROLLOUTS, STEP_SECONDS),
        height=220,
    ),
    metric_chart(
        "step-times",
        STEP_TIMES,
        "Time per step",
        "Wall time and CPU time of the trainer process, and what writing the record of the step before took.",
        height=220,
    ),
    metric_chart(
        "memory",
        MEMORY,
        "Memory of the trainer",
        "Resident memory, now and at its peak.",
        height=220,
        smoothing="never",
    ),
    metric_chart(
        "cpu",
        CPU,
        "CPU load",
        "Of the trainer process; 100 % is one core.",
        height=220,
    ),
    metric_chart(
        "reward-failures",
        REWARD_FAILURES,
        "Verifier failures",
        "Responses whose verifier raised an error, since the attempt began: each counts as wrong.",
        height=220,
        smoothing="never",
        only_recorded=True,
    ),
    metric_chart(
        "steps-ready",
        STEPS_READY,
        "Steps ready",
        "Later steps whose responses the generating process had finished at the end of the step.",
        height=220,
        smoothing="never",
        only_recorded=True,
        question="How far is generation ahead of training?",
    ),
    metric_chart(
        "gpu-memory",
        GPU_MEMORY,
        "GPU memory of the trainer",
        "What PyTorch has allocated, now and at its peak.",
        height=220,
        smoothing="never",
        only_recorded=True,
    ),
    metric_chart(
        "gpu",
        GPU,
        "GPU load",
        "Utilisation where it is recorded, and the share of the device's memory in use by all processes.",
        height=220,
        only_recorded=True,
    ),
)
