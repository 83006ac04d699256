"""Health checks: whether the server is alive, and whether it is ready."""

from __future__ import annotations

from fastapi import Response

from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.kit.context import ContextOf, new_router
from backend.kit.permissions import Anybody
from backend.ops.readiness import ReadinessCache, readiness
from bapo import __version__
from bapo.api.service import Readiness

router = new_router("service", prefix="")


@router.get("/healthz", summary="Check that the server is alive")
def health(_: Anybody) -> dict[str, str]:
    """Check that the server answers, and nothing else, for supervisors that restart servers. Needs no login."""
    return {"status": "ok", "version": __version__}


@router.get("/readyz", summary="Check that the server is ready", responses={503: {"model": Readiness}})
def ready(_: Anybody, context: ContextOf, response: Response) -> Readiness:
    """Check database, schema, broker and dispatcher. Needs no login. 503 while one of them is not ready."""
    found = context.part(ReadinessCache).get(lambda: readiness(context.database, context.part(Dispatcher)))
    if not found.ready:
        response.status_code = 503
    return found
