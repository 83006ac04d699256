"""Supervised training on responses: teacher forcing, cross-entropy on the response alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from bapo.config.warm_start import SupervisedRecipe
from bapo.engines.local.repeatable import backward

_FINAL_LEARNING_RATE_SHARE = 0.05
_IGNORED = -100
_MOST_LOGITS = 2**26
"""Logits of a micro-batch: 256 MiB, and as much again for their gradient."""


class Example(NamedTuple):
    """A prompt and the response to learn, as token ids."""

    prompt: Sequence[int]
    response: Sequence[int]
    """With its end token."""


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """One optimizer step of supervised training."""

    step: int
    """From 1."""
    num_steps: int
    loss: float
    """Nats per response token."""
    elapsed_seconds: float


def train_on(
    model: PreTrainedModel,
    batch_of: Callable[[int], Sequence[Example]],
    recipe: SupervisedRecipe,
    *,
    padding: int,
    on_progress: Callable[[TrainingProgress], None] | None = None,
) -> list[float]:
    """Train on the batch of each step, from 1, and return the steps' losses in nats per response token.

    The mean cross-entropy is that over all response tokens of a batch; AdamW with linear warm-up and cosine decay.
    """
    begin = time.perf_counter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    losses = []
    for step in range(1, recipe.num_steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * _learning_rate_share(step, recipe)
        examples = batch_of(step)
        optimizer.zero_grad()
        loss = add_gradient(model, examples, padding=padding)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss)
        if on_progress is not None:
            on_progress(TrainingProgress(step, recipe.num_steps, loss, time.perf_counter() - begin))
    return losses


def add_gradient(model: PreTrainedModel, examples: Sequence[Example], *, padding: int) -> float:
    """Add the gradient of the mean cross-entropy to those of the weights; return it, in nats per response token."""
    loss = 0.0
    for part in _losses(model, examples, padding):
        backward(part)
        loss += part.item()
    return loss


@torch.inference_mode()
def mean_loss(model: PreTrainedModel, examples: Sequence[Example], *, padding: int) -> float:
    """Return the mean cross-entropy of the examples, in nats per response token."""
    return sum(part.item() for part in _losses(model, examples, padding))


def _losses(model: PreTrainedModel, examples: Sequence[Example], padding: int) -> Iterator[Tensor]:
    """Yield the loss of each micro-batch; together they are the mean over all response tokens."""
    num_tokens = sum(len(each.response) for each in examples)
    for part in _micro_batches(examples, model.config.vocab_size):
        input_ids, labels = _padded(part, padding)
        # Before the shortest prompt's last token no logit is read: with a large vocabulary they would cost most memory.
        num_read = input_ids.shape[1] - min(len(each.prompt) for each in part)
        logits = model(input_ids=input_ids[:, :-1].to(model.device), logits_to_keep=num_read).logits
        targets = labels[:, -num_read:].flatten().to(model.device)
        yield cross_entropy(logits.flatten(0, 1), targets, ignore_index=_IGNORED, reduction="sum") / num_tokens


def _micro_batches(examples: Sequence[Example], vocabulary: int) -> Iterator[Sequence[Example]]:
    """Yield all examples at once where their logits are few enough, else those of similar length together."""
    lengths = [len(each.prompt) + len(each.response) for each in examples]
    most = max(1, _MOST_LOGITS // (vocabulary * max(lengths)))
    if len(examples) > most:
        examples = [examples[place] for place in sorted(range(len(examples)), key=lengths.__getitem__)]
    for start in range(0, len(examples), most):
        yield examples[start : start + most]


def _padded(examples: Sequence[Example], padding: int) -> tuple[Tensor, Tensor]:
    """Return token ids and labels [examples, tokens]; prompts and padding carry no label.

    Padding is on the right, where no response token attends to it, so that no mask is needed.
    """
    longest = max(len(each.prompt) + len(each.response) for each in examples)
    input_ids = torch.full((len(examples), longest), padding)
    labels = torch.full((len(examples), longest), _IGNORED)
    for row, (prompt, response) in enumerate(examples):
        end = len(prompt) + len(response)
        input_ids[row, :end] = torch.tensor([*prompt, *response])
        labels[row, len(prompt) : end] = torch.tensor(response)
    return input_ids, labels


def _learning_rate_share(step: int, recipe: SupervisedRecipe) -> float:
    """Return the share of the peak rate (1): linear warm-up, then half a cosine down to the final share."""
    warm_up = min(1.0, step / recipe.warm_up_steps) if recipe.warm_up_steps else 1.0
    cosine = (1 + math.cos(math.pi * (step - 1) / recipe.num_steps)) / 2
    return warm_up * (_FINAL_LEARNING_RATE_SHARE + (1 - _FINAL_LEARNING_RATE_SHARE) * cosine)
