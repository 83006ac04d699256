"""Python source read in several threads."""

from __future__ import annotations

import ast
import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest

from bapo.config import descriptions
from bapo.config.descriptions import syntax_tree

SOURCE = inspect.getsource(descriptions)


@pytest.fixture
def _threads_change_while_a_tree_is_made() -> Iterator[None]:
    """Making it calls the collector of garbage, and that calls Python's code, where threads change."""
    interval = sys.getswitchinterval()

    def take_a_while(*_: Any) -> None:
        sum(range(50))

    sys.setswitchinterval(1e-6)
    gc.callbacks.append(take_a_while)
    yield
    gc.callbacks.remove(take_a_while)
    sys.setswitchinterval(interval)


def _at_depth(depth: int, call: Callable[[], object]) -> object:
    return _at_depth(depth - 1, call) if depth else call()


@pytest.mark.usefixtures("_threads_change_while_a_tree_is_made")
def test_threads_at_different_depths_do_not_disturb_each_other() -> None:
    expected = ast.dump(ast.parse(SOURCE))

    def read(depth: int) -> list[object]:
        return [_at_depth(depth, lambda: ast.dump(syntax_tree(SOURCE))) for _ in range(25)]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(read, (0, 10, 20, 30)):
            assert found == [expected] * 25


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        syntax_tree("def")
    with pytest.raises((SyntaxError, ValueError), match="null bytes"):
        syntax_tree("a\0b")


def test_a_try_that_another_library_disturbed_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ast.Module([], [])
    parse = Mock(side_effect=[SystemError("AST constructor recursion depth mismatch"), tree])
    monkeypatch.setattr(ast, "parse", parse)
    assert syntax_tree("") is tree
