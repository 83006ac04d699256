"""The browser that logs in: its address, and the cookie of its session."""

from __future__ import annotations

from fastapi import Request, Response

from backend.identity.auth import login as logins
from backend.identity.auth.service import Visit
from backend.kit.context import Context
from backend.settings.environment import Settings
from bapo.client import SESSION_COOKIE
from bapo.deploy.proxies import address_in, is_among

UNKNOWN = "unknown"


def client_address(request: Request, settings: Settings) -> str:
    """Return the address that a request came from; behind a dashboard the one that the dashboard names last.

    Which proxies are believed is the dashboard's to decide: it names one address.
    """
    peer = UNKNOWN if request.client is None else request.client.host
    address = address_in(peer)
    if address is None:
        return peer
    named = address_in(request.headers.get("x-forwarded-for", "").rsplit(",", 1)[-1])
    is_trusted = address.is_loopback or is_among(address, settings.proxy_networks)
    return str(named if named is not None and is_trusted else address)


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
