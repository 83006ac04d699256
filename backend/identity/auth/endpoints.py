"""Routes to log in, log out and read one's own name and role."""

from __future__ import annotations

from fastapi import Request, Response

from backend.identity.auth import login as logins
from backend.identity.auth import repository, service
from backend.identity.auth.browser import asker_of, set_session_cookie
from backend.identity.auth.openid import flow
from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.errors import Problem
from backend.kit.permissions import Anybody, Reader
from bapo.api.accounts import LoggedOut, Login, PasswordSet, UserInfo
from bapo.client import SESSION_COOKIE

router = new_router("account")

_BAD_CODE = "this code or token is invalid, used or expired: get a new login link with `python -m backend login-code`"
_BAD_NAME = "wrong name or password: check both, or ask an administrator for a password link"
"""The same for unknown and for disabled users."""


@router.post("/auth/login", summary="Log in")
async def login(
    _: Anybody, request: Request, context: ContextOf, response: Response, body: Login | None = None
) -> UserInfo:
    """Log in with name and password, a one-time code or a token. Sets a new session cookie.

    A code works once and for a limited time. Too many failed attempts get 429 with `Retry-After`.
    """
    found = await logins.login(context, body or Login(), asker_of(request, context))
    if found is None:
        raise Problem(
            401,
            "login_refused",
            _BAD_NAME if body is not None and body.password is not None else _BAD_CODE,
        )
    info, secret = found
    set_session_cookie(response, context, secret)
    return info


@router.post("/auth/password", summary="Set a password with a one-time link")
async def set_password(
    _: Anybody, request: Request, context: ContextOf, response: Response, body: PasswordSet
) -> UserInfo:
    """Set a password, without the old one. Ends all sessions of the user and sets the cookie of a new one."""
    info, secret = await logins.set_password(context, body, asker_of(request, context))
    set_session_cookie(response, context, secret)
    return info


@router.post("/auth/logout", summary="Log out")
def logout(caller: Reader, context: ContextOf, session: DbSession, response: Response) -> LoggedOut:
    """End the current session. Tokens stay valid.

    After a login by single sign-on, the answer names the address at which the provider's session ends too.
    """
    id_token = repository.remove_session(session, caller.secret_hash)
    context.callers.forget(caller.secret_hash)
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="lax")
    return LoggedOut(provider_address=flow.logout_address(context, id_token))


@router.get("/me", summary="Get the current user")
def me(caller: Reader, session: DbSession) -> UserInfo:
    """Get the caller's name, role and projects."""
    return service.user_info(session, caller)
