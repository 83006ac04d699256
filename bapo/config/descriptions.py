"""Descriptions of fields: the strings beneath them, parsed from the source when a schema, form or help text needs them.

Pydantic's `use_attribute_docstrings` reads them whenever a class is made: a sixth of the CPU time of a server's start,
in every process, for texts that few processes show. A base of ours has `json_schema_extra=describe_properties` instead.
"""

from __future__ import annotations

import ast
import inspect
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

_ONE_AT_A_TIME = threading.Lock()
_TRIES = 10


def syntax_tree(source: str) -> ast.Module:
    """Parse as `ast.parse`, which is not thread-safe. Raises SyntaxError and ValueError.

    CPython 3.11 counts the depth of the tree that it makes in one place for all threads: two at once may both end with
    "SystemError: AST constructor recursion depth mismatch" (python/cpython#106905). Ours wait for each other; where
    another library parses meanwhile, the next try is as good as the first.
    """
    with _ONE_AT_A_TIME:
        for _ in range(_TRIES - 1):
            try:
                return ast.parse(source)
            except SystemError:
                continue
        return ast.parse(source)


def field_description(model: type[BaseModel], name: str) -> str | None:
    """Return the field's own description, or else the string beneath it in the class that declares it."""
    given = model.model_fields[name].description
    return _string_beneath(model, name) if given is None else given


def describe_properties(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Complete a model's JSON schema with what the strings beneath its fields say: for `json_schema_extra`."""
    for name, info in model.model_fields.items():
        if info.description is not None:
            continue
        # By its name or by its alias, as the caller of `model_json_schema` wants it.
        shown = schema["properties"].get(name, schema["properties"].get(info.alias))
        text = _string_beneath(model, name)
        if shown is not None and text is not None:
            shown["description"] = text


def _string_beneath(model: type[BaseModel], name: str) -> str | None:
    for base in model.__mro__:
        declared = _strings_in(base.__module__).get(base.__qualname__, {})
        if name in declared:
            return declared[name]
    return None


@cache
def _strings_in(module: str) -> Mapping[str, Mapping[str, str | None]]:
    """Return the qualified name of each class of a module → its annotated names → the string beneath; empty without a
    source."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}
    return {name: dict(_strings_of(found)) for name, found in _classes(syntax_tree(source), "")}


def _classes(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                yield prefix + name, child
                yield from _classes(child, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _classes(child, f"{prefix}{name}.<locals>.")
            case ast.stmt():
                yield from _classes(child, prefix)


def _strings_of(found: ast.ClassDef) -> Iterator[tuple[str, str | None]]:
    for statement, following in zip(found.body, [*found.body[1:], None], strict=True):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
            case ast.AnnAssign(target=ast.Name(id=name)), _:
                yield name, None
