"""Columns of a row by their paths: dots lead into structures, to any depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MOST_DEPTH = 20
"""Structures within one another that are listed part by part; a deeper one is listed whole."""


def has_column(row: Mapping[str, Any], path: str) -> bool:
    """Return whether the row has a column, or a part of a structure, at the path."""
    return path in row or any(True for _ in _found(row, path))


def value_at(row: Mapping[str, Any], path: str, default: Any = None) -> Any:
    """Return the value at a path such as `reward_model.ground_truth.target`; `default` where there is none.

    A name that has dots itself comes before a path into a structure.
    """
    return row[path] if path in row else next(_found(row, path), default)


def leaf_paths(row: Mapping[str, Any], outer: str = "", depth: int = 1) -> Iterator[str]:
    """Yield the path of each part that is no structure; of a structure with an image's bytes, its own."""
    for name, value in row.items():
        path = f"{outer}{name}"
        if isinstance(value, dict) and value and depth < MOST_DEPTH and not {"bytes", "path"} & set(value):
            yield from leaf_paths(value, f"{path}.", depth + 1)
        else:
            yield path


def outer_paths(path: str) -> Iterator[str]:
    """Yield the path of each structure that a path leads through, the outermost first."""
    for place, letter in enumerate(path):
        if letter == "." and 0 < place < len(path) - 1:
            yield path[:place]


def _found(row: Mapping[str, Any], path: str) -> Iterator[Any]:
    if path in row:
        yield row[path]
    for outer in reversed(list(outer_paths(path))):
        inner = row.get(outer)
        if isinstance(inner, dict):
            yield from _found(inner, path[len(outer) + 1 :])
