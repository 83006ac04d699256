"""The policy itself: entropy that collapses, and updates that leave the policy which answered behind."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.estimates import Estimate, Floats, blocks_of, mean_of
from bapo.analysis.findings.finding import Evidence, Finding, Found, Outcome, Remedy, TooLittle
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.number_format import percent
from bapo.analysis.visits import UNKNOWN_VERSION

LEAST_STEPS = 30
SPAN = 10
"""Steps at either end whose median is the level."""
COLLAPSED_LEVEL, COLLAPSED_SHARE = 0.05, 0.2
"""Nats per token, and share of the first level: entropy must be below both."""
CLIPPED_ABOVE = 0.2
RATIO_LOW, RATIO_HIGH = 0.8, 1.25
KL_ABOVE = 0.1
"""Nats per token between the policy that answered and the one that is trained."""
REFERENCE_KL_ABOVE = 0.5
"""Nats per token between the policy that is trained and the reference."""
DAPO_CLIP_HIGH = 0.28
LEAST_WRONG_GROUPS = 20
"""Kept in the first and in the last quarter of the run, with two wrong responses or more."""
ALIKE_SHARE = 0.5
"""Share of the initial share of differing pairs."""


def entropy_collapse(stream: RunStream) -> Outcome:
    """Find an entropy below 0.05 nats per token and below a fifth of its initial value; also report distinct responses
    per group.
    """
    curve = stream.curve("actor/entropy")
    if len(curve.values) < LEAST_STEPS:
        return TooLittle(f"{len(curve.values)} of {LEAST_STEPS} steps with an entropy")
    start, end = curve.values[:SPAN], curve.values[-SPAN:]
    before, now = float(np.median(start)), float(np.median(end))
    if now >= COLLAPSED_LEVEL or now >= COLLAPSED_SHARE * before:
        return None
    level = mean_of(end)
    evidence = [
        Evidence(label=f"Entropy, last {SPAN} steps", value=now, low=level.low, high=level.high, unit="nats"),
        Evidence(label=f"Entropy, first {SPAN} steps", value=before, unit="nats"),
    ]
    early, late = _distinct(stream)
    if early is not None and late is not None:
        evidence += [
            Evidence(label="Distinct responses per group, first quarter", value=early, unit="share"),
            Evidence(label="Distinct responses per group, last quarter", value=late, unit="share"),
        ]
    is_certain = early is not None and late is not None and late < early / 2
    return Found(
        Finding(
            kind="entropy_collapse",
            severity="problem" if is_certain else "warning",
            title=f"Entropy fell from {before:.3f} to {now:.3f} nats per token.",
            explanation="A policy that repeats the same answers makes groups of equal rewards, and stops exploring."
            + (" Distinct responses per group have more than halved as well." if is_certain else ""),
            evidence=evidence,
            num_rollouts=stream.num_rollouts,
            remedies=_more_entropy(stream),
        )
    )


def _more_entropy(stream: RunStream) -> list[Remedy]:
    if stream.is_observed:
        return [
            Remedy(text="Add an entropy bonus of 0.001, or double the existing one."),
            Remedy(text="Clip ratios above at 1.28, as DAPO has it, if they are clipped below that."),
        ]
    bonus, high = stream.config.loss.entropy_coefficient, stream.config.loss.clip_high
    remedies = [
        Remedy(text="Double the entropy bonus.", changes={"loss.entropy_coefficient": 2 * bonus})
        if bonus
        else Remedy(text="Add an entropy bonus of 0.001.", changes={"loss.entropy_coefficient": 0.001})
    ]
    if high is None or high < DAPO_CLIP_HIGH:
        text = f"Clip ratios above at {1 + DAPO_CLIP_HIGH}, as DAPO has it."
        remedies.append(Remedy(text=text, changes={"loss.clip_high": DAPO_CLIP_HIGH}))
    return remedies


def _distinct(stream: RunStream) -> tuple[float | None, float | None]:
    """Return mean share of distinct texts in a group, in the first and in the last quarter of the run."""
    shares: dict[str, list[float]] = defaultdict(list)
    for group in stream.samples:
        if not group.responses:
            continue
        quarter = 4 * group.step / max(1, stream.last_step)
        part = "early" if quarter <= 1 else "late" if quarter > 3 else "middle"
        shares[part].append(len({response.text for response in group.responses}) / len(group.responses))
    early, late = shares["early"], shares["late"]
    return (float(np.mean(early)) if len(early) >= SPAN else None, float(np.mean(late)) if len(late) >= SPAN else None)


def diversity_falls(stream: RunStream) -> Outcome:
    """Find wrong responses to one prompt that differ half as often as at first; right ones may well become similar."""
    early, late = _differing_pairs(stream)
    if min(len(early), len(late)) < LEAST_WRONG_GROUPS:
        num_groups = min(len(early), len(late))
        return TooLittle(f"{num_groups} of {LEAST_WRONG_GROUPS} groups with wrong responses in a quarter of the run")
    before, now = mean_of(early), mean_of(late)
    if now.high >= ALIKE_SHARE * before.low:
        return None
    return Found(
        Finding(
            kind="diversity_falls",
            severity="warning",
            title=f"Two wrong responses to a prompt differ in {percent(now.value, 0)} of cases, at first in "
            f"{percent(before.value, 0)}.",
            explanation="The policy repeats its mistakes, so that more responses bring nothing new. Pairs of wrong "
            "responses in one group; right ones may become similar because they are right.",
            evidence=[
                Evidence(label="Pairs that differ, last quarter", **now._asdict(), unit="share"),
                Evidence(label="Pairs that differ, first quarter", **before._asdict(), unit="share"),
            ],
            num_rollouts=stream.num_rollouts,
            remedies=_more_entropy(stream),
        )
    )


def _differing_pairs(stream: RunStream) -> tuple[Floats, Floats]:
    """Return share of differing pairs of wrong responses by group, in the first and in the last quarter of the run.

    Pairs, not distinct texts: their share does not depend on how many responses are wrong.
    """
    early: list[float] = []
    late: list[float] = []
    for group in stream.samples:
        wrong = Counter(response.text.strip() for response in group.responses if not response.is_correct)
        num_pairs = wrong.total() * (wrong.total() - 1)
        quarter = 4 * group.step / max(1, stream.last_step)
        if num_pairs and not 1 < quarter <= 3:
            num_alike = sum(count * (count - 1) for count in wrong.values())
            (early if quarter <= 1 else late).append(1 - num_alike / num_pairs)
    return np.array(early), np.array(late)


def reference_drift(stream: RunStream) -> Outcome:
    """Find more than half a nat per token between the policy and the reference, in the last part of the run."""
    kl = _recent(stream, "actor/kl_loss")
    first = stream.first_recent_step()
    if kl is None:
        num_steps = int((stream.curve("actor/kl_loss").steps >= first).sum())
        return TooLittle(f"{num_steps} of {LEAST_STEPS // 2} recent steps with a KL to the reference")
    if kl.low <= REFERENCE_KL_ABOVE:
        return None
    start = float(np.median(stream.curve("actor/kl_loss").values[:SPAN]))
    coefficient = stream.config.loss.kl_coefficient
    doubled = {"loss.kl_coefficient": 2 * coefficient} if coefficient else {"loss.kl_coefficient": 0.001}
    return Found(
        Finding(
            kind="reference_drift",
            severity="warning",
            title=f"Since step {first:,} the policy is {kl.value:.2f} nats per token from the reference.",
            explanation="At this distance the policy has often forgotten other skills or is exploiting the verifier: "
            "read some responses.",
            evidence=[
                Evidence(label="KL to the reference, per token", **kl._asdict(), unit="nats"),
                Evidence(label=f"First {SPAN} steps", value=start, unit="nats"),
            ],
            null="0 for the base model.",
            num_rollouts=stream.num_rollouts,
            remedies=[
                Remedy(text="Raise the coefficient of the KL penalty.", changes=doubled),
                Remedy(text="Compare held-out accuracy: drift alone is no harm."),
            ],
        )
    )


def off_policy_drift(stream: RunStream) -> Outcome:
    """Find over a fifth of tokens clipped, a mean ratio outside [0.8, 1.25], or a KL above 0.1, in the last part."""
    first = stream.first_recent_step()
    clipped, ratio, kl = (_recent(stream, key) for key in ("actor/pg_clipfrac", "bapo/ratio/mean", "actor/ppo_kl"))
    if clipped is None and ratio is None and kl is None:
        num_steps = max(int((stream.curve(key).steps >= first).sum()) for key in ("actor/pg_clipfrac", "actor/ppo_kl"))
        return TooLittle(f"{num_steps} of {LEAST_STEPS // 2} recent steps with importance ratios")
    found = []
    if clipped is not None and clipped.low > CLIPPED_ABOVE:
        found.append(f"{percent(clipped.value, 0)} of tokens are clipped")
    if ratio is not None and (ratio.high < RATIO_LOW or ratio.low > RATIO_HIGH):
        found.append(f"the mean importance ratio is {ratio.value:.2f}")
    if kl is not None and kl.low > KL_ABOVE:
        found.append(f"the policy is {kl.value:.2f} nats per token from the one that answered")
    if not found:
        return None
    rows = np.greater_equal(stream.visits.step, first) & stream.visits.in_batch
    oldest = _oldest(stream, rows)
    evidence = []
    if clipped is not None:
        low, high = max(0.0, clipped.low), min(1.0, clipped.high)
        evidence.append(Evidence(label="Tokens clipped", value=clipped.value, low=low, high=high, unit="share"))
    if ratio is not None:
        evidence.append(Evidence(label="Mean importance ratio", **ratio._asdict(), unit="number"))
    if kl is not None:
        evidence.append(Evidence(label="KL to the policy that answered, per token", **kl._asdict(), unit="nats"))
    if oldest is not None:
        evidence.append(Evidence(label="Oldest group trained on, in steps", value=float(oldest)))
    return Found(
        Finding(
            kind="off_policy_drift",
            severity="warning",
            title=f"Since step {first:,}, {' and '.join(found)}.",
            explanation="The trained policy has moved away from the one that answered"
            + ("" if not oldest else f"; groups are up to {oldest} {'step' if oldest == 1 else 'steps'} old")
            + ". Clipped tokens give no gradient.",
            evidence=evidence,
            null="A policy that trains on its own responses has ratio 1, KL 0 and nothing clipped.",
            num_rollouts=int(rows.sum()) * stream.visits.group_size,
            remedies=_less_drift(stream),
        )
    )


def _recent(stream: RunStream, key: str) -> Estimate | None:
    """Return mean of a metric over the last part of the run; None where too few steps have it."""
    curve = stream.curve(key)
    values = curve.values[curve.steps >= stream.first_recent_step()]
    return mean_of(blocks_of(values, 5)) if len(values) >= LEAST_STEPS // 2 else None


def _oldest(stream: RunStream, rows: NDArray[np.bool_]) -> int | None:
    """Return the age of the oldest of these groups, in steps; None if the trainer recorded no age."""
    known = rows & np.not_equal(stream.visits.policy_version, UNKNOWN_VERSION)
    if not known.any():
        return None
    return int((stream.visits.step[known] - 1 - stream.visits.policy_version[known]).max())


def _less_drift(stream: RunStream) -> list[Remedy]:
    rate = stream.config.training.learning_rate / 2
    remedies = [Remedy(text="Halve the learning rate.", changes={"training.learning_rate": rate})]
    interval = getattr(stream.config.method, "v", None)
    if isinstance(interval, int) and interval > 1:
        often = "step" if interval < 4 else f"{interval // 2} steps"
        text = f"Synchronise the policy that answers every {often}."
        remedies.append(Remedy(text=text, changes={"method.v": max(1, interval // 2)}))
    return remedies
