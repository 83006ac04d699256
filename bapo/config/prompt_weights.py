"""Weights of training problems, as texts `ID=WEIGHT`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

UNIT = 1_000
"""Weights are whole numbers of thousandths, so that sums of them are exact."""
LARGEST = 1_000
LEFT_OUT = 0.0
"""The weight of a problem that is not trained on."""
USUAL = 1.0
"""The weight of a problem that is not listed."""
MOST_ENTRIES = 20_000


def weight_problem(weight: Decimal) -> str | None:
    """Return the fault of a weight with the remedy; None for a valid weight."""
    if not weight.is_finite() or weight < 0 or weight > LARGEST or (weight * UNIT) % 1:
        return f"the weight {weight} is none: give 0 to leave the prompt out, or 0.001 to {LARGEST:,} in thousandths"
    return None


def parse_weight(text: str) -> float:
    """Parse a weight. Raises ValueError with the remedy."""
    try:
        weight = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"the weight {text.strip()!r:.60} is no number: give one such as 2 or 0.5") from None
    if (problem := weight_problem(weight)) is not None:
        raise ValueError(problem)
    return float(weight)


def weights_of(texts: Iterable[str]) -> Mapping[str, float]:
    """Parse texts such as `gsm8k:1f=2.5`: identity → weight. Raises ValueError for an invalid text or a repeated
    identity."""
    weights: dict[str, float] = {}
    for text in texts:
        # An identity may hold the sign; a weight does not.
        prompt_id, sign, weight = text.rpartition("=")
        if not sign or not prompt_id:
            raise ValueError(f"{text!r:.80} has no weight: write ID=WEIGHT, such as gsm8k:1f=2")
        if prompt_id in weights:
            raise ValueError(f"{prompt_id!r:.80} is listed twice: give it one weight")
        weights[prompt_id] = parse_weight(weight)
    return weights


def weight_text(weight: float) -> str:
    """Format a weight as people write it: `2`, `0.5`."""
    return f"{weight:.3f}".rstrip("0").rstrip(".")


def texts_of(weights: Mapping[str, float]) -> list[str]:
    """Format these weights as texts, which `weights_of` parses."""
    return [f"{prompt_id}={weight_text(weight)}" for prompt_id, weight in weights.items()]
