"""Reads Python source as a syntax tree, in any thread."""

from __future__ import annotations

import ast
import threading

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
