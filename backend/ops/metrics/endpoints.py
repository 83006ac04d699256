"""Route of the Prometheus metrics."""

from __future__ import annotations

from fastapi import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from backend.kit.context import ContextOf, new_router
from backend.kit.instruments import REGISTRY
from backend.kit.permissions import Scraper
from backend.ops.metrics.state import StateCollector

router = new_router("service", prefix="")


@router.get("/metrics", summary="Get Prometheus metrics", include_in_schema=False)
def metrics(_: Scraper, context: ContextOf) -> Response:
    """Return the metrics. Requires the scrape token or, if none is set, a request from this machine."""
    state = CollectorRegistry()
    state.register(StateCollector(context))
    return Response(generate_latest(REGISTRY) + generate_latest(state), media_type=CONTENT_TYPE_LATEST)
