"""Serves the description of the API."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from backend.kit.context import new_router
from backend.kit.permissions import Reader
from backend.openapi import reference
from backend.openapi.description import describe

router = new_router("service")


@router.get("/openapi.json", summary="This description", include_in_schema=False)
def openapi(_: Reader, request: Request) -> dict[str, Any]:
    """OpenAPI 3.1."""
    return describe(request.app)


@router.get("/docs", summary="This description, to be read", include_in_schema=False)
def reference_page(_: Reader, request: Request) -> HTMLResponse:
    """Every operation with its fields, refusals and examples; without scripts."""
    headers = {"Content-Security-Policy": reference.POLICY, "Referrer-Policy": "same-origin"}
    return HTMLResponse(reference.page(describe(request.app)), headers=headers)
