"""The front door: which host may be named, what goes to the backend, who may see a page, what headers leave."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bapo.client import SESSION_COOKIE
from bapo.deploy.proxies import address_in, client_behind, is_among, is_own_origin, network_of
from bapo.deploy.service_log import about
from frontend.delivery.documents import DOCUMENTS_PREFIX, document_of
from frontend.delivery.files import plotly_address
from frontend.delivery.plain_page import unavailable
from frontend.delivery.reports import REPORTS_PREFIX, reports
from frontend.request.answers import malformed_call, problem, unreachable
from frontend.request.calls import CALL_PATH, CallError, check_call
from frontend.request.prefix import PREFIX, cookie_mark, inward, outward
from frontend.request.session import REQUEST_ID, REQUEST_ID_HEADER, SESSION, Api
from frontend.server.bodies import MAX_CALL_BYTES, BodyError, read_body, replayed
from frontend.server.live import LIVE_PREFIX, live
from frontend.server.login import HOME, SINGLE_SIGN_ON_PATH, login, login_url, logout, set_password
from frontend.server.proxy import ApiProxy, is_proxied, leads_elsewhere
from frontend.server.settings import FrontendSettings, host_name
from frontend.server.shared_boards import SHARED_PATH, shared_board
from frontend.server.single_sign_on import CALLBACK_PATH, come_back, leave

LOG = logging.getLogger(__name__)

REQUEST_ID_NAME = REQUEST_ID_HEADER.lower().encode()
_SWEEPS = re.compile(r"/sweeps(/\w+)?")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without the prefix too: who watches a service asks it directly."""
STATIC_PREFIXES = ("/assets/", "/_dash-component-suites/")
MOST_REQUESTS_OF_ADDRESS = 1_000
"""In progress at once, open streams and workers that wait among them: half of all connections, since a whole team or
cluster may share an address."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
WRONG_HOST = """This host name is not served here.
Open the dashboard by its own address, or add the name to BAPO_ALLOWED_HOSTS.
"""


def security_headers(script_hashes: Sequence[str], *, https: bool) -> list[tuple[bytes, bytes]]:
    """Return the headers of every page and asset of the dashboard; the backend sets those of its answers."""
    policy = "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *script_hashes)),
            # Mantine, AG Grid and Plotly write style attributes and elements.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "manifest-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )
    headers = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }
    if https:
        headers["strict-transport-security"] = "max-age=31536000"
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def request_id_of(scope: Scope) -> str:
    """Return the caller's request identifier if it is a legal one, or a new one."""
    given = next((value.decode("latin-1") for name, value in scope["headers"] if name == REQUEST_ID_NAME), "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


class Gate:
    """ASGI app in front of the dashboard and of the backend."""

    def __init__(
        self,
        pages: ASGIApp,
        static: ASGIApp,
        settings: FrontendSettings,
        script_hashes: Sequence[str],
        api: Api,
        shared_scripts: str,
        callbacks: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Create the gate.

        `shared_scripts`: address of the scripts of pages behind read-only links. `callbacks`: those of the pages.
        """
        self._callbacks = callbacks
        self._pages = pages
        self._static = static
        self._hosts = settings.host_names
        self._is_https = settings.is_https
        self._headers = security_headers(script_hashes, https=settings.is_https)
        self._api = api
        self._shared_scripts = shared_scripts
        # What pages behind read-only links load; it says nothing of anybody's data.
        self._open_files = frozenset({plotly_address(), shared_scripts})
        self._trusted = settings.proxy_networks
        self._public_url = settings.public_url
        self._prefix = settings.prefix
        self._has_warned = False
        self._in_progress: Counter[str] = Counter()
        self._proxy = ApiProxy(settings.backend_url, settings.body_seconds)
        self._loop: asyncio.AbstractEventLoop | None = None

    def end_streams(self) -> None:
        """End the browsers' event streams; callable from a signal handler."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._proxy.end_streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            self._loop = asyncio.get_running_loop()
            await self._pages(scope, receive, self._closing(send))
        elif scope["type"] == "websocket":
            # Neither the pages nor the API use WebSockets.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            request_id = request_id_of(scope)
            # The backend trusts the header, so replace any that the client sent.
            others = [(name, value) for name, value in scope["headers"] if name != REQUEST_ID_NAME]
            headers = [*others, (REQUEST_ID_NAME, request_id.encode())]
            scope = {**scope, "headers": headers, "client": self._client(scope)}
            token, prefix_token = REQUEST_ID.set(request_id), PREFIX.set(self._prefix)
            try:
                with about(request_id=request_id), self._counted(scope) as is_surplus:
                    named = self._named(send, request_id)
                    if is_surplus:
                        await _too_many()(scope, receive, self._guarded(named))
                    else:
                        await self._http(scope, receive, named)
            except Exception:
                LOG.exception("request failed", extra={"request_id": request_id, "path": scope["path"]})
                raise
            finally:
                REQUEST_ID.reset(token)
                PREFIX.reset(prefix_token)

    def _client(self, scope: Scope) -> tuple[str, int] | None:
        """Return the client's address, which limits by address, here and in the backend, take from the scope."""
        peer = scope.get("client")
        if peer is None:
            return None
        forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
        if self._is_https and forwarded and not self._has_warned and not is_among(address_in(peer[0]), self._trusted):
            self._has_warned = True
            LOG.warning(
                "a proxy that is not trusted names its clients: all of them count as one, whose failed logins keep "
                "everybody out; if it is yours, add its address to BAPO_TRUSTED_PROXIES",
                extra={"proxy": peer[0]},
            )
        return client_behind(peer[0], forwarded.decode("latin-1"), self._trusted), peer[1]

    @contextmanager
    def _counted(self, scope: Scope) -> Iterator[bool]:
        """Count a request of an address while it is in progress, and yield whether there are too many."""
        address = network_of(scope["client"][0]) if scope["client"] else ""
        self._in_progress[address] += 1
        try:
            yield self._in_progress[address] > MOST_REQUESTS_OF_ADDRESS
        finally:
            self._in_progress[address] -= 1
            if not self._in_progress[address]:
                del self._in_progress[address]

    def _named(self, send: Send, request_id: str) -> Send:
        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                if all(name.lower() != REQUEST_ID_NAME for name, _ in headers):
                    message = {**message, "headers": [*headers, (REQUEST_ID_NAME, request_id.encode())]}
            await send(message)

        return named

    def _closing(self, send: Send) -> Send:
        async def closing(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                # The server ends as soon as it hears of the end.
                await self._proxy.close()
                await self._api.close()
            await send(message)

        return closing

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            await PlainTextResponse(WRONG_HOST, status_code=421)(scope, receive, self._guarded(send))
            return
        mark = cookie_mark(urlsplit(self._public_url).netloc if self._public_url else hosts[0], self._prefix)
        inner = scope if scope["path"] in HEALTH_PATHS else inward(scope, self._prefix, mark)
        if inner is None:
            await self._outside(scope)(scope, receive, self._guarded(send))
        else:
            await self._room(inner, receive, outward(send, self._prefix, hosts[0], mark), hosts[0])

    def _outside(self, scope: Scope) -> Response:
        """Answer a request without the prefix: of a proxy that takes it off, or of a person without a proxy."""
        remedy = (
            f"BAPO is served under {self._public_url}: put {self._prefix} before the address; a proxy in front must "
            f"leave {self._prefix} in the addresses that it hands on (docs/deployment.md)"
        )
        if is_proxied(scope["path"]) or scope["method"] not in SAFE_METHODS:
            return problem(404, "wrong_prefix", remedy, field="path", value=scope["path"])
        return PlainTextResponse(f"There is nothing at {scope['path']}: {remedy}.\n", status_code=404)

    async def _room(self, scope: Scope, receive: Receive, send: Send, host: str) -> None:
        """Route a request to the app that answers it."""
        request, path, method = Request(scope, receive), scope["path"], scope["method"]
        if leads_elsewhere(scope):
            answer: ASGIApp = problem(404, "not_found", "an address has no . or .. in it: leave them out")
        elif is_proxied(path):
            await self._proxy(scope, receive, send)
            return
        elif method not in SAFE_METHODS and not self._is_same_origin(request, host):
            answer = problem(403, "wrong_origin", "send this request from a page of the dashboard itself")
        elif path == "/login":
            answer = await login(request, self._api)
        elif path == SINGLE_SIGN_ON_PATH and method == "GET":
            answer = await leave(request, self._api, is_https=self._is_https)
        elif path == CALLBACK_PATH and method == "GET":
            answer = await come_back(request, self._api)
        elif path == "/set-password":
            answer = await set_password(request, self._api)
        elif path == SHARED_PATH and method == "GET":
            answer = await shared_board(request, self._api, self._shared_scripts)
        elif path in self._open_files:
            answer = self._static
        elif path == "/logout" and method == "POST":
            answer = await logout(request, self._api)
        else:
            answer = partial(self._page, request)
        await answer(scope, receive, self._guarded(send))

    def _is_same_origin(self, request: Request, host: str) -> bool:
        """Return whether one of our own pages sends the request: only they may send one that acts."""
        return is_own_origin(request.headers.get("origin", ""), host, is_https=self._is_https)

    async def _page(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        if (answer := await self._instead(request)) is not None:
            await answer(scope, receive, send)
            return
        if scope["method"] not in SAFE_METHODS:
            try:
                body = await read_body(receive, MAX_CALL_BYTES)
                if scope["path"] == CALL_PATH:
                    check_call(body, self._callbacks)
            except BodyError as error:
                await problem(error.status, error.code, error.remedy)(scope, receive, send)
                return
            except CallError as error:
                await malformed_call(error)(scope, receive, send)
                return
            receive = replayed(body, receive)
            request = Request(scope, receive)
        token = SESSION.set(request.cookies[SESSION_COOKIE])
        try:
            if scope["path"].startswith(LIVE_PREFIX):
                await (await live(request, self._api))(scope, receive, send)
            elif scope["path"].startswith(REPORTS_PREFIX):
                address = self._public_url or str(request.base_url).rstrip("/")
                await (await reports(request, self._api, address))(scope, receive, send)
            elif scope["path"].startswith(DOCUMENTS_PREFIX):
                await document_of(request)(scope, receive, send)
            else:
                static = scope["path"].startswith(STATIC_PREFIXES)
                await (self._static if static else self._pages)(scope, receive, send)
        finally:
            SESSION.reset(token)

    async def _instead(self, request: Request) -> Response | None:
        """Return the answer to a request without a valid session, or for a page that has moved."""
        session = request.cookies.get(SESSION_COOKIE)
        try:
            known = session is not None and await self._api.is_valid(session)
        except httpx.TransportError:
            if _is_document(request):
                return unavailable()
            return unreachable()
        if not known:
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            if _is_document(request):
                return RedirectResponse(login_url(path), status_code=303)
            return problem(401, "unauthenticated", "your session has ended: log in again")
        address = _elsewhere(request.scope["path"])
        return None if address is None else RedirectResponse(address, status_code=303)

    def _guarded(self, send: Send) -> Send:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                extra = [*self._headers, (b"cache-control", b"no-store")]
                added = [
                    (name, value)
                    for name, value in extra
                    if name not in given and (name != b"cache-control" or b"etag" not in given)
                ]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        return guarded


def _too_many() -> Response:
    remedy = f"{MOST_REQUESTS_OF_ADDRESS} requests from this address are in progress: close pages or scripts"
    answer = problem(429, "too_many_requests", remedy)
    answer.headers["Retry-After"] = "10"
    return answer


def _elsewhere(path: str) -> str | None:
    """Return the new address of a page that has moved; None for any other."""
    if path == "/":
        return HOME
    sweep = _SWEEPS.fullmatch(path)
    return None if sweep is None else f"/studies{sweep[1] or ''}"


def _is_document(request: Request) -> bool:
    """Return whether the request opens a page, rather than being one that a page makes."""
    path = request.url.path
    return request.method in SAFE_METHODS and not path.startswith(
        (*STATIC_PREFIXES, LIVE_PREFIX, "/_dash", "/_favicon")
    )
