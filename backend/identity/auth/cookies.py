"""The session cookie, and what is known of the browser that asks for one."""

from __future__ import annotations

from fastapi import Request, Response

from backend.identity.auth import login as logins
from backend.identity.auth.address import client_address
from backend.identity.auth.service import Visit
from backend.kit.context import Context
from bapo.client import SESSION_COOKIE

MAX_USER_AGENT = 300


def asker_of(request: Request, context: Context) -> logins.Asker:
    """Return the browser that logs in, and the session that it had before."""
    visit = Visit(
        context.settings.session_seconds,
        request.headers.get("user-agent", "")[:MAX_USER_AGENT].replace("\x00", ""),
        request.cookies.get(SESSION_COOKIE),
    )
    return logins.Asker(client_address(request, context.settings), visit)


def set_session_cookie(response: Response, context: Context, secret: str) -> None:
    """Give the browser its new session."""
    response.set_cookie(
        SESSION_COOKIE,
        secret,
        max_age=int(context.settings.session_seconds),
        httponly=True,
        samesite="lax",
        secure=context.settings.public_url.startswith("https:"),
    )
