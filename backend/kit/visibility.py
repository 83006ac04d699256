"""Decides which runs a caller may see."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread
from sqlalchemy import select

from backend.kit.database import Database
from backend.kit.principal import Principal
from backend.models import Run

MOST_KNOWN = 200_000


class Visibility:
    """Knows which project a run belongs to, which never changes. Safe to use from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._projects: dict[str, str] = {}

    async def sees(self, caller: Principal, run_id: str) -> bool:
        """Return whether the run exists for the caller; always true for callers who see all projects."""
        if caller.memberships is None:
            return True
        project_id = self._projects.get(run_id)
        if project_id is None:
            project_id = await anyio.to_thread.run_sync(self._look_up, run_id)
        return caller.sees(project_id)

    def known_to_see(self, caller: Principal, run_ids: Sequence[str]) -> bool:
        """Return whether all of these runs exist for the caller, as far as that is known without a query."""
        return caller.memberships is None or all(
            run_id in self._projects and caller.sees(self._projects[run_id]) for run_id in run_ids
        )

    def forget(self, run_id: str) -> None:
        """Drop a deleted run."""
        self._projects.pop(run_id, None)

    def _look_up(self, run_id: str) -> str | None:
        with self._database.session() as session:
            project_id = session.scalars(select(Run.project_id).where(Run.id == run_id)).one_or_none()
        if project_id is not None:
            if len(self._projects) >= MOST_KNOWN:
                self._projects.clear()
            self._projects[run_id] = project_id
        return project_id
