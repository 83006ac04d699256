"""Middleware that every request passes: request IDs, hosts and origins, authentication, body limits. Pure ASGI."""

from __future__ import annotations

import logging
import re
import time
import uuid
from functools import partial
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.kit.callers import RecentCallers
from backend.kit.errors import DATABASE_AWAY, Problem, problem_response
from backend.kit.principal import Principal
from bapo.client import SESSION_COOKIE
from bapo.deploy.proxies import is_own_origin
from bapo.deploy.service_log import about, bind

LOG = logging.getLogger(__name__)

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset(
    {
        *("/healthz", "/readyz", "/metrics"),
        *("/api/v1/auth/login", "/api/v1/auth/password", "/api/v1/auth/methods"),
        *("/api/v1/auth/single-sign-on", "/api/v1/auth/single-sign-on/return"),
        *("/api/v1/shared-board", "/api/v1/shared-board/panel"),
    }
)
"""Reached without a login: the health checks, the metrics, which have a token of their own, the logins, which take
theirs in their bodies, and boards behind read-only links, whose secret is in the query, which no log holds."""

MAX_BODY_BYTES = 2_000_000
MAX_BATCH_BYTES = 64_000_000
"""Maximum size of a batch of journal lines."""
MAX_PIECE_BYTES = 16_000_000
"""Maximum size of a piece of a packed artifact, or of an upload."""
SLOW_SECONDS = 1.0
OPEN_ENDED = ("/events", "/workers/deliveries")
"""Ends of addresses whose requests last until something happens: their time says nothing about the server."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RequestContext:
    """Gives the request an identifier, logs failures and turns exceptions into an answer that names it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("X-Request-ID", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                headers["X-Content-Type-Options"] = "nosniff"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        begin = time.perf_counter()
        with about(request_id=request_id):
            try:
                await self.app(scope, receive, send_with_headers)
            except Problem as problem:
                await problem_response(problem, request_id)(scope, receive, send_with_headers)
            except Exception:
                facts = {"request_id": request_id, "path": scope["path"], **subjects(scope)}
                LOG.exception("request failed", extra=facts)
                if status:
                    raise
                failure = Problem(500, "internal_error", "the server failed: try again, or report the request ID")
                await problem_response(failure, request_id)(scope, receive, send_with_headers)
            _note(scope, status, time.perf_counter() - begin)


def _note(scope: Scope, status: int, seconds: float) -> None:
    """Log changes and slow requests; metrics count the rest."""
    facts = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": round(seconds, 3)}
    facts |= {"request_id": scope["state"]["request_id"], **subjects(scope)}
    principal = scope["state"].get("principal")
    if seconds > SLOW_SECONDS and not scope["path"].endswith(OPEN_ENDED):
        LOG.warning("slow request", extra=facts)
    elif scope["method"] not in SAFE_METHODS and principal is not None and principal.role != "worker":
        LOG.info("request", extra=facts)
    else:
        LOG.debug("request", extra=facts)


def subjects(scope: Scope) -> dict[str, str]:
    """Return the caller of a request and the run it is about, for the log."""
    found = {}
    principal = scope["state"].get("principal")
    if principal is not None:
        found["user_id"] = principal.id
    run_id = (scope.get("path_params") or {}).get("run_id")
    if run_id is not None:
        found["run_id"] = str(run_id)
    return found


class HostGuard:
    """Refuses hosts and origins that are not ours: DNS rebinding and cross-site requests end here."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], origins: frozenset[str]) -> None:
        self.app = app
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if _host_name(headers.get("host", "")) not in self._hosts:
                remedy = "this server does not serve that host: add it to BAPO_ALLOWED_HOSTS"
                raise Problem(421, "unknown_host", remedy, field="Host", value=headers.get("host"))
            origin = headers.get("origin")
            if scope["method"] not in SAFE_METHODS and origin is not None and not self.is_own(origin, headers):
                remedy = "changes are accepted from this server's own pages only: open them at BAPO_PUBLIC_URL"
                raise Problem(403, "foreign_origin", remedy, field="Origin", value=origin)
        await self.app(scope, receive, send)

    def is_own(self, origin: str, headers: Headers) -> bool:
        """Return whether the origin is one of ours: the public address, or the one that the page was loaded from."""
        # The host has passed the allow-list above, so that an origin that equals it is no stranger.
        is_https = any(each.startswith("https:") for each in self._origins)
        return origin.lower() in self._origins or is_own_origin(origin, headers.get("host", ""), is_https=is_https)


def _host_name(authority: str) -> str | None:
    try:
        return urlsplit(f"//{authority}").hostname
    except ValueError:
        return None


class Authentication:
    """Finds out who is asking. Without credentials nothing but `OPEN_PATHS` is reached, not even a 404."""

    def __init__(self, app: ASGIApp, callers: RecentCallers) -> None:
        self.app = app
        self._callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            principal = await self._principal(Request(scope))
            scope["state"]["principal"] = principal
            bind(user_id=None if principal is None else principal.id)
        await self.app(scope, receive, send)

    async def _principal(self, request: Request) -> Principal | None:
        if request.url.path in OPEN_PATHS:
            return None
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        cookie = request.cookies.get(SESSION_COOKIE)
        by_cookie = scheme.lower() != "bearer"
        secret = cookie if by_cookie else bearer.strip()
        try:
            principal = await self._caller(secret) if secret else None
        except (OperationalError, InterfaceError) as error:
            LOG.warning("the database failed", extra={"cause": str(error.orig).strip()})
            raise DATABASE_AWAY from None
        if principal is None:
            remedy = "log in, or send `Authorization: Bearer TOKEN` with a valid token"
            raise Problem(401, "not_authenticated", remedy, headers={"WWW-Authenticate": "Bearer"})
        if by_cookie and request.method not in SAFE_METHODS and "origin" not in request.headers:
            remedy = "a change authorised by the session cookie needs the Origin header"
            raise Problem(403, "missing_origin", remedy, field="Origin")
        return principal

    async def _caller(self, secret: str) -> Principal | None:
        known = self._callers.known(secret)
        return known or await anyio.to_thread.run_sync(partial(self._callers.authenticate, secret))


class BodyLimit:
    """Refuses bodies that are too large, by their announced length or as they come in, and those that never end."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        """Limit the time to receive a body to `seconds`."""
        self.app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = _limit_of(scope["path"])
        too_large = Problem(
            413, "too_large", f"the body is larger than {limit} bytes: send less at a time", field="body"
        )
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdecimal() or int(announced) > limit:
            raise too_large
        received = 0
        is_complete = False
        deadline = anyio.current_time() + self._seconds

        async def limited() -> Message:
            nonlocal received, is_complete
            if is_complete:
                # Receives the client's disconnect, which may be long after.
                return await receive()
            try:
                with anyio.fail_after(max(0.0, deadline - anyio.current_time())):
                    message = await receive()
            except TimeoutError:
                remedy = f"the body was not received within {self._seconds:g} s: send less at a time"
                raise Problem(408, "too_slow", remedy, field="body", headers={"Connection": "close"}) from None
            is_complete = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > limit:
                raise too_large
            return message

        await self.app(scope, limited, send)


def _limit_of(path: str) -> int:
    if path.endswith("/records"):
        return MAX_BATCH_BYTES
    is_piece = path.startswith(("/api/v1/workers/artifacts/", "/api/v1/uploads/")) and path.endswith("/content")
    return MAX_PIECE_BYTES if is_piece else MAX_BODY_BYTES
