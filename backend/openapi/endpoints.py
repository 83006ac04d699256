"""Routes of the API's description."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from backend.kit.context import new_router
from backend.kit.permissions import Reader
from backend.openapi import reference
from backend.openapi.description import describe

router = new_router("service")


@router.get("/openapi.json", summary="Get this description", include_in_schema=False)
def openapi(_: Reader, request: Request) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document."""
    return describe(request.app)


@router.get("/docs", summary="Read this description", include_in_schema=False)
def reference_page(_: Reader, request: Request) -> HTMLResponse:
    """Return every operation with its fields, errors and examples."""
    headers = {"Content-Security-Policy": reference.POLICY, "Referrer-Policy": "same-origin"}
    return HTMLResponse(reference.page(describe(request.app)), headers=headers)
