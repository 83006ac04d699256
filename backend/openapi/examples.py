"""Builds an example of every body from the examples, defaults and types of its fields."""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 6
"""A schema that holds itself ends here."""

_BY_FORMAT = {
    "date-time": "2026-05-04T12:30:00Z",
    "date": "2026-05-04",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://bapo.example.org",
    "binary": "",
}
_BY_NAME = {
    "id": "kzx3f0a9qe",
    "run_id": "kzx3f0a9qe",
    "run_ids": ["kzx3f0a9qe"],
    "parent_id": "m2v8c4t1yd",
    "request_id": "4f0c2b7e9d1a4c6f8e3b5a7d9c1e2f40",
    "name": "BAPO with a wider c1",
    "method": "bapo",
    "recipe": "countdown-demo",
    "owner": "ada",
    "author": "ada",
    "worker": "gpu-1",
    "host": "gpu-1",
    "step": 120,
    "num_steps": 150,
    "from_step": 1,
    "dataset": "CD-34",
    "eval_name": "CD-34 avg@8",
    "currency": "USD",
    "field": "method.c1",
    "code": "invalid_config",
    "remedy": "must be at least 0 and less than 1",
    "version": "0.2.0",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
}
"""Typical values of fields with these names."""


class Examples:
    """Makes examples from the schemas of one description."""

    def __init__(self, schemas: dict[str, dict[str, Any]]) -> None:
        self._schemas = schemas

    def of_request(self, schema: dict[str, Any]) -> Any:
        """Return a body to send: what it must hold, and the fields that name an example."""
        whole = self._resolved(schema)
        properties = whole.get("properties", {})
        wanted = set(whole.get("required", ())) | {
            field for field, each in properties.items() if self._resolved(each).get("examples")
        }
        return {field: self.of(properties[field], field, 1) for field in properties if field in wanted}

    def of(self, schema: dict[str, Any], name: str = "", depth: int = 0) -> Any:
        """Return a value that the schema allows."""
        schema = self._resolved(schema)
        for key in ("example", "const", "default"):
            if schema.get(key) not in (None, [], {}, ""):
                return schema[key]
        if schema.get("examples") or "enum" in schema:
            return (schema.get("examples") or schema["enum"])[0]
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self._of_any(schema[key], name, depth)
        return self._of_type(schema, name, depth)

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        return self._schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def _of_any(self, members: list[dict[str, Any]], name: str, depth: int) -> Any:
        others = [member for member in members if member.get("type") != "null"]
        if len(others) < len(members) and name not in _BY_NAME:
            return None
        return self.of(others[0], name, depth)

    def _of_type(self, schema: dict[str, Any], name: str, depth: int) -> Any:
        known = _BY_NAME.get(name)
        value: Any = None
        match schema.get("type"):
            case "object":
                value = self._of_object(schema, depth)
            case "array":
                value = known if isinstance(known, list) else self._of_array(schema, name, depth)
            case "integer":
                value = int(_within(schema, known if isinstance(known, int) else 1))
            case "number":
                value = float(_within(schema, 0.5))
            case "boolean":
                value = False
            case "string":
                value = known if isinstance(known, str) else _BY_FORMAT.get(schema.get("format", ""), "text")
        return value

    def _of_object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        wanted = set(properties)
        if depth >= MAX_DEPTH // 2:
            # A constant tells which of several kinds of body it is.
            wanted = set(schema.get("required", ())) | {field for field in properties if "const" in properties[field]}
        return {field: self.of(properties[field], field, depth + 1) for field in properties if field in wanted}

    def _of_array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        if "prefixItems" in schema:
            return [self.of(each, "", depth + 1) for each in schema["prefixItems"]]
        if depth >= MAX_DEPTH and not schema.get("minItems"):
            return []
        return [self.of(schema.get("items", {}), name.removesuffix("s"), depth + 1)]


def _within(schema: dict[str, Any], value: float) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum", value))
    high = schema.get("maximum", schema.get("exclusiveMaximum", value))
    return float(min(max(value, low), high))
