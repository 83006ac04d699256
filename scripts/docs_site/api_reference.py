"""The page on the REST API, its full reference and its OpenAPI description, read off the server's routes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from backend.app import create_app
from backend.openapi import reference
from backend.openapi.description import describe
from backend.settings.environment import Settings
from scripts.docs_site.tables import plain, table

INTRODUCTION = """# REST API

Generated from the server's routes. [The full reference](api.html) has every field, error and example on one page,
[openapi.json](openapi.json) is the same for programs; a running server answers both at `/api/v1/docs` and
`/api/v1/openapi.json`. [Automation](../automation.md) shows how to log in and call it.
"""


def files() -> Mapping[str, str]:
    """Content by place in the site."""
    description = _description()
    return {
        "reference/rest-api.md": "\n".join(_parts(description)),
        "reference/api.html": reference.page(description),
        "reference/openapi.json": json.dumps(description, ensure_ascii=False),
    }


def _description() -> dict[str, Any]:
    nowhere = Path("nowhere")
    # Describing an application neither connects to anything nor writes a file.
    settings = Settings(
        database_url="postgresql+psycopg://nowhere/nothing",
        broker_url="redis://nowhere",
        runs_dir=nowhere,
        admin_token_file=nowhere,
        worker_token_file=nowhere,
    )
    return describe(create_app(settings))


def _parts(description: Mapping[str, Any]) -> Iterator[str]:
    yield INTRODUCTION
    rows: dict[str, list[tuple[str, str, str]]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            row = (f"`{method.upper()}`", f"`{path}`", plain(operation["summary"]))
            rows.setdefault(operation["tags"][0], []).append(row)
    about = {tag["name"]: tag.get("description", "") for tag in description["tags"]}
    for tag, operations in rows.items():
        yield f"## {tag}\n\n{plain(about[tag])}\n"
        yield table(("method", "path", "what it does"), operations)
