"""How a run's prompts move between accuracies."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.api.difficulty import Flows, Migration, MigrationKind
from bapo.client.call import Call, Endpoint, get, run_path


class DifficultyCalls:
    """How a run's prompts move between accuracies."""

    @Endpoint
    def migration(
        self,
        run_id: str,
        kind: MigrationKind = "tracked",
        from_step: int | None = None,
        to_step: int | None = None,
    ) -> Call[Migration]:
        """Prompts by their accuracy at two steps, with unlock and loss rates and what chance alone gives."""
        return get(run_path(run_id, "migration"), Migration, kind=kind, from_step=from_step, to_step=to_step)

    @Endpoint
    def flows(self, run_id: str, kind: MigrationKind = "tracked", steps: Sequence[int] | None = None) -> Call[Flows]:
        """How many prompts went which way over some steps; four over the whole run where none are named."""
        named = None if steps is None else ",".join(map(str, steps))
        return get(run_path(run_id, "flows"), Flows, kind=kind, steps=named)
