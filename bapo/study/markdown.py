"""A study's report as Markdown: the form in which it is committed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from bapo.api.compare import CostSpread, MeanEstimate
from bapo.api.studies import (
    StudyCurve,
    StudyDifference,
    StudyRegimeReport,
    StudyReport,
    StudyRow,
    StudyScore,
)
from bapo.study.declaration import MEAN, Budget

NOTHING = "–"
AXES: Mapping[Budget, str] = {"steps": "steps", "rollouts": "rollouts", "compute": "CPU-seconds"}
VERDICTS = {
    "higher": "**higher**: the interval excludes 0",
    "lower": "**lower**: the interval excludes 0",
    "open": "open: the interval holds 0",
    "unknown": "unknown: too few seeds",
}
SOURCES = {"fresh": "X1 fresh", "reevaluated": "X2 re-evaluated", "reused": "X3 reused"}
CURVE_POINTS = 7
"""Positions of a curve that the text shows."""


def markdown(report: StudyReport) -> str:
    """The whole report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: StudyReport) -> Iterator[str]:
    yield f"# {text(report.title)}"
    yield ""
    yield text(report.question)
    if report.expectation:
        yield f"\nExpected before the first run: {text(report.expectation)}"
    yield from _primary(report)
    yield from _undone(report)
    yield from _facts(report)
    for regime in report.regimes:
        if len(report.regimes) > 1 or regime.title:
            yield f"\n## {text(regime.name)}"
            if regime.title:
                yield f"\n{text(regime.title)}"
        level = "###" if len(report.regimes) > 1 or regime.title else "##"
        yield from _regime(report, regime, level)
    yield from _tuning(report)
    yield from _arms(report)
    yield from _runs(report)


# ---------------------------------------------------------------- the head


def _primary(report: StudyReport) -> Iterator[str]:
    yield "\n## The primary comparison"
    yield f"\nDeclared before the first run: {text(report.primary_words)}."
    yield f"\n**{primary_result(report.primary)}**"


def primary_result(found: StudyDifference) -> str:
    """The primary comparison's outcome in one sentence."""
    if found.difference is None:
        return "No result: no seed has an ended run of both arms."
    size = "" if found.effect_size is None else f", effect size d = {found.effect_size:+.2f}"
    ends = {
        "higher": f"{found.arm} is higher",
        "lower": f"{found.arm} is lower",
        "open": "the interval holds 0, so that neither is shown to be better",
        "unknown": "one seed gives no interval, so that nothing is shown",
    }
    return f"{points(found.difference)} points over {found.difference.n} seeds{size}: {ends[found.verdict]}."


def _undone(report: StudyReport) -> Iterator[str]:
    done = sum(run.state == "done" for run in report.runs)
    yield "\n## What was run and what was not"
    yield f"\n{done} of {len(report.runs)} declared runs are done" + (
        "." if report.is_complete else "; not in the figures:"
    )
    if not report.is_complete:
        yield ""
        yield from (f"- {line}" for line in undone_lines(report))
    for amendment in report.amendments:
        aside = f"; {amendment.num_set_aside} runs were set aside" if amendment.num_set_aside else ""
        yield (
            f"\n**Amended** {amendment.at:%Y-%m-%d %H:%M} UTC, when {amendment.num_done} runs had ended: "
            f"{', '.join(amendment.changed)} changed{aside}. Reason: {text(amendment.reason)}"
        )


def undone_lines(report: StudyReport) -> list[str]:
    """The declared runs without a result, seeds of one arm and state together."""
    found: dict[tuple[str, str, str, str, str], list[int]] = {}
    for run in report.runs:
        if run.state != "done":
            reason = run.reason or ""
            found.setdefault((run.stage, run.regime, run.arm, run.state, reason), []).append(run.seed)
    lines = []
    for (stage, regime, arm, state, reason), seeds in found.items():
        where = f"{regime}, " if len(report.regimes) > 1 else ""
        kind = " (tuning)" if stage == "tuning" else ""
        unique = sorted(set(seeds))
        named = f"seed{'s' if len(unique) > 1 else ''} {', '.join(map(str, unique))}"
        lines.append(f"{where}{text(arm)}{kind}, {named}: {state}" + (f" ({text(reason)})" if reason else ""))
    return lines


def _facts(report: StudyReport) -> Iterator[str]:
    yield (
        f"\nReference arm: {text(report.reference)}. Test sets: {', '.join(map(text, report.test_sets))}. Seeds: "
        f"{', '.join(map(str, report.seeds))}. Declaration {report.digest[:12]}, BAPO Control Plane {report.version}"
        + (f", {text(report.machine)}." if report.machine else ".")
    )
    yield (
        "\nIntervals are Student's 95 % intervals over seeds; differences are paired seed by seed; d is the mean "
        "difference over its standard deviation. Compute is CPU-seconds of training steps, evaluation left out."
    )


# ---------------------------------------------------------------- a regime


def _regime(report: StudyReport, regime: StudyRegimeReport, level: str) -> Iterator[str]:
    yield f"\n{level} Accuracy on the test sets (Table 1)"
    yield (
        "\nThe last evaluation, in percent: mean [95 % interval over seeds]. Bold: the highest, and its paired "
        "difference to every other arm excludes 0.\n"
    )
    yield from table(*results(report, regime))
    for budget, head in (
        ("steps", "after equal steps"),
        ("rollouts", "at equal rollouts"),
        ("compute", "at equal compute"),
    ):
        found = [each for each in regime.differences if each.at == budget and each.difference is not None]
        if found:
            yield f"\n{level} Differences to {text(report.reference)} {head}\n"
            yield from table(*differences(found))
    if caution := multiplicity(regime):
        yield f"\n{caution}"
    yield from _curves(regime, level)
    if regime.unlocks:
        yield f"\n{level} Unlocked prompts beside chance (Figure 7)"
        yield (
            "\nOf the tracked training prompts that the base model never solved (0/G), the percentage above 0/G, and "
            "at 1/2 or more, at the end; of the others, those lost. Null: the base model sampled again, which moves "
            "prompts by chance alone.\n"
        )
        yield from table(*unlocks(regime))
    if regime.composition:
        yield f"\n{level} What batches were made of (Figures 8 and 14)"
        yield "\nGroups per step, means over steps and seeds; a hit is a re-evaluated prompt that improved.\n"
        yield from table(*composition(regime))
    if regime.cost:
        yield f"\n{level} Cost (Table 2, Figure 9)"
        yield (
            f"\nWhole runs, evaluation left out. To reach: median over the seeds that got to the mean final accuracy "
            f"of {text(report.reference)}. Wall time depends on what else the machine did.\n"
        )
        yield from table(*cost(regime))
    yield from _stability(regime, level)


def results(report: StudyReport, regime: StudyRegimeReport) -> tuple[list[str], list[list[str]]]:
    """Table 1's layout: heads and rows."""
    columns = regime.rows[0].scores
    heads = ["arm", "n"]
    for score in columns:
        k = "k" if score.num_samples is None else str(score.num_samples)
        heads += [f"{_set(score)} avg@{k}"] + ([f"{_set(score)} pass@{k}"] if score.test_set != MEAN else [])
    heads.append("rollouts")
    rows = [["before training", "", *_cells(regime.base), NOTHING]] if regime.base else []
    rows += [[text(row.arm), _count(row), *_cells(row.scores), number(row.rollouts)] for row in regime.rows]
    return heads, rows


def _set(score: StudyScore) -> str:
    return "mean" if score.test_set == MEAN else text(score.test_set)


def _count(row: StudyRow) -> str:
    return str(row.num_done) if row.num_done == row.num_seeds else f"{row.num_done} of {row.num_seeds}"


def _cells(scores: Sequence[StudyScore]) -> list[str]:
    cells = []
    for score in scores:
        value = percent(score.avg)
        cells.append(f"**{value}**" if score.is_best else value)
        if score.test_set != MEAN:
            cells.append(percent(score.pass_at, interval=False))
    return cells


def differences(found: Sequence[StudyDifference]) -> tuple[list[str], list[list[str]]]:
    """Paired differences: heads and rows."""
    with_budget = any(each.budget is not None for each in found)
    heads = ["arm", "n", "difference in points", "d", "verdict"] + (["compared at"] if with_budget else [])
    rows = []
    for each in found:
        assert each.difference is not None
        size = NOTHING if each.effect_size is None else f"{each.effect_size:+.2f}"
        row = [text(each.arm), str(each.difference.n), points(each.difference), size, VERDICTS[each.verdict]]
        rows.append(row + ([f"{spread(each.budget)} {AXES[each.at]}"] if with_budget else []))
    return heads, rows


def multiplicity(regime: StudyRegimeReport) -> str:
    """What many comparisons at once mean; empty for one or two."""
    if regime.num_comparisons < 3:
        return ""
    expected = 0.05 * regime.num_comparisons
    return (
        f"Caution: these are {regime.num_comparisons} comparisons at once, {regime.num_apart} of which exclude 0 after "
        f"equal steps. If no arm differed at all, about {expected:.1f} would by chance. Only the primary comparison "
        "was named beforehand; take the others as leads."
    )


def _curves(regime: StudyRegimeReport, level: str) -> Iterator[str]:
    for budget, found in regime.curves.items():
        if not found:
            continue
        yield f"\n{level} Accuracy over {AXES[budget]}\n"
        yield from table(*curves(found, budget))


def curves(found: Sequence[StudyCurve], budget: Budget) -> tuple[list[str], list[list[str]]]:
    """Mean avg@k at a few positions that all arms have: heads and rows."""
    end = min(curve.x[-1] for curve in found)
    positions = _positions(found, budget, end)
    heads = ["arm", "n", *(f"{position:,.0f}" for position in positions)]
    rows = [
        [text(curve.arm), str(curve.n), *(_percent(_interpolated(curve, position)) for position in positions)]
        for curve in found
    ]
    return heads, rows


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


def unlocks(regime: StudyRegimeReport) -> tuple[list[str], list[list[str]]]:
    """Unlock rates with nulls: heads and rows."""
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
    rows = [
        [
            text(each.arm),
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
    return heads, rows


def composition(regime: StudyRegimeReport) -> tuple[list[str], list[list[str]]]:
    """What batches were made of: heads and rows."""
    heads = ["arm", "fresh", "X1", "X2", "X3", "batch full, %", "X1, % of batch", "hits of fresh, %", "hits of X2, %"]
    rows = [
        [
            text(each.arm),
            *(decimal(value) for value in (each.fresh, each.x1, each.x2, each.x3)),
            *(
                percent(value, interval=False)
                for value in (each.fill, each.share_x1, each.fresh_hit_rate, each.hit_rate)
            ),
        ]
        for each in regime.composition
    ]
    return heads, rows


def cost(regime: StudyRegimeReport) -> tuple[list[str], list[list[str]]]:
    """What arms took: heads and rows."""
    heads = ["arm", "rollouts", "tokens", "CPU-seconds", "wall seconds", "method, % of step"]
    heads += ["reached by", "rollouts to reach", "CPU-seconds to reach"]
    rows = [
        [
            text(each.arm),
            number(each.rollouts),
            number(each.tokens),
            number(each.cpu_seconds),
            number(each.wall_seconds),
            NOTHING if each.method_share is None else f"{100 * each.method_share.value:.2f}",
            f"{each.num_reached} of {each.n}",
            spread(each.rollouts_to_reach),
            spread(each.compute_to_reach),
        ]
        for each in regime.cost
    ]
    return heads, rows


def _stability(regime: StudyRegimeReport, level: str) -> Iterator[str]:
    tracked = [each for each in regime.stability if each.matrices]
    if tracked:
        yield f"\n{level} Migration of the tracked prompts (Figure 15)"
        yield (
            "\nPrompts with more and with fewer correct responses than before training, in percent, beside what "
            "sampling the base model again gives; solved kept: of those at G/G before, at (G - 1)/G or more.\n"
        )
        yield from table(*migration(regime))
    yield f"\n{level} Stability (Theorem 3.2)"
    yield (
        "\nTV: ½·mean|ρ - 1| over tokens between π_θ and each source's behaviour policy, mean over steps (largest). "
        "K1 to K3 at r_tot = 0, for methods with thresholds.\n"
    )
    yield from table(*stability(regime))


def migration(regime: StudyRegimeReport) -> tuple[list[str], list[list[str]]]:
    """Shares of improved and worse prompts at the last sampling: heads and rows."""
    heads = ["arm", "step", "better", "null", "worse", "null", "solved kept", "null"]
    rows = []
    for each in regime.stability:
        if not each.matrices:
            continue
        last, null = each.matrices[-1], each.null
        row = [text(each.arm), f"{last.step:,}"]
        for name in ("improved", "worse", "solved_kept"):
            row += [percent(getattr(last, name)), percent(getattr(null, name) if null else None, interval=False)]
        rows.append(row)
    return heads, rows


def stability(regime: StudyRegimeReport) -> tuple[list[str], list[list[str]]]:
    """Theorem 3.2's quantities: heads and rows."""
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
    rows = []
    for each in regime.stability:
        distances = [_tv(each.tv.get(source), each.tv_max.get(source)) for source in SOURCES]
        constants = [NOTHING if k is None else f"{k:.2f}" for k in (each.k1, each.k2, each.k2_exact, each.k3)]
        norm = NOTHING if each.grad_norm is None else f"{each.grad_norm.value:.2f}"
        rows.append([text(each.arm), *distances, percent(each.clip_fraction, interval=False), norm, *constants])
    return heads, rows


def _tv(mean: MeanEstimate | None, most: MeanEstimate | None) -> str:
    if mean is None:
        return NOTHING
    return f"{mean.value:.4f}" + ("" if most is None else f" ({most.value:.3f})")


# ---------------------------------------------------------------- the foot


def _tuning(report: StudyReport) -> Iterator[str]:
    if not report.tuning:
        return
    yield "\n## Settings chosen on validation problems"
    yield "\nMean avg@k over the validation sets; no test problem was seen.\n"
    rows = [
        [
            text(each.regime),
            text(each.arm),
            _settings(each.set),
            percent(each.accuracy),
            "chosen" if each.chosen else "",
        ]
        for each in report.tuning
    ]
    yield from table(["regime", "arm", "setting", "accuracy", ""], rows)


def _arms(report: StudyReport) -> Iterator[str]:
    yield "\n## Arms\n"
    rows = [[text(arm.name), f"`{arm.method}`", _settings(arm.set)] for arm in report.arms]
    yield from table(["arm", "method", "settings"], rows)


def _settings(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"`{field} = {json.dumps(value)}`" for field, value in fields.items()) or "defaults"


def _runs(report: StudyReport) -> Iterator[str]:
    yield "\n<details><summary>All runs</summary>\n"
    rows = [
        [
            run.regime,
            text(run.arm),
            str(run.seed),
            run.stage,
            run.state,
            f"{run.step:,}",
            run.run_id or run.folder or "",
        ]
        for run in report.runs
    ]
    yield from table(["regime", "arm", "seed", "stage", "state", "step", "run"], rows)
    yield "\n</details>"


# ---------------------------------------------------------------- words


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def text(value: str) -> str:
    """What a user wrote, as text in Markdown."""
    flat = " ".join(value.split())
    for sign in "\\`*_[]<>|#":
        flat = flat.replace(sign, f"\\{sign}")
    return flat


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f}"


def percent(value: MeanEstimate | None, *, interval: bool = True) -> str:
    """41.3 [39.0, 43.6]."""
    if value is None:
        return NOTHING
    if not interval or value.low is None or value.high is None:
        return _percent(value.value)
    return f"{_percent(value.value)} [{_percent(value.low)}, {_percent(value.high)}]"


def points(value: MeanEstimate | None) -> str:
    """+0.4 [-1.2, +2.0], in percentage points."""
    if value is None:
        return NOTHING
    if value.low is None or value.high is None:
        return f"{100 * value.value:+.1f}"
    return f"{100 * value.value:+.1f} [{100 * value.low:+.1f}, {100 * value.high:+.1f}]"


def decimal(value: MeanEstimate | None) -> str:
    """A mean with one digit."""
    return NOTHING if value is None else f"{value.value:.1f}"


def number(value: MeanEstimate | None) -> str:
    """A mean as a whole number."""
    return NOTHING if value is None else f"{value.value:,.0f}"


def spread(value: CostSpread | None) -> str:
    """A median as a whole number."""
    return NOTHING if value is None else f"{value.median:,.0f}"


def made_at(now: datetime | None = None) -> str:
    """When a report is made."""
    return f"{(now or datetime.now(UTC)).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
