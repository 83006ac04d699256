"""The runs of a group, in the order in which they are compared."""

from __future__ import annotations

from bapo.api.compare import MOST_COMPARED
from bapo.api.runs import RunSummary
from bapo.client import AsyncClient
from bapo.methods.grpo import GrpoConfig


async def runs_of_group(client: AsyncClient, name: str) -> list[RunSummary]:
    """Return the newest runs that can be compared at once: GRPO first, the usual reference, then by age."""
    found = await client.runs(group=[name], sort="-created_at", limit=MOST_COMPARED)
    return sorted(found.items, key=lambda run: (run.method != GrpoConfig.type_name(), run.created_at))
