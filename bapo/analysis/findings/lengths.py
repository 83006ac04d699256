"""Lengths of responses: rewards that follow them, and responses that are cut at the limit."""

from __future__ import annotations

import numpy as np

from bapo.analysis.findings.estimates import Floats, blocks_of, mean_of
from bapo.analysis.findings.finding import Evidence, Finding, Found, Outcome, Remedy, TooLittle
from bapo.analysis.findings.stream import ResponseGroup, RunStream
from bapo.analysis.number_format import percent

LEAST_GROUPS = 50
"""Groups with both rewards and differing lengths."""
LEAST_CORRELATION = 0.3
PERMUTATIONS = 200
LEAST_STEPS = 20
NOTE_ABOVE, WARNING_ABOVE = 0.05, 0.2
LEAST_UNCUT = 100


def reward_follows_length(stream: RunStream) -> Outcome:
    """Compare the correlation of reward and length within groups, which cancels difficulty, with a permutation null.

    ρ = Σ (r - r̄_g)(l - l̄_g) / √(Σ (r - r̄_g)² · Σ (l - l̄_g)²), over uncut responses of groups g.
    """
    if _has_no_lengths(stream):
        return TooLittle("no response with its length in tokens")
    rewards: list[float] = []
    lengths: list[float] = []
    groups: list[int] = []
    num_groups = 0
    for group in stream.samples:
        uncut = _uncut(group, stream.token_limit)
        if len({reward for reward, _ in uncut}) < 2 or len({length for _, length in uncut}) < 2:
            continue
        rewards += [reward for reward, _ in uncut]
        lengths += [length for _, length in uncut]
        groups += [num_groups] * len(uncut)
        num_groups += 1
    if num_groups < LEAST_GROUPS:
        return TooLittle(f"{num_groups} of {LEAST_GROUPS} sampled groups with mixed rewards and differing lengths")
    member = np.array(groups)
    sizes = np.bincount(member)

    def centred(values: list[float]) -> Floats:
        column = np.array(values, np.float64)
        deviations: Floats = column - (np.bincount(member, weights=column) / sizes)[member]
        return deviations

    reward, length = centred(rewards), centred(lengths)
    scale = float(np.sqrt((reward @ reward) * (length @ length)))
    found = float(reward @ length) / scale
    draws = np.random.default_rng(0)
    null = [
        # Not `@`: the threads of BLAS cost more than so small a product.
        float((reward[np.lexsort((draws.random(len(member)), member))] * length).sum()) / scale
        for _ in range(PERMUTATIONS)
    ]
    widest = float(np.abs(null).max())
    by_group = np.bincount(member, weights=reward * length) / scale
    width = 1.96 * float(np.sqrt(num_groups) * by_group.std())
    if abs(found) - width < LEAST_CORRELATION or abs(found) <= widest:
        return None
    longer = found > 0
    return Found(
        Finding(
            kind="reward_follows_length",
            severity="note",
            title=f"Within groups, {'longer' if longer else 'shorter'} responses are rewarded more often: "
            f"correlation {found:.2f} over {num_groups:,} groups.",
            explanation="Difficulty cancels within a group, and responses cut at the limit are left out. The policy "
            f"will learn to answer {'longer' if longer else 'shorter'}, whether or not that is what makes it right.",
            evidence=[
                Evidence(
                    label="Correlation of reward and length",
                    value=found,
                    low=found - width,
                    high=found + width,
                    unit="number",
                ),
                Evidence(label="Groups", value=float(num_groups)),
            ],
            null=f"Rewards shuffled within groups, {PERMUTATIONS} times: at most {widest:.2f} either way.",
            num_rollouts=len(member),
            remedies=[
                Remedy(text="Read wrong responses of typical length in the tab Samples: does the verifier reward form?")
            ],
        )
    )


def _has_no_lengths(stream: RunStream) -> bool:
    """Return whether there are texts but no recorded lengths."""
    responses = [response for group in stream.samples for response in group.responses]
    return bool(responses) and all(response.num_tokens is None for response in responses)


def _uncut(group: ResponseGroup, limit: float | None) -> list[tuple[float, int]]:
    """Return reward and length of the responses that were not cut."""
    return [
        (response.reward, response.num_tokens)
        for response in group.responses
        if response.num_tokens is not None and response.is_uncut(limit)
    ]


def responses_cut(stream: RunStream) -> Outcome:
    """Return the share of fresh responses cut at the token limit, and how often the longest uncut ones are right."""
    curve = stream.curve("response_length/clip_ratio")
    recent = curve.values[curve.steps >= stream.first_recent_step()]
    if not len(recent) and stream.is_observed:
        return TooLittle("the trainer does not tell which responses were cut: give Group.is_cut")
    if len(recent) < LEAST_STEPS:
        return TooLittle(f"{len(recent)} of {LEAST_STEPS} recent steps")
    cut = mean_of(blocks_of(recent, 10))
    if cut.low <= NOTE_ABOVE:
        return None
    limit = stream.token_limit
    evidence = [Evidence(label="Responses cut", value=cut.value, low=cut.low, high=min(1.0, cut.high), unit="share")]
    if limit is not None:
        label = "Longest response in tokens" if stream.is_observed else "Limit in tokens"
        evidence.append(Evidence(label=label, value=limit))
    uncut = sorted(
        (response.num_tokens, response.is_correct)
        for group in stream.samples
        for response in group.responses
        if limit is not None and response.num_tokens is not None and response.is_uncut(limit)
    )
    cost, success = "", None
    if len(uncut) >= LEAST_UNCUT:
        longest = [is_correct for _, is_correct in uncut[-len(uncut) // 10 :]]
        success = float(np.mean(longest))
        evidence.append(Evidence(label="Right among the longest tenth of uncut ones", value=success, unit="share"))
        cost = f" At best another {percent(cut.value * success)} of all responses would be right without the limit."
    rows = stream.fresh_rows(stream.first_recent_step())
    return Found(
        Finding(
            kind="responses_cut",
            severity="warning" if cut.low > WARNING_ABOVE else "note",
            title=f"{percent(cut.value, 0)} of fresh responses are cut"
            + ("." if limit is None else f" at {limit:,.0f} tokens."),
            explanation="A response that is cut before its answer is judged wrong, whatever it would have said." + cost,
            evidence=evidence,
            num_rollouts=int(rows.sum()) * stream.visits.group_size,
            remedies=_longer(limit, success) + _uncounted(stream),
        )
    )


def _longer(limit: float | None, success: float | None) -> list[Remedy]:
    """Return a higher limit, unless not one of the longest uncut responses is right: cut ones would hardly be, then."""
    if success == 0:
        return []
    if limit is None:
        return [Remedy(text="Raise the limit on tokens.")]
    text, changes = f"Raise the limit to {2 * limit:,.0f} tokens.", {"rollout.max_response_tokens": int(2 * limit)}
    return [Remedy(text=text, changes=changes)]


def _uncounted(stream: RunStream) -> list[Remedy]:
    if not stream.is_observed and stream.config.loss.drops_overlong:
        return []
    return [Remedy(text="Leave cut responses out of the loss.", changes={"loss.drops_overlong": True})]
