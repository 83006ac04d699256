"""A verifier that rewards one text and not its copy."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from bapo.analysis.findings.estimates import Estimate, Floats
from bapo.analysis.findings.finding import Evidence, Finding, Found, ListedPrompt, Outcome, Remedy, TooLittle
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.number_format import percent

LEAST_TEXTS = 30
LEAST_DISAGREEING = 2
BOOTSTRAPS = 400


def verifier_disagrees(stream: RunStream) -> Outcome:
    """Return the rate f at which rewards are flipped, from copies: two disagree with probability 2f(1 - f)."""
    rewards: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for group in stream.samples:
        for response in group.responses:
            rewards[group.prompt_id, response.text.strip()].append(response.is_correct)
    repeated = {key: given for key, given in rewards.items() if len(given) >= 2}
    if len(repeated) < LEAST_TEXTS:
        return TooLittle(f"{len(repeated)} of {LEAST_TEXTS} texts that were sampled twice for one prompt")
    copies = np.array([len(given) for given in repeated.values()], np.float64)
    right = np.array([sum(given) for given in repeated.values()], np.float64)
    differing = right * (copies - right)
    num_disagreeing = int((differing > 0).sum())
    if num_disagreeing < LEAST_DISAGREEING:
        return None
    flips = _flip_rate(differing, copies * (copies - 1) / 2)
    listed: dict[str, int] = defaultdict(int)
    for (prompt_id, _), count in zip(repeated, differing > 0, strict=True):
        listed[prompt_id] += int(count)
    prompts = [
        ListedPrompt(
            prompt_id=prompt_id,
            num_visits=sum(group.prompt_id == prompt_id for group in stream.samples),
            num_rollouts=sum(len(given) for key, given in repeated.items() if key[0] == prompt_id),
            num_correct=sum(sum(given) for key, given in repeated.items() if key[0] == prompt_id),
            detail=f"{count} {'text' if count == 1 else 'texts'} judged differently",
        )
        for prompt_id, count in listed.items()
        if count
    ]
    return Found(
        Finding(
            kind="verifier_disagrees",
            severity="problem",
            title=f"The verifier gave {num_disagreeing:,} of {len(repeated):,} repeated responses different rewards: "
            f"about {percent(flips.value)} of its rewards are flipped.",
            explanation="The same text for the same prompt must have the same reward. Texts, not copies, are drawn "
            "again for the interval.",
            evidence=[
                Evidence(label="Flip rate f", **flips._asdict(), unit="share"),
                Evidence(label="Repeated texts with different rewards", value=float(num_disagreeing)),
                Evidence(label="Repeated texts", value=float(len(repeated))),
            ],
            null="0 for a verifier that depends on the text alone.",
            num_rollouts=int(copies.sum()),
            remedies=[
                Remedy(
                    text="Verify one of the listed prompts' responses twice by hand. Usual causes: a time limit that "
                    "is met under load, a judge model at a temperature above 0, state shared between threads."
                )
            ],
            num_prompts=len(prompts),
        ),
        prompts,
    )


def _flip_rate(differing: Floats, pairs: Floats) -> Estimate:
    def of(share: float) -> float:
        return float((1 - np.sqrt(max(0.0, 1 - 2 * share))) / 2)

    draws = np.random.default_rng(0)
    weights = draws.multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), size=BOOTSTRAPS)
    shares = (weights @ differing) / (weights @ pairs)
    low, high = np.quantile(shares, [0.025, 0.975])
    return Estimate(of(float(differing.sum() / pairs.sum())), of(float(low)), of(float(high)))
