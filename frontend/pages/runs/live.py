"""Answers the run list that fetches rows while it is scrolled, filtered or left open."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from starlette.datastructures import QueryParams

from bapo.api.base import ErrorBody
from bapo.api.runs import RunQuery
from bapo.client import ApiError, AsyncClient
from bapo.client.calls.runs import query_of
from bapo.config.findings import problems_said
from frontend.pages.runs.rows import rows_of

_LISTS = ("status", "method", "tag", "owner", "group", "project", "where", "columns")


async def rows(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Answer GET /live/runs with rows from `offset` on and how many match the filters. Raises ApiError."""
    given: dict[str, Any] = {name: params.getlist(name) if name in _LISTS else params[name] for name in params}
    query = parsed(given)
    page = await client.runs(**query_of(query))
    is_new_here = False
    if not page.total and not query.model_dump(exclude_defaults=True, exclude={"sort", "limit", "offset", "columns"}):
        is_new_here = not (await client.runs(archived="shown", limit=1)).total
    return {"rows": rows_of(page.items), "total": page.total, "num_sets": page.num_sets, "is_new_here": is_new_here}


def parsed(given: dict[str, Any]) -> RunQuery:
    """Read the query in an address. Raises ApiError 422 naming the first parameter that is wrong."""
    try:
        return RunQuery.model_validate(given)
    except ValidationError as error:
        first = problems_said(error.errors())[0]
        value = str(first.value)[:200]
        body = ErrorBody(code="invalid_request", field=first.field, value=value, remedy=first.remedy, request_id="none")
        raise ApiError(422, body) from error
