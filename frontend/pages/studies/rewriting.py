"""Writes changes into the text of a study file, so that comments and layout stay."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.container import Container
from tomlkit.items import AoT, Item, Table

_ORDER = (
    *("title", "question", "expectation", "recipe", "seeds", "test_sets", "num_runs", "reference"),
    *("config", "set", "primary", "arms", "regimes", "tuning"),
)
"""Order of the parts of a new file."""
_TABLES = ("config", "set", "primary", "tuning")


def rewritten(text: str, wanted: Mapping[str, Any]) -> str:
    """Return the text of a study file that says `wanted`; what needs no change stays as it is.

    A file whose layout cannot be followed is written from scratch. Raises ValueError where `text` is no TOML.
    """
    if tomllib.loads(text) == wanted:
        return text
    document = tomlkit.parse(f"{text}\n")
    _move_comments(document)
    _update(document, wanted)
    found = f"{document.as_string().strip()}\n"
    try:
        is_right = tomllib.loads(found) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    return found if is_right else written(wanted)


def written(study: Mapping[str, Any]) -> str:
    """Return a study file from scratch."""
    order = [*(part for part in _ORDER if part in study), *(part for part in study if part not in _ORDER)]
    items = [(part, _part(part, study[part])) for part in order]
    document = tomlkit.document()
    for part, item in sorted(items, key=lambda each: isinstance(each[1], AoT | Table)):
        document.append(part, item)
    return document.as_string()


def _part(name: str, value: Any) -> Item:
    """Return a part of the file: a table, a list of tables, or a value."""
    if isinstance(value, dict) and name in _TABLES:
        return _table(value)
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        members = tomlkit.aot()
        for each in value:
            members.append(_table(each))
        return members
    return _value(value)


def _value(value: Any) -> Item:
    match value:
        case dict():
            members = ", ".join(
                f"{tomlkit.key(key).as_string()} = {_value(each).as_string()}" for key, each in value.items()
            )
            return tomlkit.value(f"{{ {members} }}")
        case list():
            array = tomlkit.array()
            array.extend(map(_value, value))
            return array
        case str() if "\n" in value:
            lines = json.dumps(value, ensure_ascii=False)[1:-1].replace("\\n", "\n").replace("\x7f", "\\u007f")
            return tomlkit.value(f'"""\n{lines}"""')
    return tomlkit.item(value)


def _table(content: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for key, value in content.items():
        table.append(key, _value(value))
    return table


def _update(table: TOMLDocument | Table, wanted: Mapping[str, Any]) -> None:
    """Let the document or one of its tables hold what is wanted, and keep the text of what stays."""
    for key in [key for key in table if key not in wanted]:
        table.remove(key)
    for key, value in wanted.items():
        known = table.get(key)
        if isinstance(known, AoT) and isinstance(value, list):
            _update_members(known, value)
        elif isinstance(known, Table) and isinstance(value, dict):
            _update(known, value)
        elif known is None or known.unwrap() != value:
            # Replaced rather than removed and appended, so that its place and the comment behind it stay.
            table[key] = _part(key, value) if isinstance(table, TOMLDocument) else _value(value)


def _update_members(members: AoT, wanted: Sequence[Any]) -> None:
    """Keep the text of unchanged members: equal ones, then those of the same name, then those at the same place."""
    given = list(members)
    left = dict(enumerate(given))
    origin: dict[int, Table] = {}
    rules: tuple[Callable[[int, int], bool], ...] = (
        lambda new, old: bool(given[old].unwrap() == wanted[new]),
        lambda new, old: "name" in given[old] and given[old]["name"] == wanted[new].get("name"),
        lambda new, old: new == old and len(wanted) >= len(given),
    )
    for is_same in rules:
        for new in range(len(wanted)):
            match = next((old for old in left if new not in origin and is_same(new, old)), None)
            if match is not None:
                origin[new] = left.pop(match)
    members.clear()
    for new, member in enumerate(wanted):
        table = origin.get(new)
        if table is None:
            table = _table(member)
            table.trivia.indent = "\n"
        _update(table, member)
        members.append(table)


def _move_comments(document: TOMLDocument) -> None:
    """Move comments above a header to the table that it begins: tomlkit takes them for the end of the table before."""
    before: Container = document
    for table in _tables(document):
        while before.body and before.body[-1][0] is None:
            table.trivia.indent = before.body.pop()[1].as_string() + table.trivia.indent
        before = table.value


def _tables(parent: TOMLDocument | Table) -> Iterator[Table]:
    """Yield tables in the order of the file."""
    for value in parent.values():
        for table in value if isinstance(value, AoT) else (value,):
            if isinstance(table, Table):
                yield table
                yield from _tables(table)
