"""The server about itself: whether it is well, and what it can do."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from sqlalchemy import text

from backend.context import DbSession, new_router
from backend.description import describe
from backend.permissions import Anybody, Reader
from bapo import __version__

health_router = new_router("service")
description_router = new_router("service")


@health_router.get("/healthz", summary="Whether the server and its database answer")
def health(_: Anybody, session: DbSession) -> dict[str, str]:
    """The one address without a login."""
    session.execute(text("SELECT 1"))
    return {"status": "ok", "version": __version__}


@description_router.get("/openapi.json", summary="This description", include_in_schema=False)
def openapi(_: Reader, request: Request) -> dict[str, Any]:
    """OpenAPI 3.1."""
    return describe(request.app)
