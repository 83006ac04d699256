"""The server about itself: whether it is alive, whether it is ready, and what it can do."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from backend.kit.context import ContextOf, new_router
from backend.kit.permissions import Anybody, Reader
from backend.openapi import reference
from backend.openapi.description import describe
from backend.ops.readiness import readiness
from bapo import __version__
from bapo.api.service import Readiness

health_router = new_router("service")
description_router = new_router("service")


@health_router.get("/healthz", summary="Whether the server is alive")
def health(_: Anybody) -> dict[str, str]:
    """Answers without a login and asks nobody: who restarts servers that do not answer asks here."""
    return {"status": "ok", "version": __version__}


@health_router.get("/readyz", summary="Whether the server can do its work", responses={503: {"model": Readiness}})
def ready(_: Anybody, context: ContextOf, response: Response) -> Readiness:
    """Database, schema, broker and dispatcher, without a login; 503 while one of them is not ready, and which."""
    found = context.readiness.get(lambda: readiness(context.database, context.dispatcher))
    if not found.ready:
        response.status_code = 503
    return found


@description_router.get("/openapi.json", summary="This description", include_in_schema=False)
def openapi(_: Reader, request: Request) -> dict[str, Any]:
    """OpenAPI 3.1."""
    return describe(request.app)


@description_router.get("/docs", summary="This description, to be read", include_in_schema=False)
def reference_page(_: Reader, request: Request) -> HTMLResponse:
    """Every operation with its fields, refusals and examples; without scripts."""
    headers = {"Content-Security-Policy": reference.POLICY, "Referrer-Policy": "same-origin"}
    return HTMLResponse(reference.page(describe(request.app)), headers=headers)
