"""Prompts that are never or always solved: rollouts on them bring no gradient, and are likely to bring none."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bapo.analysis.findings.estimates import clustered_share
from bapo.analysis.findings.finding import Evidence, Finding, Found, ListedPrompt, Outcome, Remedy, TooLittle
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.findings.success_rates import fit_mixture, pairs_of
from bapo.analysis.number_format import percent

LEAST_PROMPTS = 50
"""Prompts with two visits or more."""
LEAST_SHARE = 0.02
"""Share of prompts below which the finding is not reported."""
LEAST_EFFECTIVE_GROUPS = 1.5
"""Fewest groups among a prompt's visits, discounted by age; the prior alone must not decide."""
SURE = 0.95


def never_solved(stream: RunStream) -> Outcome:
    """Return prompts without one right response in all visits, with P(p < 1/(4G)) above 95 %."""
    return _settled(stream, "never_solved")


def always_solved(stream: RunStream) -> Outcome:
    """Return prompts without one wrong response in all visits, with P(p > 1 - 1/(4G)) above 95 %."""
    return _settled(stream, "always_solved")


def _settled(stream: RunStream, kind: Literal["never_solved", "always_solved"]) -> Outcome:
    visits, group_size = stream.visits, stream.visits.group_size
    rows = visits.is_evaluation
    num_prompts = len(visits.prompt_ids)
    prompt = visits.prompt[rows]
    num_visits = np.bincount(prompt, minlength=num_prompts)
    seen_twice = num_visits >= 2
    if seen_twice.sum() < LEAST_PROMPTS:
        return TooLittle(f"{int(seen_twice.sum())} of {LEAST_PROMPTS} prompts with two visits or more")
    # A policy of many steps ago says less about this one: a visit's weight halves every quarter of the run.
    age = stream.last_step - visits.step[rows].astype(np.float64)
    weight = 0.5 ** (age / max(25.0, stream.last_step / 4))
    counts = visits.num_correct[rows].astype(np.float64)
    right = counts if kind == "never_solved" else group_size - counts
    total = np.bincount(prompt, weights=right, minlength=num_prompts)
    correct = np.bincount(prompt, weights=counts, minlength=num_prompts).astype(np.int64)
    responses = num_visits * group_size
    effective = np.bincount(prompt, weights=weight * group_size, minlength=num_prompts)
    answered = num_visits > 0
    prior = fit_mixture(pairs_of(total[answered].astype(np.int64), responses[answered]))
    # The posterior of a prompt without a hit depends on its number of responses alone, and rises with it.
    lengths = np.unique(np.round(effective[seen_twice & (total == 0)]))
    enough = lengths >= LEAST_EFFECTIVE_GROUPS * group_size
    sure = [length for length in lengths[enough] if prior.below_without_hit(1 / (4 * group_size), length) > SURE]
    if not sure:
        return None
    listed = seen_twice & (total == 0) & (np.round(effective) >= sure[0])
    share = clustered_share(listed[seen_twice].astype(np.float64), np.ones(int(seen_twice.sum())))
    if share.low < LEAST_SHARE:
        return None
    order = np.argsort(-num_visits[listed], kind="stable")
    prompts = [
        ListedPrompt(
            prompt_id=visits.prompt_ids[row],
            num_visits=int(num_visits[row]),
            num_rollouts=int(responses[row]),
            num_correct=int(correct[row]),
        )
        for row in np.flatnonzero(listed)[order]
    ]
    spent = int(responses[listed].sum())
    spent_share = spent / stream.num_rollouts
    never = kind == "never_solved"
    bound = f"p < 1/{4 * group_size}" if never else f"p > 1 - 1/{4 * group_size}"
    advice = "Give hints, easier variants or a larger model" if never else "Replace them by harder problems"
    return Found(
        Finding(
            kind=kind,
            severity="warning" if spent_share > 0.2 else "note",
            title=f"{len(prompts):,} of {int(seen_twice.sum()):,} prompts with two visits or more were "
            f"{'never' if never else 'always'} solved, and took {percent(spent_share, 0)} of all rollouts.",
            explanation=f"For each, P({bound}) is above {SURE:.0%} given its visits, of which older ones count less, "
            f"and the success rates fitted to all prompts.",
            evidence=[
                Evidence(label="Share of prompts with two visits or more", **share._asdict(), unit="share"),
                Evidence(label="Prompts", value=float(len(prompts))),
                Evidence(label="Rollouts spent on them", value=float(spent)),
                Evidence(label="Share of all rollouts", value=spent_share, unit="share"),
            ],
            num_rollouts=int(responses[seen_twice].sum()),
            remedies=[Remedy(text=f"{advice}.")],
            num_prompts=len(prompts),
        ),
        prompts,
    )
