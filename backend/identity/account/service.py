"""Lists, creates and revokes sessions and tokens, with audit entries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.auth import repository as accounts
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem, not_found
from backend.kit.principal import Principal, hash_of, new_secret, visible_prefix
from backend.models import ApiToken
from bapo.api.accounts import NewToken, SessionInfo, TokenInfo

Kind = Literal["user", "worker"]
TOKEN_PREFIX: dict[Kind, str] = {"user": "bapo_", "worker": "bapo_w_"}
"""So that a leaked token can be found by what looks for secrets in code."""
MOST_TOKENS = 100


def sessions(session: Session, caller: Principal) -> list[SessionInfo]:
    """Return the caller's logins."""
    return [
        rendered(SessionInfo, row, is_current=row.secret_hash == caller.secret_hash)
        for row in accounts.sessions(session, caller.id)
    ]


def end_sessions(session: Session, caller: Principal, *, but: str | None = None, only: str | None = None) -> None:
    """End some of the caller's logins. Raises Problem 404 where the only one is not the caller's."""
    ended = accounts.end_sessions(session, caller.id, but=but, only=only)
    if only is not None and not ended:
        raise not_found("session", only)
    add_audit(session, None, caller.name, "sessions_ended", {"count": ended})


def tokens(session: Session, kind: Kind, caller: Principal) -> list[TokenInfo]:
    """Return the tokens of the caller, or of workers."""
    rows = accounts.tokens(session, kind, caller.id if kind == "user" else None)
    workers = accounts.workers_of(session, [token.id for token, _ in rows]) if kind == "worker" else {}
    return [_info(token, expired, caller, workers.get(token.id, ())) for token, expired in rows]


def _info(token: ApiToken, is_expired: bool, caller: Principal, workers: Sequence[str]) -> TokenInfo:
    is_current = token.secret_hash == caller.secret_hash
    return rendered(TokenInfo, token, is_expired=is_expired, is_current=is_current, workers=workers)


def create_token(
    session: Session, kind: Kind, name: str, scopes: Sequence[str], expires_in_days: int | None, caller: Principal
) -> NewToken:
    """Return a new token with its secret. Raises Problem 409 where a valid one has the name, or there are too many."""
    name = name.strip()
    valid = accounts.tokens(session, kind, caller.id if kind == "user" else None)
    if not name or any(token.name == name for token, _ in valid):
        remedy = "a valid token has this name: choose another name, or revoke that token first"
        raise Problem(409, "name_taken", remedy if name else "give the token a name", field="name", value=name)
    if len(valid) >= MOST_TOKENS:
        raise Problem(409, "too_many_tokens", f"there are {MOST_TOKENS} already: revoke unused ones")
    secret = TOKEN_PREFIX[kind] + new_secret()
    now = clock(session)
    token = ApiToken(
        secret_hash=hash_of(secret),
        name=name,
        kind=kind,
        user_id=caller.id if kind == "user" else None,
        created_at=now,
        scopes=list(dict.fromkeys(scopes)),
        prefix=visible_prefix(secret),
        expires_at=None if expires_in_days is None else now + timedelta(days=expires_in_days),
    )
    session.add(token)
    session.flush()
    # What is shown names the token, never its secret.
    detail = {"kind": kind, "name": name, "scopes": token.scopes, "expires_in_days": expires_in_days}
    add_audit(session, None, caller.name, "token_created", detail)
    return NewToken(**_info(token, False, caller, ()).model_dump(), secret=secret)


def revoke_token(session: Session, kind: Kind, token_id: str, caller: Principal) -> None:
    """End a token of the caller, or of workers. Raises Problem 404."""
    ended = accounts.revoke_tokens(session, kind, user_id=caller.id if kind == "user" else None, only=token_id)
    if not ended:
        raise not_found("token", token_id)
    add_audit(session, None, caller.name, "token_revoked", {"kind": kind, "name": ended[0].name})
