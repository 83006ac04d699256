"""How a run's prompts move between accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from bapo.api.difficulty import Flows, Migration, MigrationKind
from bapo.client.call import InQuery, joined, route


class DifficultyCalls:
    """How a run's prompts move between accuracies."""

    @route("GET /runs/{run_id}/migration")
    def migration(
        self,
        run_id: str,
        kind: MigrationKind = "tracked",
        from_step: int | None = None,
        to_step: int | None = None,
    ) -> Migration:
        """Prompts by their accuracy at two steps, with unlock and loss rates and what chance alone gives."""

    @route("GET /runs/{run_id}/flows")
    def flows(
        self,
        run_id: str,
        kind: MigrationKind = "tracked",
        steps: Annotated[Sequence[int] | None, InQuery(text=joined)] = None,
    ) -> Flows:
        """How many prompts went which way over some steps; four over the whole run where none are named."""
