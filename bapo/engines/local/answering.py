"""Single answers of a language model to what a person writes."""

from __future__ import annotations

from typing import Any

import torch

from bapo.config import ConfigError, ConfigProblem
from bapo.engines.local.policy import LanguageModel, encode_problems
from bapo.tasks.base import Problem


def answer(language_model: LanguageModel, prompt: str, *, max_tokens: int, temperature: float) -> str:
    """Return the model's answer to a user message, cut at `max_tokens` or at the end of its context.

    Temperature 0 takes the likeliest token each time. Raises ConfigError where the message fills the context.
    """
    model: Any = language_model.model
    (tokens,) = encode_problems(language_model.tokenizer, [Problem(prompt, "chat", prompt, {})])
    room = getattr(model.config, "max_position_embeddings", len(tokens) + max_tokens) - len(tokens)
    if room < 1:
        remedy = f"it has {len(tokens)} tokens, as many as the model's context or more: write less"
        raise ConfigError([ConfigProblem("--prompt", f"{prompt[:80]}…", remedy)])
    given = torch.tensor([tokens], device=model.device)
    sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
    written = model.generate(
        given,
        attention_mask=torch.ones_like(given),
        max_new_tokens=min(max_tokens, room),
        eos_token_id=list(language_model.eos_token_ids),
        pad_token_id=language_model.eos_token_ids[0],
        **sampling,
    )
    return str(language_model.tokenizer.decode(written[0, len(tokens) :], skip_special_tokens=True))
