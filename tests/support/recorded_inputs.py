"""What the recorded runs depend on, as digests by file: comments, docstrings and formatting are no part of it."""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "bapo"
NOT_READ = "README.md"


def inputs_of(files: Iterable[str]) -> dict[str, str]:
    """Return the digest of each of these files of the package `bapo`, "" where it does not exist."""
    return {file: digest_of(PACKAGE / file) if (PACKAGE / file).is_file() else "" for file in sorted(files)}


def are_current(inputs: Mapping[str, str]) -> bool:
    """Return whether the package's files still have these digests."""
    return inputs_of(inputs) == inputs


def digest_of(file: Path) -> str:
    """Return the digest of what a file means to a trainer."""
    if file.suffix == ".py":
        meaning = repr(_meaning(ast.parse(file.read_bytes()))).encode()
    elif file.suffix == ".toml":
        meaning = repr(tomllib.loads(file.read_text(encoding="utf-8"))).encode()
    else:
        meaning = file.read_bytes()
    return hashlib.sha256(meaning).hexdigest()[:16]


def _meaning(node: object) -> object:
    """Return a syntax tree without its docstrings.

    `ast.dump` writes another text in each version of Python: here a field that is empty is left out, as one is that a
    version does not know.
    """
    if isinstance(node, ast.AST):
        fields = [(name, _meaning(value)) for name, value in ast.iter_fields(node)]
        return (type(node).__name__, *(field for field in fields if field[1] not in (None, [])))
    if isinstance(node, list):
        return [_meaning(each) for each in node if not _is_docstring(each)]
    return None if node is None else repr(node)


def _is_docstring(node: object) -> bool:
    """Return whether a statement is only a text: also the one beneath a field or a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
