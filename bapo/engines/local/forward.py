"""Log-probabilities and values of sampled responses, the prompt's forward pass shared by its group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from bapo.engines.local.cache import expand_with_gradient
from bapo.engines.local.padding import PromptBatch, padding_budget, runs_of_similar_length
from bapo.engines.local.payload import GroupPayload
from bapo.engines.local.sampling import log_distributions


def response_logprobs(
    model: PreTrainedModel, groups: Sequence[GroupPayload], *, temperature: float, entropy_gradient: bool
) -> tuple[Tensor, Tensor]:
    """Return log π_θ of each response token and the entropy of π_θ there, at temperature T, both [tokens], nats.

    Tokens come group by group and response by response, as in `SampledGroup.token_ids`.
    """
    tokens = torch.cat([group.sampled.token_ids for group in groups]).to(model.device)
    logprobs, entropies, places = [], [], []
    for part in _outputs_before_tokens(model, groups, tokens, logits_to_keep=1):
        distributions = log_distributions(part.logits, temperature)
        their_entropies = _entropies(distributions, with_gradient=entropy_gradient)
        chosen = tokens[part.places.to(model.device)]
        if part.rows is None:
            logprobs.append(distributions.gather(1, chosen.unsqueeze(1)).squeeze(1))
            entropies.append(their_entropies)
        else:
            logprobs.append(distributions[part.rows, chosen])
            entropies.append(their_entropies[part.rows])
        places.append(part.places)
    in_order = torch.cat(places).argsort().to(model.device)
    return torch.cat(logprobs)[in_order], torch.cat(entropies)[in_order]


def response_values(model: PreTrainedModel, groups: Sequence[GroupPayload]) -> Tensor:
    """Return V of the state before each response token [tokens], from a model whose head gives one number.

    Prompts and tokens as in `response_logprobs`.
    """
    tokens = torch.cat([group.sampled.token_ids for group in groups]).to(model.device)
    values, places = [], []
    for part in _outputs_before_tokens(model, groups, tokens):
        their_values = part.logits.squeeze(1)
        values.append(their_values if part.rows is None else their_values[part.rows])
        places.append(part.places)
    return torch.cat(values)[torch.cat(places).argsort().to(model.device)]


class _Outputs(NamedTuple):
    """Outputs of a model's head just before some of the response tokens."""

    logits: Tensor
    """[outputs, size of the head]."""
    rows: Tensor | None
    """The output of each token, where several share one."""
    places: Tensor
    """The tokens, as positions among those of all groups."""


def _outputs_before_tokens(
    model: PreTrainedModel, groups: Sequence[GroupPayload], tokens: Tensor, **for_prompts: int
) -> Iterator[_Outputs]:
    """Forward each prompt once; its keys and values, expanded to its responses, carry the gradient back.

    `tokens` are those of all responses; `for_prompts` is said to the model with the prompts.
    """
    device = model.device
    lengths = torch.tensor([length for group in groups for length in group.sampled.lengths])
    starts = lengths.cumsum(0) - lengths
    prompt_of_row = torch.arange(len(groups)).repeat_interleave(torch.tensor([len(group.rewards) for group in groups]))

    cache = DynamicCache()
    prompts = PromptBatch([group.prompt for group in groups], device)
    output = model(past_key_values=cache, use_cache=True, **prompts.inputs(), **for_prompts)
    # The prompt's last position comes before the first token of each of its responses.
    yield _Outputs(output.logits[:, -1], prompt_of_row.to(device), starts)

    for rows in _segments(lengths, padding_budget(model).responses):
        # A response's last token is predicted but never read.
        columns = torch.arange(int(lengths[rows].max()) - 1)
        last = (lengths[rows] - 1).unsqueeze(1)
        read = starts[rows].unsqueeze(1) + torch.minimum(columns, last)
        is_response = columns < last
        their_prompts = prompt_of_row[rows].to(device)
        output = model(
            past_key_values=expand_with_gradient(cache, their_prompts),
            use_cache=True,
            **prompts.inputs_after(tokens[read.to(device)], their_prompts),
        )
        logits = output.logits if bool(is_response.all()) else output.logits[is_response.to(device)]
        yield _Outputs(logits.flatten(0, -2), None, (read + 1)[is_response])


def _entropies(log_distributions: Tensor, *, with_gradient: bool) -> Tensor:
    with torch.set_grad_enabled(with_gradient and torch.is_grad_enabled()):
        return -(log_distributions.exp() * log_distributions).sum(dim=-1)


def _segments(lengths: Tensor, padding_tokens: int) -> Iterator[Tensor]:
    """Yield rows of similar length, so that each segment holds at most this much padding; rows of one token are left
    out."""
    ordered, order = lengths.sort(descending=True, stable=True)
    num_read = int((lengths > 1).sum())
    for run in runs_of_similar_length(ordered[:num_read].tolist(), padding_tokens):
        yield order[run.start : run.stop]
