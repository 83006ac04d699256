"""Password, sessions and tokens of the caller; the workers' tokens."""

from __future__ import annotations

from fastapi import Request

from backend.account import service
from backend.auth import login as logins
from backend.auth.address import client_address
from backend.auth.service import Visit
from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.permissions import AccountOwner, Administrator
from bapo.api.accounts import NewToken, PasswordChange, SessionPage, TokenCreate, TokenPage, WorkerTokenCreate

router = new_router("account")


@router.put("/me/password", status_code=204, summary="Change one's own password")
async def change_password(caller: AccountOwner, request: Request, context: ContextOf, body: PasswordChange) -> None:
    """Asks for the old one where there is one. All other sessions end, and the tokens where asked for."""
    asker = logins.Asker(client_address(request, context.settings), Visit(0, "", None))
    await logins.change_password(context, body, caller, asker)


@router.get("/me/sessions", summary="One's own logins")
def list_sessions(caller: AccountOwner, session: DbSession) -> SessionPage:
    """The latest first."""
    return SessionPage(items=service.sessions(session, caller))


@router.delete("/me/sessions", status_code=204, summary="End all of one's other logins")
def end_other_sessions(caller: AccountOwner, context: ContextOf, session: DbSession) -> None:
    """Whoever came with a token ends all."""
    service.end_sessions(session, caller, but=caller.secret_hash)
    context.callers.forget_user(caller.id)


@router.delete("/me/sessions/{session_id}", status_code=204, summary="End one of one's own logins")
def end_session(caller: AccountOwner, context: ContextOf, session: DbSession, session_id: str) -> None:
    """Its cookie is worthless afterwards."""
    service.end_sessions(session, caller, only=session_id)
    context.callers.forget_user(caller.id)


@router.get("/me/tokens", summary="One's own tokens")
def list_tokens(caller: AccountOwner, session: DbSession) -> TokenPage:
    """Without their secrets, the newest first."""
    return TokenPage(items=service.tokens(session, "user", caller))


@router.post("/me/tokens", status_code=201, summary="Make a token")
def create_token(caller: AccountOwner, session: DbSession, body: TokenCreate) -> NewToken:
    """It never may do more than its owner. The answer alone holds the secret."""
    return service.create_token(session, "user", body.name, body.scopes, body.expires_in_days, caller)


@router.delete("/me/tokens/{token_id}", status_code=204, summary="End one of one's own tokens")
def revoke_token(caller: AccountOwner, context: ContextOf, session: DbSession, token_id: str) -> None:
    """At once."""
    service.revoke_token(session, "user", token_id, caller)
    context.callers.forget_user(caller.id)


@router.get("/worker-tokens", summary="The workers' tokens")
def list_worker_tokens(caller: Administrator, session: DbSession) -> TokenPage:
    """Without their secrets, the newest first, each with the workers that registered with it."""
    return TokenPage(items=service.tokens(session, "worker", caller))


@router.post("/worker-tokens", status_code=201, summary="Make a token for workers")
def create_worker_token(caller: Administrator, session: DbSession, body: WorkerTokenCreate) -> NewToken:
    """For `bapo worker --token`. The answer alone holds the secret."""
    return service.create_token(session, "worker", body.name, ("work",), body.expires_in_days, caller)


@router.delete("/worker-tokens/{token_id}", status_code=204, summary="End a workers' token")
def revoke_worker_token(caller: Administrator, context: ContextOf, session: DbSession, token_id: str) -> None:
    """Its workers are refused from now on; what they trained is continued by others."""
    service.revoke_token(session, "worker", token_id, caller)
    context.callers.forget_user(token_id)
