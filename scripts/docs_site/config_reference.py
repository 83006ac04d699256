"""The pages on config fields, shipped recipes and metrics, read off their classes and files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from bapo.cli.describe import values_of
from bapo.config.documentation import documentation, method_types, task_types
from bapo.config.fields import FieldDocumentation
from bapo.config.recipes import Recipe, shipped_recipes
from bapo.config.resolve import flatten
from bapo.records import StepRecord, declared_metrics
from scripts.docs_site.tables import plain, table

INTRODUCTION = """# Config fields

Generated from the config classes; `bapo config` prints the same, and the form of a new run shows it at each field. A
field is named by its path, such as `method.c1`: in recipes, with `--set`, over REST and in error messages. Unknown
fields are refused. Where a field is left empty, the method, the task or the machine decides, as its meaning says.
"""
RECIPES = """# Recipes

Generated from the recipes that ship with the library. `bapo train NAME` trains one, `bapo recipes NAME` prints its
complete config. Fields that a recipe does not set have their [defaults](config.md). A recipe of your own is a TOML file
with the same sections: `bapo train my-recipe.toml`.
"""
BY_TYPE = {"method": method_types, "task": task_types}
"""Sections whose fields depend on their type."""


def fields_page() -> str:
    """Return the whole page on config fields."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    sections: dict[str, list[FieldDocumentation]] = {}
    for field in documentation():
        sections.setdefault(field.path.partition(".")[0], []).append(field)
    for name, fields in sections.items():
        yield f"## {name}\n"
        if name not in BY_TYPE:
            yield _table(fields)
            continue
        choice = next(field for field in fields if field.path == f"{name}.type")
        about = {kind: choice.of_type(kind).description for kind in BY_TYPE[name]()}
        if not all(about.values()):
            # A text common to all types goes with the first.
            yield f"{plain(choice.description)}\n"
            about = dict.fromkeys(about, "")
        for kind, text in about.items():
            yield f"### {name}.type = {kind}\n"
            if text:
                yield f"{plain(text)}\n"
            own = [field for field in fields if kind in field.method_types + field.task_types and field is not choice]
            yield _table(map(partial(_of_type, kind), own)) if own else "It adds no fields.\n"


def _of_type(kind: str, field: FieldDocumentation) -> FieldDocumentation:
    """Return the field of one method or task, with the common meaning unless that type has another."""
    found = field.of_type(kind)
    return found if found.description else replace(found, description=field.description)


def _table(fields: Iterable[FieldDocumentation]) -> str:
    rows = [(f"`{field.path}`", _default(field), plain(values_of(field)), plain(field.description)) for field in fields]
    return table(("field", "default", "values", "meaning"), rows)


def _default(field: FieldDocumentation) -> str:
    return "empty" if field.default is None else f"`{json.dumps(field.default)}`"


def recipes_page() -> str:
    """Return the whole page on recipes."""
    return "\n".join((RECIPES, *map(_recipe, shipped_recipes())))


def _recipe(recipe: Recipe) -> str:
    fields = flatten(recipe.explicit)
    head = ("field", "value", "source") if recipe.sources else ("field", "value")
    rows = [
        (f"`{name}`", f"`{json.dumps(value, ensure_ascii=False)}`", plain(recipe.sources.get(name, "")))[: len(head)]
        for name, value in fields.items()
    ]
    return f"## {recipe.name}\n\n**{plain(recipe.title)}.** {plain(recipe.description)}\n\n{table(head, rows)}"


METRICS = """# Metrics

Generated from the record of a training step. A run stores each of these by step under its name: verl's where verl has
one, else `bapo/…`. Boards, Compare, alerts and `bapo export` take them by name. Other trainers' runs keep their own
names besides.

"""


def metrics_page() -> str:
    """Return the whole page on the metrics of a training step."""
    rows = [
        (f"`{each.name}`", plain(each.metric.title), plain(each.metric.unit), plain(each.explanation))
        for each in declared_metrics(StepRecord)
    ]
    return METRICS + table(("metric", "title", "unit", "meaning"), rows)
