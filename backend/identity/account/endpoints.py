"""Routes for the caller's password, sessions and tokens, and for worker tokens."""

from __future__ import annotations

from fastapi import Request

from backend.identity.account import service
from backend.identity.auth import login as logins
from backend.identity.auth.browser import client_address
from backend.identity.auth.service import Visit
from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.permissions import AccountOwner, Administrator
from bapo.api.accounts import NewToken, PasswordChange, SessionPage, TokenCreate, TokenPage, WorkerTokenCreate

router = new_router("account")


@router.put("/me/password", status_code=204, summary="Change your password")
async def change_password(caller: AccountOwner, request: Request, context: ContextOf, body: PasswordChange) -> None:
    """Change the password. Needs the old one if set. Ends all other sessions and, if requested, revokes all tokens."""
    asker = logins.Asker(client_address(request, context.settings), Visit(0, "", None))
    await logins.change_password(context, body, caller, asker)


@router.get("/me/sessions", summary="List your sessions")
def list_sessions(caller: AccountOwner, session: DbSession) -> SessionPage:
    """List the caller's sessions, latest first."""
    return SessionPage(items=service.sessions(session, caller))


@router.delete("/me/sessions", status_code=204, summary="End all other sessions")
def end_other_sessions(caller: AccountOwner, context: ContextOf, session: DbSession) -> None:
    """End every session of the caller except the current one. Called with a token, it ends them all."""
    service.end_sessions(session, caller, but=caller.secret_hash)
    context.callers.forget_user(caller.id)


@router.delete("/me/sessions/{session_id}", status_code=204, summary="End a session")
def end_session(caller: AccountOwner, context: ContextOf, session: DbSession, session_id: str) -> None:
    """End one of the caller's sessions. Its cookie stops working at once."""
    service.end_sessions(session, caller, only=session_id)
    context.callers.forget_user(caller.id)


@router.get("/me/tokens", summary="List your tokens")
def list_tokens(caller: AccountOwner, session: DbSession) -> TokenPage:
    """List the caller's tokens without their secrets, newest first."""
    return TokenPage(items=service.tokens(session, "user", caller))


@router.post("/me/tokens", status_code=201, summary="Create a token")
def create_token(caller: AccountOwner, session: DbSession, body: TokenCreate) -> NewToken:
    """Create a token, which can never do more than its owner. Its secret is returned only in this response."""
    return service.create_token(session, "user", body.name, body.scopes, body.expires_in_days, caller)


@router.delete("/me/tokens/{token_id}", status_code=204, summary="Revoke a token")
def revoke_token(caller: AccountOwner, context: ContextOf, session: DbSession, token_id: str) -> None:
    """Revoke one of the caller's tokens. It stops working at once."""
    service.revoke_token(session, "user", token_id, caller)
    context.callers.forget_user(caller.id)


@router.get("/worker-tokens", summary="List worker tokens")
def list_worker_tokens(caller: Administrator, session: DbSession) -> TokenPage:
    """List the workers' tokens without their secrets, newest first, each with the workers registered with it."""
    return TokenPage(items=service.tokens(session, "worker", caller))


@router.post("/worker-tokens", status_code=201, summary="Create a worker token")
def create_worker_token(caller: Administrator, session: DbSession, body: WorkerTokenCreate) -> NewToken:
    """Create a token for `bapo worker --token`. The secret is returned only in this response."""
    return service.create_token(session, "worker", body.name, ("work",), body.expires_in_days, caller)


@router.delete("/worker-tokens/{token_id}", status_code=204, summary="Revoke a worker token")
def revoke_worker_token(caller: Administrator, context: ContextOf, session: DbSession, token_id: str) -> None:
    """Revoke a worker token: its workers are refused from now on. Other workers resume what they were training."""
    service.revoke_token(session, "worker", token_id, caller)
    context.callers.forget_user(token_id)
