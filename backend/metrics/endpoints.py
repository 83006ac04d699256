"""`/metrics`, for Prometheus."""

from __future__ import annotations

from fastapi import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from backend.context import ContextOf, new_router
from backend.metrics.instruments import REGISTRY
from backend.metrics.state import StateCollector
from backend.permissions import Scraper

router = new_router("service")


@router.get("/metrics", summary="Counters and state, for Prometheus", include_in_schema=False)
def metrics(_: Scraper, context: ContextOf) -> Response:
    """With the scrape token, or, where none is set, from this machine; the dashboard's port does not serve it."""
    state = CollectorRegistry()
    state.register(StateCollector(context))
    return Response(generate_latest(REGISTRY) + generate_latest(state), media_type=CONTENT_TYPE_LATEST)
