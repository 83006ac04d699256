"""Log in, log out, who am I."""

from __future__ import annotations

from fastapi import Response

from backend.auth import repository, service
from backend.context import ContextOf, DbSession, SettingsOf, new_router
from backend.errors import Problem
from backend.permissions import Anybody, Reader
from bapo.api import Login, UserInfo
from bapo.client import SESSION_COOKIE

router = new_router("account")


@router.post("/auth/login", summary="Log in with a one-time code or a token")
def login(
    _: Anybody, settings: SettingsOf, session: DbSession, response: Response, body: Login | None = None
) -> UserInfo:
    """Answers with the session cookie. A code works once and for a limited time."""
    given = body or Login()
    begun = service.begin_session(session, code=given.code, token=given.token, seconds=settings.session_seconds)
    if begun is None:
        raise Problem(
            401,
            "login_refused",
            "this code or token is not valid, used or expired: take a new login link (`python -m backend login-code`)",
        )
    principal, secret = begun
    response.set_cookie(
        SESSION_COOKIE,
        secret,
        max_age=int(settings.session_seconds),
        httponly=True,
        samesite="lax",
        secure=settings.public_url.startswith("https:"),
    )
    return service.user_info(session, principal)


@router.post("/auth/logout", status_code=204, summary="End this session")
def logout(caller: Reader, context: ContextOf, session: DbSession, response: Response) -> None:
    """The cookie and its secret are worthless afterwards; a token stays valid."""
    repository.remove_session(session, caller.secret_hash)
    context.callers.forget(caller.secret_hash)
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="lax")


@router.get("/me", summary="Who am I")
def me(caller: Reader, session: DbSession) -> UserInfo:
    """The caller's name, role and projects."""
    return service.user_info(session, caller)
