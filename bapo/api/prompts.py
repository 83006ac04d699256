"""Training prompts over a whole run."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.api.base import Body, Page


class PromptSummary(Body):
    """One training prompt over the whole run."""

    prompt_id: str
    num_visits: int
    first_accuracy: float
    last_accuracy: float
    last_step: int
    steps: Sequence[int]
    num_correct: Sequence[int]
    sources: Sequence[str]


class PromptPage(Page):
    """Prompts, by identifier."""

    items: Sequence[PromptSummary]
