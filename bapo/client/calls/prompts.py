"""Training prompts of a run."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.prompts import PromptDetail, PromptFilter, PromptInRuns, PromptPage
from bapo.client.call import Call, Endpoint, get, route, run_path


class PromptCalls:
    """Training prompts of a run."""

    @Endpoint
    def prompts(
        self,
        run_id: str,
        search: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        offset: int | None = None,
        wanted: PromptFilter | None = None,
    ) -> Call[PromptPage]:
        """Training prompts with their visits; `wanted` says which and in which order."""
        given = {"search": search} | _given(wanted)
        return get(run_path(run_id, "prompts"), PromptPage, cursor=cursor, offset=offset, limit=limit, **given)

    @Endpoint
    def prompt(self, run_id: str, prompt_id: str, wanted: PromptFilter | None = None) -> Call[PromptDetail]:
        """One training prompt with its visits, and its neighbours in the list of the `wanted` prompts."""
        return get(run_path(run_id, "prompts", quote(prompt_id, safe="")), PromptDetail, **_given(wanted))

    @route("GET /prompts/{prompt_id}")
    def prompt_in_runs(self, prompt_id: str) -> PromptInRuns:
        """What the newest runs made of a prompt."""


def _given(wanted: PromptFilter | None) -> dict[str, object]:
    return {} if wanted is None else wanted.model_dump(mode="json", exclude_unset=True)
