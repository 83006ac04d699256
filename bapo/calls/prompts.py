"""Training prompts of a run."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api import PromptPage, PromptSummary
from bapo.calls.base import Call, Endpoint, get, run_path


class PromptCalls:
    """Training prompts of a run."""

    @Endpoint
    def prompts(
        self, run_id: str, search: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> Call[PromptPage]:
        """Training prompts with their visits."""
        return get(run_path(run_id, "prompts"), PromptPage, search=search, cursor=cursor, limit=limit)

    @Endpoint
    def prompt(self, run_id: str, prompt_id: str) -> Call[PromptSummary]:
        """One training prompt with its visits."""
        return get(run_path(run_id, "prompts", quote(prompt_id, safe="")), PromptSummary)
