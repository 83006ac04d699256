"""Completes the OpenAPI 3.1 document with permissions, errors and examples."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from fastapi import FastAPI

from backend.kit.permissions import DeclaredRoute, Permission, declared_routes
from backend.openapi.examples import Examples
from backend.openapi.links import add_links
from bapo.client import SESSION_COOKIE

DESCRIPTION = """Submit training runs, steer them and read their records.

Send `Authorization: Bearer TOKEN`, or log in and keep the cookie. Times are UTC. Lists return `items` and
`next_cursor`. Every error returns an `ErrorBody`: code, field, value, remedy and a request ID that is also in the
server's log. Changes authorised by the cookie need this server's own `Origin`."""

TAGS = [
    {"name": "runs", "description": "Submit, list and steer runs."},
    {"name": "records", "description": "Recorded data: metrics, records, logs."},
    {"name": "prompts", "description": "Training prompts over a whole run, and over all runs of a project."},
    {
        "name": "prompt lists",
        "description": "Which prompts the next runs leave out, and which they see more or less often.",
    },
    {"name": "events", "description": "Server-sent events: live updates."},
    {"name": "configs", "description": "Recipes, fields, validation and cost estimates of configs."},
    {"name": "account", "description": "Login, sessions, tokens."},
    {"name": "workers", "description": "Workers, and the routes that only they may call."},
    {"name": "queue", "description": "Waiting runs, their order, and limits."},
    {"name": "studies", "description": "Grids, lists and declared studies: runs made, steered and read together."},
    {"name": "checkpoints", "description": "Checkpoints of runs."},
    {"name": "artifacts", "description": "Downloads of runs."},
    {"name": "chats", "description": "Messages to the models of runs, and their answers."},
    {"name": "samples", "description": "Responses kept as text."},
    {"name": "difficulty", "description": "How prompts move between accuracies."},
    {"name": "compare", "description": "Comparison of runs."},
    {"name": "walk", "description": "A step of a run, line by line with its method's rule."},
    {"name": "what-if", "description": "A run's batches under other settings."},
    {"name": "findings", "description": "What is wrong with a run's data, and what to do about it."},
    {"name": "views", "description": "Saved views of the run list."},
    {"name": "boards", "description": "Charts and texts of a project that follow its runs, and links that show them."},
    {"name": "resources", "description": "Registered data sets, models and verifiers."},
    {"name": "uploads", "description": "Data sets and models of one's own: received in parts, checked, registered."},
    {"name": "alerts", "description": "Alerts and alert rules."},
    {"name": "webhooks", "description": "Messages to other services."},
    {"name": "projects", "description": "Projects and their members."},
    {"name": "people", "description": "Users. Requires an administrator."},
    {"name": "audit", "description": "Audit trail. Requires an administrator."},
    {"name": "prices", "description": "Prices of compute hours."},
    {"name": "storage", "description": "Storage use and deletion."},
    {"name": "imports", "description": "Import of runs that trained without a server."},
    {"name": "service", "description": "The server itself."},
]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "A person's token, or a worker's."},
    "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE, "description": "Set by the login."},
}

ERROR = {"$ref": "#/components/schemas/ErrorBody"}


class _Refusal(NamedTuple):
    """Meaning of an error status, with an example."""

    description: str
    code: str
    remedy: str
    field: str | None = None
    value: Any = None


REFUSALS = {
    "401": _Refusal(
        "No credentials, or they are not valid.",
        "not_authenticated",
        "log in, or send `Authorization: Bearer TOKEN` with a valid token",
    ),
    "403": _Refusal(
        "The caller may not do this.",
        "forbidden",
        "a viewer may not do this: it requires the permission 'write'",
    ),
    "404": _Refusal(
        "It does not exist, or the caller may not see it.",
        "not_found",
        "there is no run 'kzx3f0a9qe': check the ID",
    ),
    "409": _Refusal(
        "It conflicts with the present state.",
        "illegal_transition",
        "a run that has ended cannot be paused",
    ),
    "422": _Refusal(
        "The request is invalid: each problem names field, value and remedy.",
        "invalid_config",
        "must be at least 0 and less than 1",
        "method.c1",
        7,
    ),
    "503": _Refusal(
        "The database does not answer; the same request may succeed in a moment.",
        "database_unavailable",
        "the database does not answer: try again in a moment",
    ),
}


_ONE_AT_A_TIME = threading.Lock()


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description, with what each operation takes to be called, how it refuses, and examples.

    Made when it is first asked for, which takes seconds of CPU time; who asks meanwhile waits for it.
    """
    with _ONE_AT_A_TIME:
        document = app.openapi()
        if "securitySchemes" not in document["components"]:
            _complete(document, app)
    return document


def _complete(document: dict[str, Any], app: FastAPI) -> None:
    document["tags"] = TAGS
    document["components"]["securitySchemes"] = SCHEMES
    document["components"]["responses"] = {f"Error{status}": _answer(refusal) for status, refusal in REFUSALS.items()}
    examples = Examples(document["components"]["schemas"])
    for route in declared_routes(app):
        operation = document["paths"].get(route.path.replace(":path}", "}"), {}).get(route.method.lower())
        if operation is not None:
            _secure(operation, route.permission)
            _leave_out_null(operation)
            _add_refusals(operation, route)
            _add_examples(operation, examples)
    add_links(document)


def _secure(operation: dict[str, Any], permission: Permission) -> None:
    if permission is Permission.OPEN:
        operation["security"] = []
    elif permission is Permission.WORK:
        operation["security"] = [{"token": []}]
    else:
        operation["security"] = [{"token": []}, {"session": []}]
    operation["x-permission"] = permission.value


def _leave_out_null(operation: dict[str, Any]) -> None:
    """Remove null from the schemas of optional bodies, which generated clients would send."""
    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    members = [each for each in media.get("schema", {}).get("anyOf", ()) if each.get("type") != "null"]
    if len(members) == 1:
        media["schema"] = members[0]


def _answer(refusal: _Refusal) -> dict[str, Any]:
    body = {
        "code": refusal.code,
        "field": refusal.field,
        "value": refusal.value,
        "remedy": refusal.remedy,
        "problems": []
        if refusal.field is None
        else [{"field": refusal.field, "value": refusal.value, "remedy": refusal.remedy}],
        "request_id": "4f0c2b7e9d1a4c6f8e3b5a7d9c1e2f40",
    }
    return {
        "description": refusal.description,
        "content": {"application/json": {"schema": ERROR, "example": body}},
    }


def _add_refusals(operation: dict[str, Any], route: DeclaredRoute) -> None:
    answers = operation["responses"]
    statuses = {"503"}
    if route.permission is not Permission.OPEN:
        statuses |= {"401", "403"}
    if "{" in route.path:
        statuses.add("404")
    if operation.get("parameters") or "requestBody" in operation:
        statuses.add("422")
    if route.method not in SAFE_METHODS and "{" in route.path:
        statuses.add("409")
    for status in sorted(statuses):
        answers[status] = {"$ref": f"#/components/responses/Error{status}"}
    for status in ("4XX", "5XX"):
        # Errors are JSON, also where the answer is a stream.
        answers[status]["content"] = {"application/json": {"schema": ERROR}}


def _add_examples(operation: dict[str, Any], examples: Examples) -> None:
    for media in _json_bodies(operation.get("requestBody", {})):
        media["example"] = examples.of_request(media["schema"])
    for status, answer in operation["responses"].items():
        for media in _json_bodies(answer) if status.startswith("2") else ():
            media["example"] = examples.of(media["schema"])


def _json_bodies(holder: dict[str, Any]) -> list[dict[str, Any]]:
    media = holder.get("content", {}).get("application/json")
    return [] if media is None or "example" in media or "examples" in media else [media]
