"""Caches for a moment who calls and which runs they may see, as a page sends many requests at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import anyio.to_thread
from sqlalchemy import select

from backend.kit.database import Database
from backend.kit.principal import Principal, hash_of
from backend.models import Run

REMEMBERED_SECONDS = 1.0
"""After a token was revoked or a user disabled by another process, it still works for so long."""
MOST_REMEMBERED = 10_000


class RecentCallers:
    """Remembers for a moment whose secret, by its hash, is good; a bad one is looked up every time.

    Safe to use from any thread.
    """

    def __init__(
        self,
        authenticate: Callable[[str], Principal | None],
        *,
        seconds: float = REMEMBERED_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authenticate = authenticate
        self._seconds = seconds
        self._clock = clock
        # By the hash: the secrets themselves are not kept.
        self._callers: dict[str, tuple[Principal, float]] = {}

    def known(self, secret: str) -> Principal | None:
        """Return the caller, where that is still remembered."""
        return self.known_by_hash(hash_of(secret))

    def known_by_hash(self, secret_hash: str) -> Principal | None:
        """Return the caller whose secret has this hash, where that is still remembered."""
        found = self._callers.get(secret_hash)
        return found[0] if found is not None and found[1] > self._clock() else None

    def authenticate(self, secret: str) -> Principal | None:
        """Look the caller up, and remember who it is."""
        return self.authenticate_hash(hash_of(secret))

    def authenticate_hash(self, secret_hash: str) -> Principal | None:
        """Look up whose secret has this hash, and remember it."""
        # Before the look-up: what changes meanwhile is not remembered for longer.
        until = self._clock() + self._seconds
        principal = self._authenticate(secret_hash)
        if principal is not None:
            if len(self._callers) >= MOST_REMEMBERED:
                self._callers.clear()
            self._callers[principal.secret_hash] = (principal, until)
        return principal

    def forget(self, secret_hash: str) -> None:
        """Look this one up again at its next request."""
        self._callers.pop(secret_hash, None)

    def forget_user(self, user_id: str) -> None:
        """Look up all sessions and tokens of this user again."""
        for secret_hash, (principal, _) in list(self._callers.items()):
            if principal.id == user_id:
                self._callers.pop(secret_hash, None)


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
