"""Log-probabilities of sampled responses under the current weights, the prompt's forward pass shared by its group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from bapo.local.cache import expand_with_gradient
from bapo.local.payload import GroupPayload
from bapo.local.sampling import log_distributions

_PADDING_TOKENS = {"cpu": 64, "cuda": 4096}
"""Padding that costs about as much as one forward and backward pass more."""


def response_logprobs(
    model: PreTrainedModel, groups: Sequence[GroupPayload], *, temperature: float, entropy_gradient: bool
) -> tuple[Tensor, Tensor]:
    """log π_θ of each response token and the entropy of π_θ there, at temperature T, both [tokens], nats.

    All prompts must be of equal length. Each is forwarded once; its keys and values, expanded to its responses, carry
    the gradient back. Tokens come group by group and response by response, as in `SampledGroup.token_ids`.
    """
    device = model.device
    lengths = torch.tensor([length for group in groups for length in group.sampled.lengths])
    starts = lengths.cumsum(0) - lengths
    prompt_of_row = torch.arange(len(groups)).repeat_interleave(torch.tensor([len(group.rewards) for group in groups]))
    tokens = torch.cat([group.sampled.token_ids for group in groups]).to(device)
    rows_on_device = prompt_of_row.to(device)

    cache = DynamicCache()
    output = model(
        input_ids=torch.tensor([group.prompt for group in groups], device=device),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    # The prompt's last position gives the first token of each of its responses.
    first = log_distributions(output.logits[:, -1], temperature)
    logprobs = [first[rows_on_device, tokens[starts.to(device)]]]
    entropies = [_entropies(first, with_gradient=entropy_gradient)[rows_on_device]]
    places = [starts]

    for rows in _segments(lengths, _PADDING_TOKENS[device.type]):
        # A response's last token is predicted but never read.
        columns = torch.arange(int(lengths[rows].max()) - 1)
        last = (lengths[rows] - 1).unsqueeze(1)
        read = starts[rows].unsqueeze(1) + torch.minimum(columns, last)
        is_response = columns < last
        predicted = (read + 1)[is_response]
        output = model(
            input_ids=tokens[read.to(device)],
            past_key_values=expand_with_gradient(cache, prompt_of_row[rows].to(device)),
            use_cache=True,
        )
        logits = output.logits if bool(is_response.all()) else output.logits[is_response.to(device)]
        distributions = log_distributions(logits.flatten(0, -2), temperature)
        logprobs.append(distributions.gather(1, tokens[predicted.to(device)].unsqueeze(1)).squeeze(1))
        entropies.append(_entropies(distributions, with_gradient=entropy_gradient))
        places.append(predicted)

    in_order = torch.cat(places).argsort().to(device)
    return torch.cat(logprobs)[in_order], torch.cat(entropies)[in_order]


def _entropies(log_distributions: Tensor, *, with_gradient: bool) -> Tensor:
    with torch.set_grad_enabled(with_gradient and torch.is_grad_enabled()):
        return -(log_distributions.exp() * log_distributions).sum(dim=-1)


def _segments(lengths: Tensor, padding_tokens: int) -> Iterator[Tensor]:
    """Rows of similar length, so that each segment holds at most this much padding; rows of one token are left out."""
    ordered, order = lengths.sort(descending=True, stable=True)
    begin, padding = 0, 0
    for position, length in enumerate(ordered.tolist()):
        if length == 1:
            break
        padding += int(ordered[begin]) - length
        if padding > padding_tokens:
            yield order[begin:position]
            begin, padding = position, 0
    else:
        position = len(ordered)
    if begin < position:
        yield order[begin:position]
