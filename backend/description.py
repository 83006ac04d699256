"""The description of the API, OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from backend.links import add_links
from backend.permissions import Permission, declared_routes
from bapo.client import SESSION_COOKIE

DESCRIPTION = """Submit training runs, steer them and read what they record.

Send `Authorization: Bearer TOKEN`, or log in and keep the cookie. Times are UTC. Lists answer `items` and
`next_cursor`. Every error answers `ErrorBody`: code, field, value, remedy and a request id that the server's log
repeats. Changes that carry the cookie must carry this server's own `Origin`."""

TAGS = [
    {"name": "runs", "description": "Submit, list and steer runs."},
    {"name": "records", "description": "What runs recorded: metrics, records, responses, logs."},
    {"name": "prompts", "description": "Training prompts over a whole run."},
    {"name": "events", "description": "Server-sent events: what happens, while it happens."},
    {"name": "configs", "description": "Recipes, fields and the check of configs."},
    {"name": "account", "description": "Log in, log out, who am I."},
    {"name": "workers", "description": "The workers, and the routes that only they may call."},
    {"name": "imports", "description": "Runs that were trained without a server."},
    {"name": "service", "description": "The server itself."},
]

SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "A person's token, or a worker's."},
    "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE, "description": "Set by the login."},
}


ERROR = {"$ref": "#/components/schemas/ErrorBody"}


def describe(app: FastAPI) -> dict[str, Any]:
    """The description, with what each operation takes to be called."""
    document = app.openapi()
    if "securitySchemes" in document["components"]:
        return document
    document["tags"] = TAGS
    document["components"]["securitySchemes"] = SCHEMES
    for route in declared_routes(app):
        operation = document["paths"].get(route.path.replace(":path}", "}"), {}).get(route.method.lower())
        if operation is None:
            continue
        if route.permission is Permission.OPEN:
            operation["security"] = []
        elif route.permission is Permission.WORK:
            operation["security"] = [{"token": []}]
        else:
            operation["security"] = [{"token": []}, {"session": []}]
        operation["x-permission"] = route.permission.value
        for status in ("4XX", "5XX"):
            # Errors are JSON, also where the answer is a stream.
            operation["responses"][status]["content"] = {"application/json": {"schema": ERROR}}
    add_links(document)
    return document
