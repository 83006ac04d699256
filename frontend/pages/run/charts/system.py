"""The charts of the tab System: speed, memory and load."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures import timings, verl_phases
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.theme import Palette
from frontend.pages.run.charts.base import Chart
from frontend.pages.run.data import RunData

STEP_SECONDS = "timing_s/step"
GENERATION = ("timing_s/gen", "timing_s/reevaluation")
TOKENS, ROLLOUTS = "change:bapo/cost/num_tokens", "change:bapo/cost/num_rollouts"
STEP_TIMES = (STEP_SECONDS, "timing_s/step_cpu", "timing_s/journal")
MEMORY = ("bapo/system/memory_bytes", "bapo/system/memory_peak_bytes")
GPU_MEMORY = ("bapo/system/gpu_memory_bytes", "bapo/system/gpu_memory_peak_bytes")
CPU = ("bapo/system/cpu_percent",)
GPU = ("bapo/system/gpu_percent", "bapo/system/gpu_memory_used_percent")
REWARD_FAILURES = "bapo/system/num_reward_failures"
GIB = 2**-30


def _timings(data: RunData, palette: Palette) -> go.Figure:
    return timings.timings_figure(timings.timings_data(data.series, data.axis), palette)


def rates(series: Series, key: str, phases: Sequence[str] = (STEP_SECONDS,)) -> Sequence[float | None]:
    """Returns what each step added per second of these phases."""
    seconds = [
        sum(value or 0.0 for value in parts) for parts in zip(*(column(series, each) for each in phases), strict=True)
    ]
    return [
        None if value is None or not time else value / time
        for value, time in zip(column(series, key), seconds, strict=True)
    ]


def _tokens(data: RunData, palette: Palette) -> go.Figure:
    lines = [
        Line("of the whole step", rates(data.series, TOKENS), palette.series[0], width=2),
        Line("while generating", rates(data.series, TOKENS, GENERATION), palette.series[1]),
    ]
    return lines_figure(lines, data.axis, hover="%{y:,.0f} tokens/s", yaxis={"title": {"text": "response tokens / s"}})


def _verl_phases(data: RunData, palette: Palette) -> go.Figure:
    return verl_phases.verl_phases_figure(verl_phases.verl_phases_data(data.series, data.axis), palette)


def _reward_failures(data: RunData, palette: Palette) -> go.Figure:
    line = Line("responses", column(data.series, REWARD_FAILURES), palette.series[0])
    return lines_figure([line], data.axis, hover="%{y:,.0f} responses", yaxis={"title": {"text": "responses"}})


def _rollouts(data: RunData, palette: Palette) -> go.Figure:
    line = Line("rollouts per second", rates(data.series, ROLLOUTS), palette.series[0])
    return lines_figure([line], data.axis, hover="%{y:,.0f} rollouts/s", yaxis={"title": {"text": "rollouts / s"}})


def _step_times(data: RunData, palette: Palette) -> go.Figure:
    lines = [
        Line("step", column(data.series, STEP_TIMES[0]), palette.series[0], width=2),
        Line("CPU time of the trainer", column(data.series, STEP_TIMES[1]), palette.series[1]),
        Line("writing the journal", column(data.series, STEP_TIMES[2]), palette.reference),
    ]
    return lines_figure(lines, data.axis, hover="%{y:.4f} s", yaxis={"title": {"text": "seconds"}})


def _bytes(keys: Sequence[str], data: RunData, palette: Palette) -> go.Figure:
    lines = [
        Line("in use", column(data.series, keys[0], GIB), palette.series[0], width=2),
        Line("peak", column(data.series, keys[1], GIB), palette.series[0], "dot", 1.2),
    ]
    return lines_figure(lines, data.axis, hover="%{y:.2f} GiB", yaxis={"title": {"text": "GiB"}})


def _cpu(data: RunData, palette: Palette) -> go.Figure:
    line = Line("CPU", column(data.series, CPU[0]), palette.series[0])
    return lines_figure([line], data.axis, hover="%{y:.0f} %", yaxis={"title": {"text": "% of one core"}})


def _gpu(data: RunData, palette: Palette) -> go.Figure:
    lines = [
        Line("utilisation", column(data.series, GPU[0]), palette.series[0]),
        Line("memory used, all processes", column(data.series, GPU[1]), palette.series[2]),
    ]
    return lines_figure(lines, data.axis, hover="%{y:.0f} %", yaxis={"title": {"text": "%"}, "range": [0, 102]})


CHARTS: tuple[Chart, ...] = (
    Chart(
        "timings",
        "system",
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
        "tokens-per-second",
        "system",
        "Tokens per second",
        "Response tokens of training that the step added, divided by the time of the whole step, and by that of "
        "generating alone, new weights for the rollout engine included.",
        _tokens,
        (TOKENS, STEP_SECONDS, *GENERATION),
        height=220,
        question="How fast does it generate?",
    ),
    Chart(
        "verl-phases",
        "system",
        "verl phases",
        "Seconds of verl's own phases within the step, re-evaluation included. Answers are verified while others are "
        "still being generated; that line adds up all workers.",
        _verl_phases,
        verl_phases.KEYS,
        live="rebuild",
        wide=True,
        height=320,
        only_recorded=True,
        question="What do verl's processes spend their time on?",
    ),
    Chart(
        "rollouts-per-second",
        "system",
        "Rollouts per second",
        "Responses of training, fresh and re-evaluated, divided by the time of the whole step.",
        _rollouts,
        (ROLLOUTS, STEP_SECONDS),
        height=220,
    ),
    Chart(
        "step-times",
        "system",
        "Time per step",
        "Wall time and CPU time of the trainer process, and what writing the record of the step before took.",
        _step_times,
        STEP_TIMES,
        height=220,
    ),
    Chart(
        "memory",
        "system",
        "Memory of the trainer",
        "Resident memory, now and at its peak.",
        lambda data, palette: _bytes(MEMORY, data, palette),
        MEMORY,
        height=220,
        smoothing="never",
    ),
    Chart(
        "cpu",
        "system",
        "CPU load",
        "Of the trainer process; 100 % is one core.",
        _cpu,
        CPU,
        height=220,
    ),
    Chart(
        "reward-failures",
        "system",
        "Verifier failures",
        "Responses whose verifier raised an error, since the attempt began: each counts as wrong.",
        _reward_failures,
        (REWARD_FAILURES,),
        height=220,
        smoothing="never",
        only_recorded=True,
    ),
    Chart(
        "gpu-memory",
        "system",
        "GPU memory of the trainer",
        "What PyTorch has allocated, now and at its peak.",
        lambda data, palette: _bytes(GPU_MEMORY, data, palette),
        GPU_MEMORY,
        height=220,
        smoothing="never",
        only_recorded=True,
    ),
    Chart(
        "gpu",
        "system",
        "GPU load",
        "Utilisation where it is recorded, and the share of the device's memory in use by all processes.",
        _gpu,
        GPU,
        height=220,
        only_recorded=True,
    ),
)
