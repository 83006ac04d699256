"""Counts and times every request by its route's template."""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.kit import instruments
from backend.kit.middleware import OPEN_ENDED

UNKNOWN_ROUTE = "none"
"""Route of a request that no route took: its path is the caller's choice and would be a label without bound."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestMetrics:
    """Pure ASGI; the outermost but one, so that refusals are counted too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "other"
        begin = time.perf_counter()
        instruments.REQUESTS_IN_PROGRESS.inc()
        try:
            await self.app(scope, receive, noting)
        finally:
            instruments.REQUESTS_IN_PROGRESS.dec()
            route = route_of(scope)
            instruments.REQUESTS.labels(method, route, str(status)).inc()
            if not scope["path"].endswith(OPEN_ENDED):
                instruments.REQUEST_SECONDS.labels(method, route).observe(time.perf_counter() - begin)


def route_of(scope: Scope) -> str:
    """Return the template of the route that took the request, such as `/api/v1/runs/{run_id}`."""
    path: str = getattr(scope.get("route"), "path", UNKNOWN_ROUTE)
    return path
