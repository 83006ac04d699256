"""Single answers of a language model to what a person writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from transformers.generation.streamers import BaseStreamer

from bapo.config import ConfigError, ConfigProblem
from bapo.engines.local.policy import LanguageModel, encode_problems
from bapo.tasks.base import Problem

SECONDS_BETWEEN_TEXTS = 0.5
"""Least time from one unfinished text to the next: each is decoded from its beginning."""


class Answer(NamedTuple):
    """An answer of a model, or its beginning."""

    text: str
    num_tokens: int
    is_cut: bool = False
    """True if it reached the length limit before its end token."""


def answer(
    language_model: LanguageModel,
    problem: Problem,
    *,
    max_tokens: int,
    temperature: float,
    seed: int = 0,
    on_text: Callable[[Answer], None] = lambda _: None,
) -> Answer:
    """Return the model's answer to a problem's prompt, cut at `max_tokens` or at the end of its context.

    Temperature 0 takes the likeliest token each time. `on_text` gets the beginning while the rest is generated. Raises
    ConfigError where the prompt fills the context.
    """
    model: Any = language_model.model
    (tokens,) = encode_problems(language_model.tokenizer, [problem])
    room = getattr(model.config, "max_position_embeddings", len(tokens) + max_tokens) - len(tokens)
    if room < 1:
        remedy = f"it has {len(tokens)} tokens, as many as the model's context or more: write less"
        raise ConfigError([ConfigProblem("prompt", f"{problem.prompt[:80]}…", remedy)])
    given = torch.tensor([tokens], device=model.device)
    sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
    torch.manual_seed(seed)
    written = model.generate(
        given,
        attention_mask=torch.ones_like(given),
        max_new_tokens=min(max_tokens, room),
        eos_token_id=list(language_model.eos_token_ids),
        pad_token_id=language_model.eos_token_ids[0],
        streamer=_Beginnings(language_model, on_text),
        **sampling,
    )
    response = written[0, len(tokens) :].tolist()
    is_cut = not response or response[-1] not in language_model.eos_token_ids
    return Answer(_decoded(language_model, response), len(response), is_cut)


class _Beginnings(BaseStreamer):
    """Hands on what has been generated so far."""

    def __init__(self, language_model: LanguageModel, on_text: Callable[[Answer], None]) -> None:
        self._language_model, self._on_text = language_model, on_text
        self._tokens: list[int] | None = None
        self._shown_at = time.monotonic()

    def put(self, value: torch.Tensor) -> None:
        if self._tokens is None:
            # The prompt comes first.
            self._tokens = []
            return
        self._tokens += value.flatten().tolist()
        if time.monotonic() - self._shown_at >= SECONDS_BETWEEN_TEXTS:
            self._on_text(Answer(_decoded(self._language_model, self._tokens), len(self._tokens)))
            self._shown_at = time.monotonic()

    def end(self) -> None:
        pass


def _decoded(language_model: LanguageModel, tokens: list[int]) -> str:
    return str(language_model.tokenizer.decode(tokens, skip_special_tokens=True))
