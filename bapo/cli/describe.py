"""`bapo recipes` and `bapo config`: the recipes and the config fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from bapo.cli.complete import complete_methods, complete_recipes
from bapo.cli.failures import plain_errors
from bapo.cli.output import JsonOption, console, print_framed, print_json
from bapo.config import resolve
from bapo.config.documentation import documentation, method_types
from bapo.config.fields import FieldDocumentation, FieldVariant
from bapo.config.json_schema import recipe_schema
from bapo.config.recipes import load_recipe, shipped_recipes
from bapo.config.resolve import flatten


def recipes(
    name: Annotated[
        str | None, typer.Argument(help="Show this recipe's complete config.", autocompletion=complete_recipes)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the recipes, or show one's complete config with the source of each value."""
    if name is None:
        if as_json:
            print_json({"items": [asdict(recipe) for recipe in shipped_recipes()]})
            return
        for recipe in shipped_recipes():
            console().print(Text.assemble((recipe.name, "bold"), f"  {recipe.title}"))
            console().print(f"  {' '.join(recipe.description.split())}\n")
        return
    with plain_errors():
        chosen = load_recipe(name)
        config = resolve(chosen.explicit).config.model_dump(mode="json")
    if as_json:
        print_json(config)
        return
    for field, value in flatten(config).items():
        source = chosen.sources.get(field)
        print(f"{field} = {json.dumps(value, ensure_ascii=False)}" + (f"  # {source}" if source else ""))


def config(
    search: Annotated[str | None, typer.Argument(help="Only fields whose name contains this text.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Only the fields of this method, with its defaults.", autocompletion=complete_methods),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of a recipe's TOML file, for editors.")
    ] = False,
) -> None:
    """Explain the config fields: meaning, range, default."""
    if schema:
        print_json(recipe_schema())
        return
    if method is not None and method not in method_types():
        raise typer.BadParameter(f"no such method: take one of {', '.join(method_types())}", param_hint="--method")
    fields = [field for field in documentation() if search is None or search in field.path]
    if method is not None:
        fields = [field.of_type(method) for field in fields if not field.method_types or method in field.method_types]
    if not fields:
        raise typer.BadParameter(
            f"no config field has {search!r} in its name: leave it out to see all", param_hint="search"
        )
    if as_json:
        print(json.dumps([asdict(field) for field in fields], indent=1))
        return
    table = Table("field", "default", "values", "meaning", show_lines=True)
    for field in fields:
        variants = {} if method else field.variants
        table.add_row(field.path, _default(field, variants), values_of(field), _meaning(field, variants))
    print_framed(table)


def _default(field: FieldDocumentation, variants: Mapping[str, FieldVariant]) -> str:
    """Return the default, and below it those of methods with another one."""
    others = [f"{name}: {json.dumps(each.default)}" for name, each in variants.items() if each.default != field.default]
    return "\n".join([json.dumps(field.default), *others])


def _meaning(field: FieldDocumentation, variants: Mapping[str, FieldVariant]) -> str:
    """Return the description, those of methods that give the field another meaning, and the methods that have it."""
    others = [f"{name}: {each.description}" for name, each in variants.items() if each.description != field.description]
    methods = [f"Methods: {', '.join(field.method_types)}."] if field.method_types else []
    tasks = [f"Tasks: {', '.join(field.task_types)}."] if field.task_types else []
    return "\n".join([" ".join([field.description, *methods, *tasks]), *others])


def values_of(field: FieldDocumentation) -> str:
    """Return the accepted values of a field."""
    if field.choices:
        text = " | ".join(field.choices)
    else:
        text = field.kind.replace("_", " ")
        low, high = field.minimum, field.maximum
        if low is not None and high is not None:
            text += f", {low:.15g} to {high:.15g}"
        elif low is not None:
            text += f" from {low:.15g}"
        elif high is not None:
            text += f" up to {high:.15g}"
    return f"{text}, or empty" if field.optional else text
