"""Curves that do not do what they should: reward that fell, learning that stopped, held-out accuracy that falls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bapo.analysis.findings.estimates import Estimate, Floats, blocks_of, least_squares, mean_of, slope_of, t95
from bapo.analysis.findings.finding import Evidence, Finding, Found, Outcome, Remedy, TooLittle
from bapo.analysis.findings.stream import HELD_OUT_PREFIX, Curve, RunStream
from bapo.analysis.number_format import percent

LEAST_STEPS_FELL = 50
FELL_TO = 0.6
LEAST_BEST = 0.05
START_GROUPS = 64
"""The first steps with so many fresh groups are the level of the policy that training began with."""

LEAST_STEPS_STOPPED = 100
BLOCK_STEPS, MOST_BLOCKS = 5, 60
LEAST_FLAT_STEPS = 40
FLAT_SHARE, CERTAIN_SHARE = 0.25, 0.5
"""Limits, as shares of the earlier slope and of the lower end of its interval; the upper end of the later slope's
interval is below both.
"""
SOLVED = 0.95

LEAST_EVALUATIONS = 4


def reward_fell(stream: RunStream) -> Outcome:
    """Find a last tenth of the run with less than 60 % of the reward of its best tenth, or of its first steps.

    A learning rate that is far too high ruins the policy within a few steps, which no tenth shows. Intervals included.
    """
    curve = stream.accuracy()
    rewards = curve.values
    if len(rewards) < LEAST_STEPS_FELL:
        return TooLittle(f"{len(rewards)} of {LEAST_STEPS_FELL} steps")
    tenths = np.array_split(rewards, 10)
    best_at = int(np.argmax([tenth.mean() for tenth in tenths[:-1]]))
    best, last = mean_of(tenths[best_at]), mean_of(tenths[-1])
    steps = np.array_split(curve.steps, 10)[best_at]
    label = "best tenth"
    if not _has_fallen(best, last) and (start := _start(stream)) is not None:
        best, steps = start
        label = f"step {int(steps[0]):,}" if len(steps) == 1 else f"steps {int(steps[0]):,} to {int(steps[-1]):,}"
    if not _has_fallen(best, last):
        return None
    evidence = [
        Evidence(label="Reward, last tenth", **last._asdict(), unit="share"),
        Evidence(label=f"Reward, {label}", **best._asdict(), unit="share"),
    ]
    if len(updates := stream.curve("actor/ppo_kl").values):
        evidence.append(
            Evidence(label="Largest KL of a step to the policy that answered", value=float(updates.max()), unit="nats")
        )
    rate = float(f"{stream.config.training.learning_rate / 3:.1g}")
    return Found(
        Finding(
            kind="reward_fell",
            severity="problem",
            title=f"The reward fell from {percent(best.value, 0)} around step {int(steps.mean()):,} to "
            f"{percent(last.value, 0)}.",
            explanation=f"The last tenth of the run against its {label}; fresh responses only. A learning rate "
            "that is too high does this, and a policy that has found nothing but one answer.",
            evidence=evidence,
            num_rollouts=stream.num_rollouts,
            remedies=[
                Remedy(text="Divide the learning rate by three.", changes={"training.learning_rate": rate}),
                Remedy(text=f"Continue from a checkpoint near step {int(steps.mean()):,}, before the reward fell."),
            ],
        )
    )


def _has_fallen(best: Estimate, last: Estimate) -> bool:
    return best.low >= LEAST_BEST and last.high < FELL_TO * best.low


def _start(stream: RunStream) -> tuple[Estimate, Floats] | None:
    """Return the accuracy of the first fresh groups, each of which is one observation, and their steps."""
    visits = stream.visits
    rows = np.flatnonzero(stream.fresh_rows())
    if len(rows) < START_GROUPS:
        return None
    last = visits.step[rows[START_GROUPS - 1]]
    if last > stream.last_step / 10:
        return None
    first = rows[visits.step[rows] <= last]
    return mean_of(visits.num_correct[first] / visits.group_size), np.unique(visits.step[first]).astype(np.float64)


def learning_stopped(stream: RunStream) -> Outcome:
    """Find a reward that rose and, since a change point, rises at less than a quarter of that rate, if at all.

    A broken line r(s) = a + b·min(s, τ) + c·max(s - τ, 0) by least squares over block means; τ by a scan. The
    interval of τ is where the sum of squares is below its least one times 1 + χ²₁(95 %)/(n - 4), and a block beyond.
    """
    curve = stream.accuracy()
    if len(curve.steps) < LEAST_STEPS_STOPPED:
        return TooLittle(f"{len(curve.steps)} of {LEAST_STEPS_STOPPED} steps")
    num_blocks = min(MOST_BLOCKS, len(curve.steps) // BLOCK_STEPS)
    steps, values = blocks_of(curve.steps, num_blocks), blocks_of(curve.values, num_blocks)
    fit = _broken_line(steps, values)
    flat_steps = float(steps[-1] - fit.change)
    level = float(values[steps >= fit.change].mean())
    if (
        fit.early_low <= 0
        or fit.late_high >= min(FLAT_SHARE * fit.early, CERTAIN_SHARE * fit.early_low)
        or flat_steps < max(LEAST_FLAT_STEPS, 0.25 * float(steps[-1]))
        or level >= SOLVED
    ):
        return None
    return Found(
        Finding(
            kind="learning_stopped",
            severity="note",
            title=f"Learning stopped around step {fit.change:,.0f}, at a reward of {percent(level, 0)}.",
            explanation="Before it the reward rose, after it the slope is small, not merely uncertain. Fresh "
            "responses only; more steps at these settings are likely to bring little.",
            evidence=[
                Evidence(
                    label="Step at which it stopped",
                    value=fit.change,
                    low=fit.change_low,
                    high=fit.change_high,
                    unit="count",
                ),
                Evidence(
                    label="Rise per 100 steps before",
                    value=100 * fit.early,
                    low=100 * fit.early_low,
                    high=100 * fit.early_high,
                    unit="share",
                ),
                Evidence(
                    label="Rise per 100 steps since",
                    value=100 * fit.late,
                    low=100 * fit.late_low,
                    high=100 * fit.late_high,
                    unit="share",
                ),
            ],
            num_rollouts=stream.num_rollouts,
            remedies=[
                Remedy(text="Look at groups without a gradient first: what is left may be too easy or too hard."),
                Remedy(text="Stop here, or continue with other data."),
            ],
        )
    )


class _Fit(NamedTuple):
    change: float
    change_low: float
    change_high: float
    early: float
    early_low: float
    early_high: float
    late: float
    late_low: float
    late_high: float


def _broken_line(steps: Floats, values: Floats) -> _Fit:
    candidates = steps[max(2, len(steps) // 6) : -max(2, len(steps) // 6)]
    fits = []
    for change in candidates:
        before, after = np.minimum(steps, change), np.maximum(steps - change, 0)
        fits.append(least_squares(np.column_stack([np.ones(len(steps)), before, after]), values))
    squares = np.array([fit[2] for fit in fits])
    best = int(squares.argmin())
    near = candidates[squares <= squares[best] * (1 + 3.84 / (len(steps) - 4))]
    coefficients, errors, _ = fits[best]
    block = float(steps[1] - steps[0])
    width = t95(len(steps) - 4) * errors
    early, late = float(coefficients[1]), float(coefficients[2])
    return _Fit(
        float(candidates[best]),
        float(near.min()) - block,
        float(near.max()) + block,
        early,
        early - float(width[1]),
        early + float(width[1]),
        late,
        late - float(width[2]),
        late + float(width[2]),
    )


def held_out_falls(stream: RunStream) -> Outcome:
    """Find held-out sets whose accuracy falls while the training reward rises, over the second half of the run."""
    curves = _held_out(stream)
    if not curves:
        return TooLittle("no held-out evaluation")
    longest = max(len(curve.steps) for curve in curves.values())
    if longest < LEAST_EVALUATIONS:
        return TooLittle(f"{longest} of {LEAST_EVALUATIONS} evaluations in the second half of the run")
    reward = stream.accuracy()
    half = reward.steps > stream.last_step / 2
    if half.sum() < LEAST_STEPS_FELL // 2:
        return TooLittle(f"{int(half.sum())} of {LEAST_STEPS_FELL // 2} steps in the second half of the run")
    num_blocks = min(20, int(half.sum()) // 2)
    rise = slope_of(blocks_of(reward.steps[half], num_blocks), blocks_of(reward.values[half], num_blocks))
    falls = {
        name: slope_of(curve.steps, curve.values)
        for name, curve in curves.items()
        if len(curve.steps) >= LEAST_EVALUATIONS
    }
    # The bound is divided among the sets that are looked at: Bonferroni, by widening each interval.
    widen = 1 + 0.25 * (len(falls) - 1)
    falling = {
        name: fall for name, fall in falls.items() if fall.value + widen * (fall.high - fall.value) < 0 < rise.low
    }
    if not falling:
        return None
    name, fall = min(falling.items(), key=lambda item: item[1].value)
    curve = curves[name]
    best = int(curve.steps[int(curve.values.argmax())])
    return Found(
        Finding(
            kind="held_out_falls",
            severity="warning",
            title=f"Accuracy on {name} falls by {percent(-100 * fall.value)} per 100 steps while the training reward "
            f"rises by {percent(100 * rise.value)}.",
            explanation="Slopes over the second half of the run; both intervals exclude 0, on opposite sides. The "
            "policy learns what helps on the training prompts alone, or what pleases the verifier.",
            evidence=[
                Evidence(
                    label="Difference of slopes per 100 steps",
                    value=100 * (rise.value - fall.value),
                    low=100 * (rise.low - fall.high),
                    high=100 * (rise.high - fall.low),
                    unit="share",
                ),
                Evidence(label=f"Evaluations of {name}", value=float(len(curve.steps))),
            ],
            num_rollouts=stream.num_rollouts,
            remedies=[
                Remedy(text=f"Use the checkpoint near step {best:,}, the best on {name} in this half."),
                *(
                    [Remedy(text="Add a KL penalty of 0.001.", changes={"loss.kl_coefficient": 0.001})]
                    if stream.is_observed or not stream.config.loss.kl_coefficient
                    else []
                ),
                Remedy(text="Train on more problems, or for fewer passes over them."),
            ],
        )
    )


def _held_out(stream: RunStream) -> dict[str, Curve]:
    """Return the accuracy curves of the held-out sets over the second half of the run."""
    found = {}
    for key, curve in stream.metrics.items():
        name, _, measure = key.removeprefix(HELD_OUT_PREFIX).partition("/acc/")
        if key.startswith(HELD_OUT_PREFIX) and measure.startswith("mean@") and "/" not in measure:
            late = curve.steps >= stream.last_step / 2
            found[name] = Curve(curve.steps[late], curve.values[late])
    return found
