"""The tables of a study's report as plain text, for Markdown, the page and the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bapo.analysis.number_format import MISSING, bounds_text, share, share_interval
from bapo.analysis.result import CostSpread, MeanEstimate
from bapo.study.declaration import MEAN, Budget
from bapo.study.results import StudyCurve, StudyDifference, StudyMatrix, StudyRegimeReport, StudyRow, StudyScore

AXES: Mapping[Budget, str] = {"steps": "steps", "rollouts": "rollouts", "compute": "CPU-seconds"}
VERDICTS = {
    "higher": "higher: the interval excludes 0",
    "lower": "lower: the interval excludes 0",
    "open": "open: the interval holds 0",
    "unknown": "unknown: too few seeds",
}
SOURCES = {"fresh": "X1 fresh", "reevaluated": "X2 re-evaluated", "reused": "X3 reused"}
CURVE_POINTS = 7
"""Positions of a curve that a table shows."""
LEAST_PROMPTS = 20
"""Prompts, of all runs together, below which a share of them has no interval."""


class Cell(NamedTuple):
    """A cell with emphasis, or with a user's own words."""

    text: str
    stands_out: bool = False
    is_name: bool = False
    """True if the text is a user's own words, to be shown unchanged."""


class Table(NamedTuple):
    """Heads and rows; figures are plain texts."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]


def name(text: str) -> Cell:
    """Return a cell with a user's own words on one line."""
    return Cell(" ".join(text.split()), is_name=True)


def results(regime: StudyRegimeReport) -> Table:
    """Lay out the results as Table 1."""
    columns = regime.rows[0].scores
    heads = ["arm", "n"]
    for score in columns:
        k = "k" if score.num_samples is None else str(score.num_samples)
        heads += [f"{_set(score)} avg@{k}"] + ([f"{_set(score)} pass@{k}"] if score.test_set != MEAN else [])
    heads.append("rollouts")
    rows: list[list[Cell | str]] = [["before training", "", *_cells(regime.base), MISSING]] if regime.base else []
    rows += [[name(row.arm), _count(row), *_cells(row.scores), number(row.rollouts)] for row in regime.rows]
    return Table(heads, rows)


def _set(score: StudyScore) -> str:
    return "mean" if score.test_set == MEAN else score.test_set


def _count(row: StudyRow) -> str:
    return str(row.num_done) if row.num_done == row.num_seeds else f"{row.num_done} of {row.num_seeds}"


def _cells(scores: Sequence[StudyScore]) -> list[Cell | str]:
    cells: list[Cell | str] = []
    for score in scores:
        value = percent(score.avg)
        cells.append(Cell(value, stands_out=True) if score.is_best else value)
        if score.test_set != MEAN:
            cells.append(percent(score.pass_at, interval=False))
    return cells


def differences(found: Sequence[StudyDifference]) -> Table:
    """Lay out paired differences."""
    with_budget = any(each.budget is not None for each in found)
    heads = ["arm", "n", "difference in points", "d", "verdict"] + (["compared at"] if with_budget else [])
    rows: list[list[Cell | str]] = []
    for each in found:
        assert each.difference is not None
        size = MISSING if each.effect_size is None else f"{each.effect_size:+.2f}"
        row: list[Cell | str] = [name(each.arm), str(each.difference.n), points(each.difference), size, _verdict(each)]
        rows.append(row + ([f"{spread(each.budget)} {AXES[each.at]}"] if with_budget else []))
    return Table(heads, rows)


def _verdict(found: StudyDifference) -> Cell:
    return Cell(VERDICTS[found.verdict], stands_out=found.verdict in ("higher", "lower"))


def multiplicity(regime: StudyRegimeReport) -> str:
    """Return a caution on many comparisons at once; empty for one or two arms besides the reference."""
    if regime.num_comparisons <= 2 * len(AXES):
        return ""
    expected = 0.05 * regime.num_comparisons
    return (
        f"Caution: these are {regime.num_comparisons} comparisons at once, over all budgets, {regime.num_apart} of "
        f"which exclude 0. If no arm differed at all, about {expected:.1f} would by chance. Only the primary "
        "comparison was named beforehand; take the others as leads."
    )


def curves(found: Sequence[StudyCurve], budget: Budget) -> Table:
    """Return mean avg@k at a few positions that all arms have."""
    end = min(curve.x[-1] for curve in found)
    positions = _positions(found, budget, end)
    heads = ["arm", "n", *(f"{position:,.0f}" for position in positions)]
    rows: list[list[Cell | str]] = [
        [name(curve.arm), str(curve.n), *(share(_interpolated(curve, position)) for position in positions)]
        for curve in found
    ]
    return Table(heads, rows)


def _positions(found: Sequence[StudyCurve], budget: Budget, end: float) -> list[float]:
    if budget == "steps":
        measured = sorted({x for curve in found for x in curve.x if x <= end})
        if len(measured) <= CURVE_POINTS:
            return measured
        return [measured[round(index * (len(measured) - 1) / (CURVE_POINTS - 1))] for index in range(CURVE_POINTS)]
    return [end * index / (CURVE_POINTS - 1) for index in range(CURVE_POINTS)]


def _interpolated(curve: StudyCurve, position: float) -> float | None:
    known = [(x, y) for x, y in zip(curve.x, curve.mean, strict=True) if y is not None]
    for (x0, y0), (x1, y1) in pairwise(known):
        if x0 <= position <= x1:
            return y0 + (y1 - y0) * (position - x0) / (x1 - x0)
    return known[0][1] if known and known[0][0] == position else None


def unlocks(regime: StudyRegimeReport) -> Table:
    """Unlock rates with nulls."""
    heads = [
        "arm",
        "n",
        "unlocked",
        "null",
        "above null",
        "≥ 1/2",
        "null ≥ 1/2",
        "above null ≥ 1/2",
        "lost",
        "null lost",
    ]
    rows: list[list[Cell | str]] = [
        [
            name(each.arm),
            str(each.n),
            percent(each.unlocked),
            percent(each.unlocked_null, interval=False),
            points(each.unlocked_above_null),
            percent(each.strictly_unlocked),
            percent(each.strictly_unlocked_null, interval=False),
            points(each.strictly_unlocked_above_null),
            percent(each.lost),
            percent(each.lost_null, interval=False),
        ]
        for each in regime.unlocks
    ]
    return Table(heads, rows)


def composition(regime: StudyRegimeReport) -> Table:
    """Lay out the batch composition."""
    heads = ["arm", "fresh", "X1", "X2", "X3", "batch full, %", "X1, % of batch", "hits of fresh, %", "hits of X2, %"]
    rows: list[list[Cell | str]] = [
        [
            name(each.arm),
            *(decimal(value) for value in (each.fresh, each.x1, each.x2, each.x3)),
            *(
                percent(value, interval=False)
                for value in (each.fill, each.share_x1, each.fresh_hit_rate, each.hit_rate)
            ),
        ]
        for each in regime.composition
    ]
    return Table(heads, rows)


def cost(regime: StudyRegimeReport) -> Table:
    """Lay out the cost of the arms."""
    heads = ["arm", "rollouts", "tokens", "CPU-seconds", "wall seconds", "method, % of step"]
    heads += ["reached by", "rollouts to reach", "CPU-seconds to reach"]
    rows: list[list[Cell | str]] = [
        [
            name(each.arm),
            number(each.rollouts),
            number(each.tokens),
            number(each.cpu_seconds),
            number(each.wall_seconds),
            MISSING if each.method_share is None else f"{100 * each.method_share.value:.2f}",
            f"{each.num_reached} of {each.n}",
            spread(each.rollouts_to_reach),
            spread(each.compute_to_reach),
        ]
        for each in regime.cost
    ]
    return Table(heads, rows)


def migration(regime: StudyRegimeReport) -> Table:
    """Lay out the shares of improved and worse prompts at the last sampling."""
    heads = ["arm", "step", "better", "null", "worse", "null", "solved kept", "null"]
    rows: list[list[Cell | str]] = []
    for each in regime.stability:
        if not each.matrices:
            continue
        last, null = each.matrices[-1], each.null
        row: list[Cell | str] = [name(each.arm), f"{last.step:,}"]
        for kind in ("improved", "worse"):
            row += [percent(getattr(last, kind)), percent(getattr(null, kind) if null else None, interval=False)]
        rows.append([*row, _solved_kept(last), MISSING if null is None else _solved_kept(null)])
    return Table(heads, rows)


def _solved_kept(matrix: StudyMatrix) -> str:
    """Return the share with its counts, and with an interval where the runs have enough such prompts."""
    num_solved, num_kept = sum(matrix.counts[-1]), sum(matrix.counts[-1][-2:])
    share_kept = matrix.solved_kept
    if share_kept is None:
        return MISSING
    return f"{percent(share_kept, interval=num_solved >= LEAST_PROMPTS)} ({num_kept} of {num_solved})"


def stability(regime: StudyRegimeReport) -> Table:
    """Lay out the quantities of Theorem 3.2."""
    heads = [
        "arm",
        *(f"TV {name}" for name in SOURCES.values()),
        "clipped, %",
        "gradient norm",
        "K1",
        "K2",
        "K2 exact",
        "K3",
    ]
    rows: list[list[Cell | str]] = []
    for each in regime.stability:
        distances = [_tv(each.tv.get(source), each.tv_max.get(source)) for source in SOURCES]
        constants = [MISSING if k is None else f"{k:.2f}" for k in (each.k1, each.k2, each.k2_exact, each.k3)]
        norm = MISSING if each.grad_norm is None else f"{each.grad_norm.value:.2f}"
        rows.append([name(each.arm), *distances, percent(each.clip_fraction, interval=False), norm, *constants])
    return Table(heads, rows)


def _tv(mean: MeanEstimate | None, most: MeanEstimate | None) -> str:
    if mean is None:
        return MISSING
    return f"{mean.value:.4f}" + ("" if most is None else f" ({most.value:.3f})")


def percent(value: MeanEstimate | None, *, interval: bool = True) -> str:
    """Format a share as 41.3 [39.0, 43.6], within 0 and 100."""
    if value is None:
        return MISSING
    return share(value.value) + (share_interval(value) if interval else "")


def points(value: MeanEstimate | None) -> str:
    """Format a difference as +0.4 [-1.2, +2.0], in percentage points."""
    if value is None:
        return MISSING
    bounds = bounds_text(value.low, value.high, lambda bound: f"{100 * bound:+.1f}", ", ")
    return f"{100 * value.value:+.1f}" + (f" [{bounds}]" if bounds else "")


def decimal(value: MeanEstimate | None) -> str:
    """Return a mean with one digit."""
    return MISSING if value is None else f"{value.value:.1f}"


def number(value: MeanEstimate | None) -> str:
    """Return a mean as a whole number."""
    return MISSING if value is None else f"{value.value:,.0f}"


def spread(value: CostSpread | None) -> str:
    """Return a median as a whole number."""
    return MISSING if value is None else f"{value.median:,.0f}"
