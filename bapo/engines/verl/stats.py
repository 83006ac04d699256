"""Translates the workers' metrics to the statistics that the loop records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bapo.engines.base import GenerationStats
from bapo.engines.verl.payload import GroupPayload
from bapo.logprob_gap import GapSums
from bapo.records import RATIO_BIN_EDGES, CriticStats, DemonstrationStats, UpdateStats, effective_sample_share
from bapo.rollout import BatchSource


def generation_stats(payloads: Sequence[GroupPayload], timing: Mapping[str, float]) -> GenerationStats:
    """Return cost and shape of the responses."""
    responses = [response for payload in payloads for response in payload.responses]
    num_tokens = sum(response.length for response in responses)
    return GenerationStats(
        num_tokens=num_tokens,
        response_length_mean=num_tokens / len(responses),
        response_length_max=max(response.length for response in responses),
        response_clip_ratio=1 - sum(response.ended for response in responses) / len(responses),
        timing=timing,
    )


def update_stats(
    batches: Sequence[Mapping[str, float]],
    later: Mapping[str, float],
    gap: GapSums,
    *,
    num_groups_skipped: int,
    num_demonstrations: int,
    learning_rate: float,
    timing: Mapping[str, float],
    critic: CriticStats | None,
) -> UpdateStats:
    """Return token means of the mini-batches' sums, which `BapoLoss` names; `later` holds distances of the later ones.

    `gap` is what was measured outside the mini-batches. Where all groups were skipped: no deviation, ratio 1.
    """

    def total(name: str) -> float:
        return math.fsum(sums.get(f"bapo/{name}", 0.0) for sums in batches)

    num_tokens = int(total("tokens"))

    def mean(name: str, empty: float = 0.0) -> float:
        return total(name) / num_tokens if num_tokens else empty

    def half_means(kind: str) -> dict[BatchSource, float]:
        found = {}
        for source in BatchSource:
            distance, count = (
                total(f"tv_{kind}_{part}_{source}") + later.get(f"tv_{kind}_{part}_{source}", 0.0)
                for part in ("sum", "count")
            )
            if count:
                found[source] = distance / count / 2
        return found

    given_tokens = total("given_tokens")
    demonstrations = None
    if num_demonstrations:
        demonstrations = DemonstrationStats(
            num_responses=num_demonstrations,
            loss=total("given_loss") / given_tokens if given_tokens else 0.0,
            probability=total("given_probability") / given_tokens if given_tokens else 0.0,
        )
    gap += GapSums(
        int(total("gap_tokens")),
        total("gap_total"),
        max(sums.get("bapo/gap_largest", 0.0) for sums in batches),
        int(total("gap_outside")),
    )
    return UpdateStats(
        loss=total("loss") / len(batches),
        entropy=mean("entropy"),
        grad_norm=math.fsum(sums["grad_norm"] for sums in batches) / len(batches),
        kl=mean("kl"),
        reference_kl=mean("reference_kl") if any("bapo/reference_kl" in sums for sums in batches) else None,
        clip_fraction=mean("clipped"),
        ratio_mean=mean("ratio", 1.0),
        ratio_max=max(sums.get("bapo/ratio_largest", 0.0) for sums in batches) or 1.0,
        effective_sample_share=effective_sample_share(num_tokens, total("ratio"), total("ratio_squares")),
        ratio_histogram=[int(total(f"bin_{index}")) for index in range(len(RATIO_BIN_EDGES) + 1)],
        num_mini_batches=len(batches),
        num_tokens=num_tokens,
        num_groups_skipped=num_groups_skipped,
        learning_rate=learning_rate,
        tv_tokens=half_means("token"),
        tv_sequences=half_means("sequence"),
        timing=timing,
        critic=critic,
        demonstrations=demonstrations,
        logprob_gap=gap.gap(),
    )
