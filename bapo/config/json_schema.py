"""JSON Schema of the TOML files of recipes and submitted runs, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from bapo.config.registry import Registry
from bapo.config.run import REGISTRIES, RunConfig

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXTS = {"type": "array", "items": {"type": "string"}}
_NEXT_TO_CONFIG = {
    "title": {"type": "string", "description": "Recipe: its title."},
    "description": {"type": "string", "description": "Recipe: when to use it."},
    "sources": {
        "type": "object",
        "description": "Recipe: its fields by the source of their values.",
        "additionalProperties": _TEXTS,
    },
    "recipe": {"type": "string", "description": "Run: the recipe that it starts from."},
    "name": {"type": "string", "description": "Run: its name."},
    "tags": _TEXTS | {"description": "Run: its tags."},
    "notes": {"type": "string", "description": "Run: notes in Markdown."},
    "group": {"type": "string", "description": "Run: the group of runs that it belongs to."},
    "priority": {"type": "integer", "description": "Run: its priority in the queue."},
    "project": {"type": "string", "description": "Run: the project that it belongs to."},
}


def recipe_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12); every field is optional."""
    schema = _without_required(RunConfig.model_json_schema())
    sections = schema["properties"]
    for registry in REGISTRIES.values():
        sections[registry.section] |= _by_type(registry, schema["$defs"])
    schema["properties"] |= _NEXT_TO_CONFIG
    return {"$schema": DIALECT, **schema, "title": "Recipe or run of the BAPO Control Plane"}


def _by_type(registry: Registry[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the choice between the types of a section; without a `type`, the default's fields are meant."""
    for name, model in registry.classes.items():
        own = _without_required(model.model_json_schema())
        definitions |= own.pop("$defs", {})
        own["properties"]["type"] = {"const": name}
        if model is not registry.default:
            own["required"] = ["type"]
        definitions[model.__name__] = own
    return {
        "anyOf": [{"$ref": f"#/$defs/{model.__name__}"} for model in registry.classes.values()],
        "default": registry.default_section().model_dump(mode="json"),
    }


def _without_required(schema: Any) -> Any:
    """Return a schema whose fields may all be absent."""
    if isinstance(schema, list):
        return [_without_required(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _without_required(each) for name, each in schema.items() if name != "required"}
