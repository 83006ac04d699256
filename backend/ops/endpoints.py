"""Routes of the service itself: health, readiness, Prometheus metrics and the diagnosis."""

from __future__ import annotations

from fastapi import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.identity.auth.openid import flow
from backend.kit.context import API_PREFIX, ContextOf, DbSession, new_router
from backend.kit.instruments import REGISTRY
from backend.kit.permissions import Administrator, Anybody, Scraper
from backend.ops.diagnosis import diagnose
from backend.ops.metrics import StateCollector
from backend.ops.readiness import ReadinessCache, readiness
from bapo import __version__
from bapo.api.service import Diagnosis, Readiness

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


@router.get("/metrics", summary="Get Prometheus metrics", include_in_schema=False)
def metrics(_: Scraper, context: ContextOf) -> Response:
    """Return the metrics. Requires the scrape token or, if none is set, a request from this machine."""
    state = CollectorRegistry()
    state.register(StateCollector(context))
    return Response(generate_latest(REGISTRY) + generate_latest(state), media_type=CONTENT_TYPE_LATEST)


@router.get(f"{API_PREFIX}/diagnosis", summary="Diagnose the deployment")
def diagnosis(_: Administrator, session: DbSession, context: ContextOf) -> Diagnosis:
    """Return the state of database, broker, folders, workers and the provider of single sign-on, for `bapo doctor`.

    Requires an administrator.
    """
    return diagnose(session, context.settings, context.part(Dispatcher), flow.provider_at(context))
