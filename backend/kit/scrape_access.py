"""Admits scrapers of `/metrics`: with the scrape token or, where none is set, from this machine."""

from __future__ import annotations

import hmac
import ipaddress

from fastapi import Request

from backend.kit.errors import Problem
from backend.settings.environment import Settings

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


def admit_scraper(request: Request) -> None:
    """Check that the request may read metrics. Raises Problem 401 or 403."""
    settings: Settings = request.app.state.context.settings
    if settings.metrics_token_file is None:
        if not _is_local(request):
            raise Problem(
                403,
                "forbidden",
                "without BAPO_METRICS_TOKEN_FILE only this machine may read the metrics: set it, and send the "
                "token as `Authorization: Bearer TOKEN`",
            )
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    expected = settings.metrics_token_file.read_text(encoding="utf-8").strip()
    if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), expected.encode()):
        remedy = "send `Authorization: Bearer TOKEN` with the token that BAPO_METRICS_TOKEN_FILE holds"
        raise Problem(401, "not_authenticated", remedy, headers={"WWW-Authenticate": "Bearer"})


def _is_local(request: Request) -> bool:
    # A proxy on this machine speaks for others, and says so.
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    return ipaddress.ip_address(request.client.host.partition("%")[0]).is_loopback
