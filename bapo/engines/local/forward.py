"""Log-probabilities and values of sampled responses, the prompt's forward pass shared by its group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from bapo.engines.local.cache import expand_with_gradient
from bapo.engines.local.distributions import log_distributions
from bapo.engines.local.memory import tokens_per_gradient, tokens_per_output
from bapo.engines.local.padding import PromptBatch, padding_budget, runs_of_similar_length
from bapo.engines.local.payload import GroupPayload


def response_logprobs(
    model: PreTrainedModel, groups: Sequence[GroupPayload], *, temperature: float, entropy_gradient: bool
) -> tuple[Tensor, Tensor]:
    """Return log π_θ of each response token and the entropy of π_θ there, at temperature T, both [tokens], nats.

    Tokens come group by group and response by response, as in `SampledGroup.token_ids`.
    """

    def read(logits: Tensor, tokens: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        distributions = log_distributions(logits, temperature)
        entropies = _entropies(distributions, with_gradient=entropy_gradient)
        if rows is None:
            return distributions.gather(1, tokens.unsqueeze(1)).squeeze(1), entropies
        return distributions[rows, tokens], entropies[rows]

    logprobs, entropies = _before_tokens(model, groups, read, logits_to_keep=1)
    return logprobs, entropies


def response_values(model: PreTrainedModel, groups: Sequence[GroupPayload]) -> Tensor:
    """Return V of the state before each response token [tokens], from a model whose head gives one number.

    Prompts and tokens as in `response_logprobs`.
    """

    def read(logits: Tensor, tokens: Tensor, rows: Tensor | None) -> tuple[Tensor]:
        values = logits.squeeze(1)
        return (values if rows is None else values[rows],)

    (values,) = _before_tokens(model, groups, read)
    return values


class _Read(Protocol):
    """Takes the outputs of a model's head [outputs, size of the head] just before some of the response tokens."""

    def __call__(self, logits: Tensor, tokens: Tensor, rows: Tensor | None) -> tuple[Tensor, ...]:
        """Return values of the tokens; `rows` holds the output of each, where several share one."""


def _before_tokens(
    model: PreTrainedModel, groups: Sequence[GroupPayload], read: _Read, **for_prompts: int
) -> list[Tensor]:
    """Return what is read of the outputs before each response token, in the order of the tokens.

    Each prompt is forwarded once, with the arguments `for_prompts`; its keys and values, expanded to its responses,
    carry the gradient back. Where the memory for that gradient does not suffice, the responses are forwarded again for
    it, segment by segment.
    """
    device = model.device
    tokens = torch.cat([group.sampled.token_ids for group in groups]).to(device)
    lengths = torch.tensor([length for group in groups for length in group.sampled.lengths])
    starts = lengths.cumsum(0) - lengths
    prompt_of_row = torch.arange(len(groups)).repeat_interleave(torch.tensor([len(group.rewards) for group in groups]))

    cache = DynamicCache()
    prompts = PromptBatch([group.prompt for group in groups], device)
    output = model(past_key_values=cache, use_cache=True, **prompts.inputs(), **for_prompts)
    # The prompt's last position comes before the first token of each of its responses.
    parts = [read(output.logits[:, -1], tokens[starts.to(device)], prompt_of_row.to(device))]
    places = [starts]

    def read_segment(rows: Tensor, positions: Tensor, is_read: Tensor) -> tuple[Tensor, ...]:
        their_prompts = prompt_of_row[rows].to(device)
        output = model(
            past_key_values=expand_with_gradient(cache, their_prompts),
            use_cache=True,
            **prompts.inputs_after(tokens[positions.to(device)], their_prompts),
        )
        logits = output.logits if bool(is_read.all()) else output.logits[is_read.to(device)]
        return read(logits.flatten(0, -2), tokens[(positions + 1)[is_read].to(device)], None)

    num_tokens = len(tokens) + sum(len(group.prompt) for group in groups)
    forwards_again = torch.is_grad_enabled() and num_tokens > tokens_per_gradient(model)
    for rows in _segments(lengths, padding_budget(model).responses, tokens_per_output(model)):
        # A response's last token is predicted but never read.
        columns = torch.arange(int(lengths[rows].max()) - 1)
        last = (lengths[rows] - 1).unsqueeze(1)
        positions = starts[rows].unsqueeze(1) + torch.minimum(columns, last)
        is_read = columns < last
        if forwards_again:
            parts.append(
                checkpoint(read_segment, rows, positions, is_read, use_reentrant=False, preserve_rng_state=False)
            )
        else:
            parts.append(read_segment(rows, positions, is_read))
        places.append((positions + 1)[is_read])
    in_order = torch.cat(places).argsort().to(device)
    return [torch.cat(each)[in_order] for each in zip(*parts, strict=True)]


def _entropies(log_distributions: Tensor, *, with_gradient: bool) -> Tensor:
    with torch.set_grad_enabled(with_gradient and torch.is_grad_enabled()):
        return -(log_distributions.exp() * log_distributions).sum(dim=-1)


def _segments(lengths: Tensor, padding_tokens: int, max_tokens: int) -> Iterator[Tensor]:
    """Yield rows of similar length, so that each segment holds at most this much padding and, if it has several rows,
    this many tokens; rows of one token are left out.
    """
    ordered, order = lengths.sort(descending=True, stable=True)
    num_read = int((lengths > 1).sum())
    for run in runs_of_similar_length(ordered[:num_read].tolist(), padding_tokens):
        num_rows = max(1, max_tokens // int(ordered[run.start]))
        for begin in range(run.start, run.stop, num_rows):
            yield order[begin : min(begin + num_rows, run.stop)]
