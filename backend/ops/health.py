"""Health checks: whether the server is alive, and whether it is ready."""

from __future__ import annotations

from fastapi import Response

from backend.dispatch.dispatcher import Dispatcher
from backend.kit.context import ContextOf, new_router
from backend.kit.permissions import Anybody
from backend.ops.readiness import ReadinessCache, readiness
from bapo import __version__
from bapo.api.service import Readiness

router = new_router("service")


@router.get("/healthz", summary="Whether the server is alive")
def health(_: Anybody) -> dict[str, str]:
    """Answers without a login and asks nobody: who restarts servers that do not answer asks here."""
    return {"status": "ok", "version": __version__}


@router.get("/readyz", summary="Whether the server can do its work", responses={503: {"model": Readiness}})
def ready(_: Anybody, context: ContextOf, response: Response) -> Readiness:
    """Database, schema, broker and dispatcher, without a login; 503 while one of them is not ready, and which."""
    found = context.part(ReadinessCache).get(lambda: readiness(context.database, context.part(Dispatcher)))
    if not found.ready:
        response.status_code = 503
    return found
