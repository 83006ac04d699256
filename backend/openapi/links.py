"""Adds OpenAPI links: the operations that take the ID in a response."""

from __future__ import annotations

import re
from typing import Any

_PARAMETER = re.compile(r"\{(\w+)\}")
_METHODS = ("get", "post", "put", "patch", "delete")


def add_links(document: dict[str, Any]) -> None:
    """Link every answer that is what a collection makes to what can be done with it.

    `POST /runs` answers a run with an `id`; so whatever answers a run links to all of `/runs/{run_id}/…`.
    """
    collections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        schema = _schema(operations.get("post", {}), "201") or _schema(operations.get("post", {}), "202")
        if schema is not None and any(other.startswith(f"{path}/{{") for other in document["paths"]):
            collections.setdefault(schema, []).append(path)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation.get("responses", {}).items():
                schema = _schema(operation, status)
                if method in _METHODS and status.startswith("2") and schema in collections:
                    links = _links(document, path, schema, collections[schema])
                    if links:
                        answer["links"] = links


def _schema(operation: dict[str, Any], status: str) -> str | None:
    """Return the name of the model that an operation answers."""
    content = operation.get("responses", {}).get(status, {}).get("content", {}).get("application/json", {})
    reference: str = content.get("schema", {}).get("$ref", "")
    return reference.rpartition("/")[2] or None


def _links(document: dict[str, Any], path: str, schema: str, collections: list[str]) -> dict[str, Any]:
    properties = document["components"]["schemas"][schema]["properties"]
    given = _PARAMETER.findall(path)
    links: dict[str, Any] = {}
    for collection in collections:
        above = _PARAMETER.findall(collection)
        if not set(above) <= set(given):
            continue
        for other, operations in document["paths"].items():
            if not other.startswith(f"{collection}/{{"):
                continue
            taken = _PARAMETER.findall(other)[len(above)]
            name = taken if taken in properties else "id"
            if name not in properties:
                continue
            parameters = {f"path.{each}": f"$request.path.{each}" for each in above}
            parameters[f"path.{taken}"] = f"$response.body#/{name}"
            for method, operation in operations.items():
                if method in _METHODS:
                    links[operation["operationId"]] = {
                        "operationId": operation["operationId"],
                        "parameters": parameters,
                    }
    return links
