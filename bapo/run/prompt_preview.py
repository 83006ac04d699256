"""The first prompts of a planned run, as its model gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bapo.config import RunConfig, parse_config
from bapo.config.paths import shipped_models
from bapo.pretrained.folders import folder_of
from bapo.tasks import Problem, problems_of
from bapo.tasks.base import Turn


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """A training problem with its prompt."""

    prompt_id: str
    data_source: str
    messages: list[Turn]
    """The prompt before the chat template."""
    prompt: str | None
    """The prompt in the model's chat template, or as plain text where the model has none; None without its model."""
    num_tokens: int | None
    answer: Mapping[str, Any]
    solution: str | None


@dataclass(frozen=True, slots=True)
class PromptPreviews:
    """The first problems of each data source."""

    items: list[PromptPreview]
    has_template: bool | None
    """False if the model's tokenizer has no chat template; None without the model."""


def is_model_here(path: str) -> bool:
    """Return whether this machine has the model that `model.path` names, without fetching it."""
    return path in shipped_models() or folder_of(path) is not None or (Path(path) / "config.json").is_file()


def prompt_previews(config: RunConfig, count: int, *, with_model: bool = True) -> PromptPreviews:
    """Return the first `count` training problems of each data source. Raises ConfigError."""
    problems = _some(problems_of(config.task).train, count)
    texts: Sequence[str | None] = [None] * len(problems)
    lengths: Sequence[int | None] = [None] * len(problems)
    has_template = None
    if with_model:
        # Imports PyTorch.
        from bapo.engines.local.policy import encode_problems, load_tokenizer, templated  # noqa: PLC0415

        tokenizer = load_tokenizer(config.model.path)
        texts = templated(tokenizer, problems)
        lengths = list(map(len, encode_problems(tokenizer, problems)))
        has_template = bool(tokenizer.chat_template)
    items = [
        PromptPreview(
            problem.prompt_id,
            problem.data_source,
            list(problem.messages),
            text,
            length,
            dict(problem.answer),
            problem.solution,
        )
        for problem, text, length in zip(problems, texts, lengths, strict=True)
    ]
    return PromptPreviews(items, has_template)


def previews_of(config: dict[str, Any], count: int, with_model: bool) -> PromptPreviews:
    """Return the previews of a complete config as JSON, as another process gets it. Raises ConfigError."""
    return prompt_previews(parse_config(config), count, with_model=with_model)


def _some(problems: Sequence[Problem], count: int) -> list[Problem]:
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        of_source = found.setdefault(problem.data_source, [])
        if len(of_source) < count:
            of_source.append(problem)
    return [problem for of_source in found.values() for problem in of_source]
