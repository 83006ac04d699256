"""Groups whose responses are all wrong or all right: their advantages are 0, so nothing is learned from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.estimates import Estimate, Floats, blocks_of, clustered_share, mean_of
from bapo.analysis.findings.finding import Evidence, Finding, Found, Outcome, Remedy, TooLittle
from bapo.analysis.findings.other_methods import alternatives_of, evidence_of, remedies_of
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.findings.success_rates import Forecast
from bapo.analysis.number_format import percent
from bapo.config.method import method_label

LEAST_GROUPS = 100
NOTE_ABOVE, WARNING_ABOVE = 0.25, 0.5
"""Thresholds of the lower end of the share's interval."""
LARGEST_GROUP = 64
LEAST_GRADED_STEPS = 10


def groups_without_gradient(stream: RunStream) -> Outcome:
    """Return the share in the last part of the run, what it cost, and what a larger group or another method would
    bring."""
    if stream.config.method.demonstration_shaping() is not None:
        # A demonstration gives all-wrong groups a gradient.
        return None
    visits, group_size = stream.visits, stream.visits.group_size
    first = stream.first_recent_step()
    rows = stream.fresh_rows(first)
    num_groups = int(rows.sum())
    if num_groups < LEAST_GROUPS:
        return TooLittle(f"{num_groups} of {LEAST_GROUPS} fresh groups")
    constant = _graded(stream, rows)
    if constant is not None:
        return _without_counts(stream, constant, num_groups)
    prompt, counts = visits.prompt[rows], visits.num_correct[rows].astype(np.int64)
    wrong, right = counts == 0, counts == group_size
    _, cluster = np.unique(prompt, return_inverse=True)
    sizes = np.bincount(cluster).astype(np.float64)

    def share(hits: NDArray[np.bool_]) -> Estimate:
        return clustered_share(np.bincount(cluster, weights=hits).astype(np.float64), sizes)

    useless = share(wrong | right)
    if useless.low <= NOTE_ABOVE:
        return None
    correct_of_prompt = np.bincount(cluster, weights=counts).astype(np.int64)
    forecast = Forecast(correct_of_prompt, sizes.astype(np.int64) * group_size)
    all_wrong, all_right = share(wrong), share(right)
    evidence = [
        Evidence(label="Groups without a gradient", **useless._asdict(), unit="share"),
        Evidence(label="All responses wrong", **all_wrong._asdict(), unit="share"),
        Evidence(label="All responses right", **all_right._asdict(), unit="share"),
    ]
    if all_wrong.value > 0.01:
        label = f"Of the all-wrong: hopeless, p < 1/{4 * group_size}"
        evidence.append(Evidence(label=label, **forecast.hopeless(group_size)._asdict(), unit="share"))
    evidence.append(Evidence(label="Rollouts spent on them", value=float((wrong | right).sum() * group_size)))
    evidence += _spent(stream, first, useless.value)
    remedies = []
    larger = min(2 * group_size, LARGEST_GROUP)
    if larger > group_size:
        now, then = 1 - useless.value, forecast.mixed(larger)
        evidence.append(
            Evidence(label=f"Groups with a gradient at G = {larger}, forecast", **then._asdict(), unit="share")
        )
        # A gain that the interval leaves open, or that rounds to none, is no reason to double the rollouts.
        if then.low > now and percent(then.value, 0) != percent(now, 0):
            text = (
                f"Answer each prompt {larger} times: {percent(then.value, 0)} of groups would have a gradient instead "
                f"of {percent(now, 0)}, for {larger / group_size:.0f} times the rollouts"
            )
            if now > 0:
                per_rollout = then.value * group_size / (now * larger)
                text += f" ({per_rollout:.2f} times as many groups with a gradient per rollout)"
            remedies.append(Remedy(text=f"{text}.", changes={"rollout.group_size": larger}))
    if (others := alternatives_of(stream)) is not None:
        evidence += evidence_of(others, method_label(stream.config.method.model_dump(mode="json")))
        remedies += remedies_of(others)
    if all_right.low > all_wrong.high:
        remedies.append(Remedy(text="Most of them are all right: train on harder problems."))
    num_rollouts = num_groups * group_size
    return Found(
        Finding(
            kind="no_gradient",
            severity="warning" if useless.low > WARNING_ABOVE else "note",
            title=f"{percent(useless.value, 0)} of fresh groups since step {first:,} have no gradient: "
            f"{percent(all_wrong.value, 0)} are all wrong, {percent(all_right.value, 0)} all right.",
            explanation="Equal rewards make every advantage of a group 0. The interval takes prompts, not groups, as "
            "independent. The forecast's interval also covers the two fits of the success rates, beta-binomial and "
            "grid mixture.",
            evidence=evidence,
            num_rollouts=num_rollouts,
            remedies=remedies,
        )
    )


def _graded(stream: RunStream, rows: NDArray[np.bool_]) -> Floats | None:
    """Return recent shares of groups with equal rewards, if that is not the same as all wrong or all right."""
    curve = stream.curve("bapo/rewards/constant_groups")
    recent = curve.steps >= stream.first_recent_step()
    if not recent.any():
        return None
    counts = stream.visits.num_correct[rows]
    of_counts = np.isin(counts, (0, stream.visits.group_size))
    steps, place = np.unique(stream.visits.step[rows], return_inverse=True)
    shares = np.bincount(place, weights=of_counts) / np.bincount(place)
    is_same = len(steps) == recent.sum() and np.allclose(shares, curve.values[recent])
    return None if is_same else curve.values[recent]


def _without_counts(stream: RunStream, shares: Floats, num_groups: int) -> Outcome:
    """Return the finding for rewards of more than two values: a wrong group may have a gradient, and counts do not
    tell."""
    if len(shares) < LEAST_GRADED_STEPS:
        return TooLittle(f"{len(shares)} of {LEAST_GRADED_STEPS} recent steps")
    share = mean_of(blocks_of(shares, LEAST_GRADED_STEPS))
    if share.low <= NOTE_ABOVE:
        return None
    first = stream.first_recent_step()
    value = Evidence(
        label="Groups without a gradient",
        value=share.value,
        low=max(0.0, share.low),
        high=min(1.0, share.high),
        unit="share",
    )
    spent = Evidence(
        label="Rollouts spent on them", value=float(round(share.value * num_groups)) * stream.visits.group_size
    )
    return Found(
        Finding(
            kind="no_gradient",
            severity="warning" if share.low > WARNING_ABOVE else "note",
            title=f"{percent(share.value, 0)} of groups since step {first:,} have no gradient: all their rewards are "
            "equal.",
            explanation="Equal rewards make every advantage of a group 0. Rewards here have more than two values, so "
            "that a group may learn although no response is correct.",
            evidence=[value, spent, *_spent(stream, first, share.value)],
            num_rollouts=num_groups * stream.visits.group_size,
            # Counts do not tell which group would have a gradient: neither group sizes nor methods can be replayed.
            remedies=[Remedy(text="Leave out prompts whose rewards are always equal.")],
        )
    )


def _spent(stream: RunStream, first: int, share: float) -> list[Evidence]:
    found = []
    tokens, seconds = stream.curve("bapo/cost/num_tokens"), stream.curve("timing_s/gen")
    within = tokens.steps >= first - 1
    if within.sum() >= 2:
        grown = float(tokens.values[within][-1] - tokens.values[within][0])
        found.append(Evidence(label="Tokens spent on them, about", value=share * grown))
    within = seconds.steps >= first
    if within.any():
        spent = share * float(seconds.values[within].sum())
        found.append(Evidence(label="Generating time spent on them, about", value=spent, unit="seconds"))
    return found
