"""Responses as the `rollout` and `engine` sections ask for them."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bapo.config.engine import EngineConfig
from bapo.config.sections import RolloutConfig
from bapo.engines.local.autocast import forward_passes
from bapo.engines.local.decoding import Prefix
from bapo.engines.local.repetition import RepetitionStop
from bapo.engines.local.sampling import SampledGroup, draw_uniforms, sample_segments


class Sampler:
    """Samples from any model of the run, with its weights in the format of `engine.rollout_weights`."""

    def __init__(
        self, engine: EngineConfig, rollout: RolloutConfig, device: torch.device, eos_token_ids: Sequence[int]
    ) -> None:
        self._engine = engine
        self._rollout = rollout
        self._device = device
        self._eos_token_ids = eos_token_ids
        self._rounded_model: PreTrainedModel | None = None
        repeated = rollout.repetition_tokens
        self.repetition_stop = None if repeated is None else RepetitionStop(repeated, rollout.repetition_count)

    def uniforms(self, seed: int, num_responses: int) -> Tensor:
        """Return a number from [0, 1) for each token of the responses."""
        generator = torch.Generator().manual_seed(seed)
        return draw_uniforms(num_responses, self._rollout.max_response_tokens, generator)

    def sample(
        self,
        model: PreTrainedModel,
        prefixes: Sequence[Prefix],
        uniforms: Tensor,
        *,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
    ) -> list[SampledGroup]:
        """Return a group for each prefix; without a temperature or limit, by those of the `rollout` section."""
        with forward_passes(self._engine, self._device):
            return sample_segments(
                self._rounded(model),
                prefixes,
                uniforms,
                max_new_tokens=max_new_tokens or self._rollout.max_response_tokens,
                temperature=self._rollout.temperature if temperature is None else temperature,
                top_p=self._rollout.top_p,
                top_k=self._rollout.top_k,
                eos_token_ids=self._eos_token_ids,
                repetition_stop=self.repetition_stop,
            )

    def _rounded(self, model: PreTrainedModel) -> PreTrainedModel:
        if self._engine.rollout_weights == "float32":
            return model
        if self._rounded_model is None:
            self._rounded_model = copy.deepcopy(model).bfloat16()
        else:
            self._rounded_model.load_state_dict(model.state_dict())
        return self._rounded_model
