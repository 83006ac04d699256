"""Caches authenticated callers for a moment, as a page sends many requests at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from backend.kit.principal import Principal, hash_of

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
