"""Prompts whose accuracy moves, but no more than if an unchanged policy had answered them again."""

from __future__ import annotations

import numpy as np

from bapo.analysis.findings.estimates import Z95, Estimate, Floats, mean_of
from bapo.analysis.findings.finding import Evidence, Finding, Found, ListedPrompt, Outcome, Remedy, TooLittle
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.number_format import percent

LEAST_PROMPTS = 50
LEAST_STEPS = 50
"""Fewest steps of a run for which movement can be expected."""
AT_MOST = 1.25
"""Largest upper bound of the interval of the observed variance, as a share of the variance that chance alone explains.
"""


def moved_by_chance(stream: RunStream) -> Outcome:
    """Compare the first with the last fresh visit of each prompt: Σ d² against Σ 2 p(1 - p)/G, which resampling gives.

    With the pooled accuracy p̂ of 2G responses, p̂(1 - p̂) · 2G/(2G - 1) is an unbiased estimate of p(1 - p) where
    nothing moved. Fresh visits alone: a group is answered again because of its accuracy, and would regress to the mean.
    """
    visits, group_size = stream.visits, stream.visits.group_size
    if stream.last_step < LEAST_STEPS:
        return TooLittle(f"{stream.last_step} of {LEAST_STEPS} steps")
    rows = np.flatnonzero(stream.fresh_rows())
    num_prompts = len(visits.prompt_ids)
    # Of several values for one index the last is kept; visits are in the order of their steps.
    first, last = np.zeros(num_prompts, np.int64), np.zeros(num_prompts, np.int64)
    first[visits.prompt[rows[::-1]]] = rows[::-1]
    last[visits.prompt[rows]] = rows
    seen_twice = (first < last) & (np.bincount(visits.prompt[rows], minlength=num_prompts) >= 2)
    before = visits.num_correct[first[seen_twice]].astype(np.float64) / group_size
    after = visits.num_correct[last[seen_twice]].astype(np.float64) / group_size
    pooled = (before + after) / 2
    by_chance = 2 / group_size * pooled * (1 - pooled) * 2 * group_size / (2 * group_size - 1)
    can_move = by_chance > 0
    if can_move.sum() < LEAST_PROMPTS:
        return TooLittle(f"{int(can_move.sum())} of {LEAST_PROMPTS} prompts with two fresh visits and mixed rewards")
    squares = np.square(after - before)
    ratio = _ratio(squares[can_move], by_chance[can_move])
    change = mean_of((after - before)[can_move])
    if ratio.high >= AT_MOST:
        return None
    moved = np.flatnonzero(seen_twice)[before != after]
    num_visits = np.bincount(visits.prompt[rows], minlength=num_prompts)
    correct = np.bincount(visits.prompt[rows], weights=visits.num_correct[rows], minlength=num_prompts)
    prompts = [
        ListedPrompt(
            prompt_id=visits.prompt_ids[prompt],
            num_visits=int(num_visits[prompt]),
            num_rollouts=int(num_visits[prompt]) * group_size,
            num_correct=int(correct[prompt]),
            detail=f"{visits.num_correct[first[prompt]]} of {group_size}, then {visits.num_correct[last[prompt]]}",
        )
        for prompt in moved
    ]
    return Found(
        Finding(
            kind="moved_by_chance",
            severity="note",
            title=f"The accuracy of {len(prompts):,} of {int(seen_twice.sum()):,} prompts changed from their first to "
            f"their last visit, and chance alone explains it: on average by {percent(change.value)}.",
            explanation="An unchanged policy that answers each prompt again moves them as much. Lists of improved and "
            "of forgotten prompts are noise in this run.",
            evidence=[
                Evidence(label="Movement, as a multiple of what chance brings", **ratio._asdict(), unit="number"),
                Evidence(label="Mean change of accuracy", **change._asdict(), unit="share"),
                Evidence(label="Prompts whose accuracy changed", value=float(len(prompts))),
            ],
            null="1 for a policy that does not change: its two samples of a prompt differ with variance 2p(1 - p)/G.",
            num_rollouts=2 * int(seen_twice.sum()) * group_size,
            remedies=[
                Remedy(text="Look at the learning rate and at groups without a gradient first, or train for longer."),
                Remedy(text="Judge prompts by more responses: a larger group, or difficulty tracking."),
            ],
            num_prompts=len(prompts),
        ),
        prompts,
    )


def _ratio(found: Floats, expected: Floats) -> Estimate:
    """Return Σ found / Σ expected with the linearised variance of a ratio over prompts."""
    value = float(found.sum() / expected.sum())
    num = len(found)
    variance = num / (num - 1) * float(np.square(found - value * expected).sum()) / float(expected.sum()) ** 2
    width = Z95 * variance**0.5
    return Estimate(value, max(0.0, value - width), value + width)
