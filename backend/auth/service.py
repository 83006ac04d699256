"""Logins, and who a secret belongs to.

Secrets are 256 random bits, so that a plain SHA-256 of them is safe to store and quick to look up.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from backend.auth import repository
from backend.models import User
from bapo.api import UserInfo


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a request."""

    id: str
    """Of the user, or of the workers' token."""
    name: str
    role: Literal["viewer", "member", "admin", "worker"]
    secret_hash: str

    @property
    def info(self) -> UserInfo:
        """As the API shows it."""
        assert self.role != "worker", "a worker's token opens only the worker's routes"
        return UserInfo(id=self.id, name=self.name, role=self.role)


def new_secret() -> str:
    """256 random bits, fit for an address and a header."""
    return secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def authenticate(session: Session, secret: str) -> Principal | None:
    """Whose token or login this is."""
    secret_hash = hash_of(secret)
    token = repository.token(session, secret_hash)
    if token is not None and token.kind == "worker":
        return Principal(token.id, token.name, "worker", secret_hash)
    if token is not None and token.user_id is not None:
        user = repository.user(session, token.user_id)
    else:
        user = repository.session_user(session, secret_hash)
    return None if user is None else _principal(user, secret_hash)


def begin_session(
    session: Session, *, code: str | None, token: str | None, seconds: float
) -> tuple[Principal, str] | None:
    """Exchange a one-time code or a person's token for a login: who it is, and the new secret."""
    user: User | None = None
    if code is not None:
        user_id = repository.take_login_code(session, hash_of(code))
        user = None if user_id is None else repository.user(session, user_id)
    elif token is not None:
        stored = repository.token(session, hash_of(token))
        user = None if stored is None or stored.user_id is None else repository.user(session, stored.user_id)
    if user is None:
        return None
    secret = new_secret()
    repository.add_session(session, hash_of(secret), user.id, seconds)
    return _principal(user, hash_of(secret)), secret


def new_login_code(session: Session, user: User, seconds: float) -> str:
    """A code that logs this user in once."""
    code = new_secret()
    repository.add_login_code(session, hash_of(code), user.id, seconds)
    return code


def _principal(user: User, secret_hash: str) -> Principal:
    assert user.role in ("viewer", "member", "admin"), "the table's check constraint"
    return Principal(user.id, user.name, user.role, secret_hash)  # type: ignore[arg-type]
