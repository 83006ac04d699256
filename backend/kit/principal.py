"""The caller of a request, and the secrets that identify callers.

Secrets are 256 random bits, so that a plain SHA-256 of them is safe to store and quick to look up.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from bapo.api.accounts import Role, Scope

ALL_SCOPES: tuple[Scope, ...] = ("read", "write", "admin")
SYSTEM_NAME = "system"
"""Author of automatic actions; no user has this name."""


class Owned(Protocol):
    """Something in a project that has an owner."""

    project_id: str
    owner_id: str


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a request."""

    id: str
    """ID of the user, or of the workers' token."""
    name: str
    role: Role | Literal["worker"]
    """The most that the caller may do anywhere, with what it came with."""
    secret_hash: str
    memberships: Mapping[str, Role] | None
    """The caller's role by project; `None` if all projects are open to it."""
    scopes: frozenset[Scope] | None = None
    """Scopes of the token; `None` for a login."""

    @property
    def is_whole(self) -> bool:
        """True for a login, or for a token with all the rights of its owner."""
        return self.scopes is None or "admin" in self.scopes

    def sees(self, project_id: str | None) -> bool:
        """Return whether the project, and what is in it, exists for the caller."""
        return self.memberships is None or project_id in self.memberships

    def role_in(self, project_id: str) -> Role | None:
        """Return the caller's role in a project; None if the caller may not see it."""
        assert self.role != "worker", "a worker's token opens only the worker's routes"
        return self.role if self.memberships is None else self.memberships.get(project_id)

    def may_write_in(self, project_id: str) -> bool:
        """Return whether the caller may submit runs there."""
        return self.role_in(project_id) in ("member", "admin")

    def may_change(self, owned: Owned) -> bool:
        """Return whether the caller may change something of a project: its owner may, and administrators."""
        role = self.role_in(owned.project_id)
        return role == "admin" or (role == "member" and owned.owner_id == self.id)


def new_secret() -> str:
    """Return 256 random bits, fit for an address and a header."""
    return secrets.token_urlsafe(32)


def visible_prefix(secret: str) -> str:
    """Return the part of a secret that may be shown: 24 of its 256 bits."""
    return secret[: len(secret) - 39]


def hash_of(secret: str) -> str:
    """Return the stored hash of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
