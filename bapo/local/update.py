"""One training step: mini-batches of whole groups, micro-batches of bounded size, statistics of what happened."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bapo.advantages import group_advantages, shaped_rewards
from bapo.config import RunConfig
from bapo.config.objective import LengthPenalty
from bapo.draws import generator
from bapo.engine import UpdateStats
from bapo.local.forward import response_logprobs
from bapo.local.payload import GroupPayload
from bapo.losses import LossInputs, LossOutput, policy_loss, token_weights
from bapo.records import RATIO_BIN_EDGES
from bapo.rollout import BatchSource


@dataclass(frozen=True, slots=True)
class TrainingGroup:
    """A group of the training batch."""

    payload: GroupPayload
    source: BatchSource
    advantages: tuple[float, ...]
    """Â of each response."""

    @property
    def num_tokens(self) -> int:
        """Response tokens."""
        return sum(self.payload.sampled.lengths)


def training_group(
    payload: GroupPayload,
    source: BatchSource,
    advantages: tuple[float, ...] | None = None,
    *,
    shaping: LengthPenalty | None = None,
) -> TrainingGroup:
    """The group with these advantages, or with those relative to itself (Eq. 2), of its rewards as shaped."""
    if advantages is not None:
        return TrainingGroup(payload, source, advantages)
    rewards = shaped_rewards(payload.rewards, payload.sampled.lengths, shaping)
    relative = group_advantages(torch.tensor([rewards], dtype=torch.float32))
    return TrainingGroup(payload, source, tuple(relative[0].tolist()))


def mini_batches(
    num_groups: int, mini_batch_size: int | None, *, seed: int, step: int, passes: int = 1
) -> list[list[int]]:
    """Positions of the groups of each optimizer step: ⌈n / size⌉ mini-batches whose sizes differ by at most 1.

    Where there are several, the groups are shuffled, so that X1, X2 and X3 are spread over them; each pass has an
    order of its own.
    """
    return [batch for index in range(passes) for batch in _one_pass(num_groups, mini_batch_size, seed, step, index)]


def _one_pass(num_groups: int, mini_batch_size: int | None, seed: int, step: int, index: int) -> list[list[int]]:
    count = math.ceil(num_groups / (mini_batch_size or num_groups))
    order = list(range(num_groups))
    if count > 1:
        generator(seed, step, f"mini_batches:{index}" if index else "mini_batches").shuffle(order)
    return [sorted(order[i * num_groups // count : (i + 1) * num_groups // count]) for i in range(count)]


class Updater:
    """The optimizer of one model."""

    def __init__(self, model: PreTrainedModel, config: RunConfig) -> None:
        self._model = model
        self._config = config
        self._objective = config.objective
        training = config.training
        self._parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self._optimizer = torch.optim.AdamW(
            self._parameters.values(), lr=training.learning_rate, weight_decay=training.weight_decay, fused=True
        )

    def state(self) -> dict[str, Tensor]:
        """The optimizer's state as tensors, named by parameter; empty before the first step."""
        return {
            f"{name}:{key}": value
            for name, parameter in self._parameters.items()
            for key, value in self._optimizer.state[parameter].items()
        }

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `state` gave."""
        states: dict[int, dict[str, Tensor]] = {}
        for index, name in enumerate(self._parameters):
            prefix = f"{name}:"
            found = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            if found:
                states[index] = found
        self._optimizer.load_state_dict({**self._optimizer.state_dict(), "state": states})

    def update(self, groups: Sequence[TrainingGroup], *, step: int, passes: int = 1) -> UpdateStats:
        """Train on the groups, on all of them `passes` times. Raises ValueError where there are none."""
        if not groups:
            raise ValueError("the training batch is empty: a step without groups makes no update")
        training = self._config.training
        batches = [
            [groups[position] for position in positions]
            for positions in mini_batches(
                len(groups), training.mini_batch_size, seed=training.seed, step=step, passes=passes
            )
        ]
        tally = _Tally()
        # The first mini-batch's own forward pass is one before the update; the others need one of their own.
        for batch in batches[1 : len(batches) // passes]:
            for micro_batch in self._micro_batches(batch):
                with torch.no_grad():
                    logprobs, _ = self._forward(micro_batch, entropy_gradient=False)
                tally.add_before(micro_batch, logprobs)
        for index, batch in enumerate(batches):
            self._train(batch, tally, is_first=index == 0)
        return tally.stats(num_mini_batches=len(batches), num_groups_skipped=self._num_skipped(groups))

    def _train(self, batch: Sequence[TrainingGroup], tally: _Tally, *, is_first: bool) -> None:
        """One optimizer step on a mini-batch."""
        # Zeros instead of no gradient: where all groups are skipped, Adam moves by its momentum as it would have.
        for parameter in self._parameters.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            else:
                parameter.grad.zero_()
        loss = 0.0
        num_tokens = sum(group.num_tokens for group in batch)
        num_responses = sum(len(group.advantages) for group in batch)
        for micro_batch in self._micro_batches(batch):
            logprobs, entropies = self._forward(micro_batch, entropy_gradient=self._objective.entropy_coefficient > 0)
            if is_first:
                tally.add_before(micro_batch, logprobs.detach())
            lengths = [length for group in micro_batch for length in group.payload.sampled.lengths]
            weights = token_weights(
                lengths, self._objective.aggregation, num_tokens=num_tokens, num_responses=num_responses
            )
            inputs = LossInputs(
                policy_logprobs=logprobs,
                rollout_logprobs=_rollout_logprobs(micro_batch).to(logprobs.device),
                advantages=_token_advantages(micro_batch).to(logprobs.device),
                entropies=entropies,
                weights=weights.to(logprobs.device),
                lengths=lengths,
            )
            output = policy_loss(inputs, self._objective)
            output.loss.backward()  # type: ignore[no-untyped-call]
            loss += output.loss.item()
            tally.add_trained(output, entropies.detach())
        norm = torch.nn.utils.clip_grad_norm_(self._parameters.values(), self._config.training.max_grad_norm)
        self._optimizer.step()
        tally.add_step(loss, norm.item())

    def _forward(self, groups: Sequence[TrainingGroup], *, entropy_gradient: bool) -> tuple[Tensor, Tensor]:
        return response_logprobs(
            self._model,
            [group.payload for group in groups],
            temperature=self._config.rollout.temperature,
            entropy_gradient=entropy_gradient,
        )

    def _micro_batches(self, batch: Sequence[TrainingGroup]) -> Iterator[list[TrainingGroup]]:
        """Groups with a gradient, with prompts of equal length, as many as `training.micro_batch_tokens` allows."""
        trained = sorted(
            (group for group in batch if self._has_gradient(group)), key=lambda group: len(group.payload.prompt)
        )
        for prompt_length, same_length in groupby(trained, key=lambda group: len(group.payload.prompt)):
            micro_batch: list[TrainingGroup] = []
            num_tokens = 0
            for group in same_length:
                size = prompt_length + group.num_tokens
                if micro_batch and num_tokens + size > self._config.training.micro_batch_tokens:
                    yield micro_batch
                    micro_batch, num_tokens = [], 0
                micro_batch.append(group)
                num_tokens += size
            yield micro_batch

    def _has_gradient(self, group: TrainingGroup) -> bool:
        """Without advantages, KL penalty and entropy bonus, the loss of a group is constant."""
        objective = self._objective
        return bool(any(group.advantages) or objective.kl_coefficient or objective.entropy_coefficient)

    def _num_skipped(self, groups: Sequence[TrainingGroup]) -> int:
        return sum(not self._has_gradient(group) for group in groups)


def _rollout_logprobs(groups: Sequence[TrainingGroup]) -> Tensor:
    return torch.cat([group.payload.sampled.logprobs for group in groups])


def _token_advantages(groups: Sequence[TrainingGroup]) -> Tensor:
    """Each response's advantage at each of its tokens."""
    advantages = torch.tensor([advantage for group in groups for advantage in group.advantages])
    lengths = torch.tensor([length for group in groups for length in group.payload.sampled.lengths])
    return advantages.repeat_interleave(lengths)


@dataclass(slots=True)
class _Tally:
    """Collects per-token values over a step; everything on the CPU."""

    losses: list[float] = field(default_factory=list)
    grad_norms: list[float] = field(default_factory=list)
    ratios: list[Tensor] = field(default_factory=list)
    kl: list[Tensor] = field(default_factory=list)
    is_clipped: list[Tensor] = field(default_factory=list)
    entropies: list[Tensor] = field(default_factory=list)
    token_distances: dict[BatchSource, list[Tensor]] = field(default_factory=dict)
    sequence_distances: dict[BatchSource, list[Tensor]] = field(default_factory=dict)

    def add_before(self, groups: Sequence[TrainingGroup], logprobs: Tensor) -> None:
        """|ρ - 1| of tokens and of whole responses before the update."""
        log_ratios = logprobs.cpu() - _rollout_logprobs(groups)
        for group, part in zip(groups, torch.split(log_ratios, [group.num_tokens for group in groups]), strict=True):
            sums = torch.stack([each.sum() for each in torch.split(part, list(group.payload.sampled.lengths))])
            for distances, values in ((self.token_distances, part), (self.sequence_distances, sums)):
                distances.setdefault(group.source, []).append(values.clamp(-20, 20).expm1().abs())

    def add_trained(self, output: LossOutput, entropies: Tensor) -> None:
        """The tokens of one forward and backward pass."""
        self.ratios.append(output.ratios.cpu())
        self.kl.append(output.kl.cpu())
        self.is_clipped.append(output.is_clipped.cpu())
        self.entropies.append(entropies.cpu())

    def add_step(self, loss: float, grad_norm: float) -> None:
        """One optimizer step."""
        self.losses.append(loss)
        self.grad_norms.append(grad_norm)

    def stats(self, *, num_mini_batches: int, num_groups_skipped: int) -> UpdateStats:
        """Means over the tokens trained on. Where all groups were skipped: no deviation, ratio 1."""
        ratios = torch.cat(self.ratios) if self.ratios else torch.empty(0)
        bins = torch.bucketize(ratios, torch.tensor(RATIO_BIN_EDGES), right=True)
        return UpdateStats(
            loss=sum(self.losses) / num_mini_batches,
            entropy=_mean(self.entropies),
            grad_norm=sum(self.grad_norms) / num_mini_batches,
            kl=_mean(self.kl),
            clip_fraction=_mean(self.is_clipped),
            ratio_mean=float(ratios.mean()) if len(ratios) else 1.0,
            ratio_max=float(ratios.max()) if len(ratios) else 1.0,
            ratio_histogram=torch.bincount(bins, minlength=len(RATIO_BIN_EDGES) + 1).tolist(),
            num_mini_batches=num_mini_batches,
            num_tokens=len(ratios),
            num_groups_skipped=num_groups_skipped,
            tv_tokens=_half_means(self.token_distances),
            tv_sequences=_half_means(self.sequence_distances),
        )


def _mean(parts: Sequence[Tensor]) -> float:
    return float(torch.cat(list(parts)).double().mean()) if parts else 0.0


def _half_means(distances: Mapping[BatchSource, Sequence[Tensor]]) -> dict[BatchSource, float]:
    return {source: _mean(distances[source]) / 2 for source in BatchSource if source in distances}
