"""Distributions over the vocabulary, and tokens drawn from them by the inverse of the distribution function."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_BLOCK = 256
"""Largest block of tokens that `_sampled` sums up first."""
_MIN_BLOCK = 16
"""Blocks smaller than this save nothing."""
_CHUNK = 2**20
"""Probabilities computed at the same time: these stay in a CPU's cache."""


def choose_tokens(
    logits: Tensor, uniforms: Tensor, *, temperature: float, top_p: float = 1.0, top_k: int = -1
) -> tuple[Tensor, Tensor]:
    """Return tokens for logits [rows, vocabulary] and uniform numbers [rows], with their log-probabilities at T.

    The token is the first whose cumulative probability exceeds the uniform number.
    """
    size = max(1, _CHUNK // logits.shape[-1]) if logits.device.type == "cpu" else len(logits)
    chosen = [
        _choose_tokens(*parts, temperature, top_p, top_k)
        for parts in zip(torch.split(logits, size), torch.split(uniforms, size), strict=True)
    ]
    tokens, logprobs = (torch.cat(parts) for parts in zip(*chosen, strict=True))
    return tokens, logprobs


def _choose_tokens(
    logits: Tensor, uniforms: Tensor, temperature: float, top_p: float, top_k: int
) -> tuple[Tensor, Tensor]:
    logprobs = log_distributions(logits, temperature or 1.0)
    greedy = temperature == 0
    tokens = logprobs.argmax(dim=-1) if greedy else _sampled(_truncated(logprobs, top_p, top_k), uniforms)
    return tokens, logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)


def log_distributions(logits: Tensor, temperature: float) -> Tensor:
    """Return log softmax(logits / T) over the last dimension; in float32 for bfloat16."""
    if logits.dtype == torch.bfloat16:
        logits = logits.float()
    # A division by 1 would copy the largest tensor of all for nothing.
    return torch.log_softmax(logits if temperature == 1 else logits / temperature, dim=-1)


def _sampled(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    """Return the first token of each row whose cumulative share of the row's probabilities exceeds the uniform number.

    In two levels where the vocabulary can be divided: blocks of tokens, then the tokens of one block. The sums of a
    large vocabulary, one behind the other in float64, would take longer than its softmax.
    """
    rows, vocabulary = probabilities.shape
    size = math.gcd(vocabulary, _BLOCK)
    if size < _MIN_BLOCK:
        cumulative = probabilities.cumsum(dim=-1, dtype=torch.float64)
        return _first_above(cumulative, uniforms * cumulative[:, -1])
    blocks = probabilities.view(rows, vocabulary // size, size)
    sums = blocks.sum(dim=-1, dtype=torch.float64)
    cumulative = sums.cumsum(dim=-1)
    thresholds = uniforms * cumulative[:, -1]
    block = _first_above(cumulative, thresholds)
    each = torch.arange(rows, device=probabilities.device)
    rest = thresholds - (cumulative[each, block] - sums[each, block])
    return block * size + _first_above(blocks[each, block].cumsum(dim=-1, dtype=torch.float64), rest)


def _first_above(cumulative: Tensor, thresholds: Tensor) -> Tensor:
    """Return the first column of each row [rows, columns] above the threshold [rows]."""
    # A threshold that rounds up to the total would lie past the last token, or at one without probability.
    below = torch.nextafter(cumulative[:, -1], torch.zeros_like(thresholds))
    found = torch.searchsorted(cumulative, torch.minimum(thresholds, below).unsqueeze(1), right=True).squeeze(1)
    # NaN lies past all of them; its log-probability shows it.
    return found.clamp_(max=cumulative.shape[1] - 1)


def _truncated(logprobs: Tensor, top_p: float, top_k: int) -> Tensor:
    """Return probabilities, unnormalised, with zeros outside the k most probable and outside the nucleus."""
    probabilities = logprobs.exp()
    vocabulary = logprobs.shape[-1]
    if top_k in (-1, 0) and top_p >= 1:
        return probabilities
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    if top_k not in (-1, 0):
        ordered[:, min(top_k, vocabulary) :] = 0
    # The nucleus ends with the token that reaches the mass; its share counts within what top-k left.
    mass_before = ordered.cumsum(dim=-1) - ordered
    ordered[mass_before >= top_p * ordered.sum(dim=-1, keepdim=True)] = 0
    return torch.zeros_like(probabilities).scatter_(1, order, ordered)
