"""Renders the API reference as one HTML page without scripts, readable without a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #888; --back: #8881; --accent: #2b6cb0 }
@media (prefers-color-scheme: dark) { :root { --accent: #7fb2e5 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem } h3 { font-size: .9rem; margin: 1rem 0 .3rem }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem } a { color: var(--accent) }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .35rem .7rem }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: .2rem .8rem }
summary:focus-visible { outline: 2px solid var(--accent) }
summary b { font: 600 .8rem/1.9 ui-monospace, monospace; width: 4rem }
code, pre { font: .85rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
pre { background: var(--back); border-radius: 6px; overflow-x: auto; padding: .6rem .8rem }
table { border-collapse: collapse; width: 100% }
td { border-top: 1px solid var(--line); overflow-wrap: anywhere; padding: .25rem .8rem .25rem 0; vertical-align: top }
.dim { color: var(--dim) } .lead { white-space: pre-line }
"""
POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def page(document: dict[str, Any]) -> str:
    """Return the whole page."""
    return "".join(_Page(document).parts())


class _Page:
    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                self._by_tag.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))

    def parts(self) -> Iterator[str]:
        info = self._document["info"]
        yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f"<title>{escape(info['title'])} API</title><style>{STYLE}</style></head><body><main>"
        yield f"<h1>{escape(info['title'])} API <span class=dim>{escape(info['version'])}</span></h1>"
        yield f'<p class="lead">{escape(info["description"])}</p>'
        yield '<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p><nav>'
        yield from (f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in self._by_tag)
        yield "</nav>"
        known = {each["name"]: each["description"] for each in self._document["tags"]}
        for tag, operations in self._by_tag.items():
            yield f'<section><h2 id="{escape(tag)}">{escape(tag)}</h2><p class=dim>{escape(known.get(tag, ""))}</p>'
            for method, path, operation in operations:
                yield from self._operation(method, path, operation)
            yield "</section>"
        yield "</main></body></html>"

    def _operation(self, method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
        yield f'<details id="{escape(operation["operationId"])}"><summary><b>{method}</b><code>{escape(path)}</code>'
        yield f"<span>{escape(operation['summary'])}</span></summary>"
        yield f'<p class="lead">{escape(operation["description"])}</p>'
        yield f"<p class=dim>operation <code>{escape(operation['operationId'])}</code>, permission "
        yield f"<code>{escape(operation['x-permission'])}</code></p>"
        parameters = operation.get("parameters", [])
        if parameters:
            yield "<h3>Parameters</h3><table>"
            for each in parameters:
                need = "" if each.get("required") else " <span class=dim>optional</span>"
                text = each.get("description") or each["schema"].get("description", "")
                yield f"<tr><td><code>{escape(each['name'])}</code>{need}</td><td>{escape(each['in'])}</td>"
                yield f"<td>{escape(type_of(each['schema']))}</td><td>{escape(text)}</td></tr>"
            yield "</table>"
        yield from self._body("Body", operation.get("requestBody", {}))
        for status, answer in operation["responses"].items():
            if status.startswith("2"):
                yield from self._body(f"Answer {status}", answer)
        refusals = [status for status in operation["responses"] if status[0] in "45" and status[1:] != "XX"]
        responses = self._document["components"]["responses"]
        yield "<h3>Refusals</h3><table>"
        for status in refusals:
            answer = operation["responses"][status]
            shared = responses[f"Error{status}"] if "$ref" in answer else answer
            yield f"<tr><td>{status}</td><td>{escape(shared['description'])}</td></tr>"
        yield "</table></details>"

    def _body(self, title: str, holder: dict[str, Any]) -> Iterator[str]:
        for kind, media in holder.get("content", {}).items():
            yield f"<h3>{title} <span class=dim>{escape(kind)}</span></h3>"
            schema = self._resolved(media.get("schema", {}))
            if schema.get("properties"):
                yield "<table>"
                for field, each in schema["properties"].items():
                    need = "" if field in schema.get("required", ()) else " <span class=dim>optional</span>"
                    text = each.get("description") or self._resolved(each).get("description", "")
                    yield f"<tr><td><code>{escape(field)}</code>{need}</td><td>{escape(type_of(each))}</td>"
                    yield f"<td>{escape(text)}</td></tr>"
                yield "</table>"
            if "example" in media:
                yield f"<pre>{escape(json.dumps(media['example'], indent=2, ensure_ascii=False))}</pre>"

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in schema:
            return schema
        found: dict[str, Any] = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found


def type_of(schema: dict[str, Any]) -> str:
    """Return a schema's type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(type_of(each) for each in schema[key]))
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return " ".join(filter(None, (schema.get("format"), schema.get("type", "any"))))
