"""The tiles at the top of a run page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from bapo.analysis.number_format import are_shares
from bapo.api.records import HistogramSeries, Series
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.config.method import has_trait
from bapo.config.sections import group_size_of
from bapo.evaluation import score_interval
from bapo.figures import formatting
from bapo.figures.smoothing import WINDOW_STEPS, moving_mean
from bapo.figures.theme import Palette
from bapo.records import Interval
from bapo.rollout import BatchSource
from frontend.pages.run.data import NO_HISTOGRAMS, NO_SERIES
from frontend.pages.run.tile import Tile, Trend

REWARD, FILL, ROLLOUTS, SECONDS = (
    "critic/rewards/mean",
    "bapo/batch/fill_rate",
    "bapo/cost/num_rollouts",
    "timing_s/step",
)
SOURCES = {
    "X1": ("bapo/batch/x1", BatchSource.FRESH),
    "X2": ("bapo/batch/x2", BatchSource.REEVALUATED),
    "X3": ("bapo/batch/x3", BatchSource.REUSED),
}
KEYS = (REWARD, FILL, ROLLOUTS, SECONDS, *(key for key, _ in SOURCES.values()))
SPARKLINE_POINTS = 80


class TileData(NamedTuple):
    """The data behind the tiles."""

    first: Series
    """The first ten steps."""
    newest: Series
    """The last ten steps."""
    course: Series
    """A sample of all steps, for the sparklines."""
    first_histograms: HistogramSeries
    newest_histograms: HistogramSeries
    course_histograms: HistogramSeries
    evaluations: Series
    """avg@k of the set that the run's row names, with its interval."""


NOTHING = TileData(NO_SERIES, NO_SERIES, NO_SERIES, NO_HISTOGRAMS, NO_HISTOGRAMS, NO_HISTOGRAMS, NO_SERIES)


async def load_tiles(client: AsyncClient, run: RunDetail, palette: Palette) -> list[Tile]:
    """Fetch the first and the newest steps, and a sample of all."""
    if run.step == 0:
        return tiles(run, NOTHING, palette)
    since = max(1, run.step - WINDOW_STEPS + 1)
    # More awaitables than gather's type tells apart.
    answers: list[Any] = await asyncio.gather(
        client.metrics(run.id, KEYS, from_step=1, to_step=WINDOW_STEPS),
        client.metrics(run.id, KEYS, from_step=since),
        client.metrics(run.id, KEYS, from_step=1, max_points=SPARKLINE_POINTS),
        client.histograms(run.id, from_step=1, to_step=WINDOW_STEPS),
        client.histograms(run.id, from_step=since),
        client.histograms(run.id, from_step=1, max_points=SPARKLINE_POINTS),
        _evaluations(client, run),
    )
    return tiles(run, TileData(*answers), palette)


async def _evaluations(client: AsyncClient, run: RunDetail) -> Series:
    key = evaluation_key(run)
    return await client.metrics(run.id, (key, f"{key}/low", f"{key}/high"), from_step=0) if key else NO_SERIES


def evaluation_key(run: RunDetail) -> str | None:
    """Return the metric behind the run's evaluation: "CD-34 avg@8" → `val-core/CD-34/acc/mean@8`."""
    dataset, separator, num_samples = (run.eval_name or "").rpartition(" avg@")
    return f"val-core/{dataset}/acc/mean@{num_samples}" if separator else None


def tiles(run: RunDetail, data: TileData, palette: Palette) -> list[Tile]:
    """Return the tiles: means of ten steps with their change since the first ten, and totals."""
    return [
        _reward(data, palette),
        _evaluation(run, data, palette),
        _unsolved(data, palette),
        _fill(data.newest, data.course, palette),
        _rollouts(run, data.course, palette),
        _speed(run, data.newest, data.course, palette),
    ]


def _unsolved(data: TileData, palette: Palette) -> Tile:
    now, then = (_unsolved_share(part) for part in (data.newest_histograms, data.first_histograms))
    change = _change(data, now, then)
    return Tile(
        "unsolved",
        "Unsolved prompts",
        formatting.percent(now),
        f"at 0/G, 95 %: {_range(_solved(data.newest_histograms, any_correct=False))}"
        if now is not None
        else "no step yet",
        None if change is None else formatting.points(change),
        _trend(None if change is None else -change),
        "Share of fresh groups without a correct response in the last ten steps; the change is since the first ten. "
        "The tab Difficulty shows how much of it is chance.",
        moving_mean([counts[0] / max(1, sum(counts)) for counts in data.course_histograms.fresh]),
        palette.bad,
    )


def _solved(histograms: HistogramSeries, *, any_correct: bool) -> Interval | None:
    """Return the accuracy of the fresh groups with its interval, or the share of those without a correct response.

    The groups are what is independent, not the responses of one.
    """
    totals = [sum(counts) for counts in zip(*histograms.fresh, strict=True)]
    size = len(totals) - 1
    values = [k / size if any_correct else float(k == 0) for k, count in enumerate(totals) for _ in range(count)]
    return score_interval(values, len(values) * (size if any_correct else 1)) if values else None


def _range(interval: Interval | None) -> str:
    if interval is None:
        return formatting.MISSING
    return f"{formatting.share(interval.low, 0)}–{formatting.percent(interval.high, 0)}"


def _unsolved_share(histograms: HistogramSeries) -> float | None:
    total = sum(sum(counts) for counts in histograms.fresh)
    return sum(counts[0] for counts in histograms.fresh) / total if total else None


def _change(data: TileData, now: float | None, then: float | None) -> float | None:
    """Return the difference, unless the newest steps are the first."""
    is_later = bool(data.newest.steps) and data.newest.steps[0] > WINDOW_STEPS
    return now - then if now is not None and then is not None and is_later else None


def _reward(data: TileData, palette: Palette) -> Tile:
    now, then = _mean(data.newest, REWARD), _mean(data.first, REWARD)
    change = _change(data, now, then)
    course = _column(data.course, REWARD)
    is_share = are_shares((now, then, *course))
    interval = _range(_solved(data.newest_histograms, any_correct=True))
    note = f"{WINDOW_STEPS} steps, 95 %: {interval}" if is_share else f"{WINDOW_STEPS} steps, correct 95 %: {interval}"
    return Tile(
        "reward",
        "Training reward",
        formatting.percent(now) if is_share else formatting.decimal(now),
        note if now is not None else "no step yet",
        None if change is None else formatting.points(change) if is_share else formatting.signed_decimal(change),
        _trend(change),
        f"Share of correct responses among the fresh rollouts of the last {WINDOW_STEPS} steps, with its 95 % interval "
        "over groups; the change is since the first ten steps."
        if is_share
        else f"Mean reward of the fresh rollouts of the last {WINDOW_STEPS} steps; the change is since the first ten "
        "steps. The interval is that of the share of correct responses.",
        course,
        palette.fresh,
    )


def _evaluation(run: RunDetail, data: TileData, palette: Palette) -> Tile:
    key = evaluation_key(run)
    course = [value for value in _column(data.evaluations, key or "") if value is not None]
    change = course[-1] - course[0] if len(course) > 1 else None
    low, high = (_latest_or_none(data.evaluations, f"{key}/{bound}") for bound in ("low", "high"))
    steps = data.evaluations.steps
    # Another trainer's run, or one that was observed from its middle on, may be evaluated first in training.
    first = "base" if not steps or steps[0] == 0 else "first"
    note = "not evaluated yet" if _is_evaluated(run) else "this run is not evaluated"
    if low is not None and high is not None:
        note = f"{formatting.share(low, 0)}–{formatting.percent(high, 0)}, {first} {formatting.percent(run.eval_base)}"
    elif run.eval_base is not None:
        note = f"{'base model' if first == 'base' else 'first'} {formatting.percent(run.eval_base)}"
    return Tile(
        "evaluation",
        run.eval_name or "Test accuracy",
        formatting.percent(run.eval_latest),
        note,
        None if change is None else formatting.points(change),
        _trend(change),
        "Accuracy on held-out problems with its 95 % interval; the change is since the "
        f"{'base model' if first == 'base' else 'first evaluation'}.",
        course,
        palette.series[0],
    )


def _is_evaluated(run: RunDetail) -> bool:
    """Return whether evaluations are to be expected."""
    evaluation = run.config.get("evaluation") or {}
    return bool(evaluation.get("enabled", True)) and not has_trait(run.method, "is_unmeasured")


def _fill(newest: Series, course: Series, palette: Palette) -> Tile:
    fill = _mean(newest, FILL)
    latest = {name: _latest_or_none(newest, key) for name, (key, _) in SOURCES.items()}
    counts = [f"{name} {value:.0f}" for name, value in latest.items() if value is not None]
    return Tile(
        "fill",
        "Batch fill",
        formatting.percent(fill, 0),
        "last: " + " · ".join(counts) if counts else "no step yet",
        None,
        "neutral",
        f"Groups trained on, divided by B; mean of the last {WINDOW_STEPS} steps. "
        "Below: groups per source in the latest step.",
        _column(course, FILL),
        palette.series[2],
    )


def _rollouts(run: RunDetail, course: Series, palette: Palette) -> Tile:
    rollout = run.config.get("rollout", {})
    fresh_only = run.step * int(rollout.get("batch_size", 0)) * group_size_of(run.config)
    extra = run.num_rollouts / fresh_only - 1 if fresh_only else None
    return Tile(
        "rollouts",
        "Rollouts",
        formatting.count(run.num_rollouts),
        f"{formatting.signed_decimal(100 * extra, 1)}{formatting.THIN_SPACE}% vs fresh batches"
        if extra is not None
        else "none yet",
        None,
        "neutral",
        "Responses generated for training, including re-evaluations and dropped groups, next to what full batches of "
        "fresh prompts cost.",
        _column(course, ROLLOUTS),
        palette.accent,
    )


def _speed(run: RunDetail, newest: Series, course: Series, palette: Palette) -> Tile:
    seconds = _mean(newest, SECONDS)
    return Tile(
        "speed",
        "Time per step",
        formatting.MISSING if seconds is None else f"{seconds:.2f} s",
        # The bar above shows the time left: a second figure, of another moment, would contradict it.
        f"mean of {WINDOW_STEPS} steps, attempt {run.attempt}" if seconds is not None else "no step yet",
        None,
        "neutral",
        f"Wall time of a training step, mean of the last {WINDOW_STEPS}.",
        _column(course, SECONDS),
        palette.reference,
    )


def _trend(change: float | None) -> Trend:
    if change is None or abs(change) < 0.0005:
        return "neutral"
    return "good" if change > 0 else "bad"


def _column(series: Series, key: str) -> Sequence[float | None]:
    return series.columns.get(key, ())


def _mean(series: Series, key: str) -> float | None:
    known = [value for value in _column(series, key) if value is not None]
    return sum(known) / len(known) if known else None


def _latest_or_none(series: Series, key: str) -> float | None:
    known = [value for value in _column(series, key) if value is not None]
    return known[-1] if known else None
