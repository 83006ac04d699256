"""Imports that happen when the tests of a module begin: collecting all tests imports no PyTorch.

    with late_imports():
        import torch
        from transformers import Qwen2Config

To readers, type checkers and the tests these are usual imports. While the module itself is imported, the names must not
be used: not in a constant, a decorator or a default value.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

TOO_SLOW_TO_COLLECT = frozenset({"torch", "transformers", "vllm", "ray", "verl"})
"""What no module may import while tests are collected."""

loaded_by_collecting: set[str] = set()
"""Which of them this process has imported while it collected tests; written by `tests/conftest.py`."""


class _Late:
    """Stands for a module, or for something in it, until the tests begin."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.path} is imported when the tests begin: do not use its {name} before")

    def found(self) -> Any:
        """Import what this stands for: as `from … import …` does, an attribute before a module of that name."""
        module, _, name = self.path.rpartition(".")
        parent = import_module(module) if module else None
        return getattr(parent, name) if hasattr(parent, name) else import_module(self.path)


_LATE: dict[Path, tuple[dict[str, Any], dict[str, _Late]]] = {}
"""By file: the module's names, and those of them that are still to be imported."""


@contextmanager
def late_imports() -> Iterator[None]:
    """Leave the imports of the block for when the module's tests begin."""
    names = sys._getframe(2).f_globals
    usual = builtins.__import__

    def remember(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if fromlist:
            return _Source(name)
        # `import a.b as c` asks what it gets for `b`.
        return _Source(name.partition(".")[0])

    before = dict(names)
    builtins.__import__ = remember
    try:
        yield
    finally:
        builtins.__import__ = usual
    asked = {name: value for name, value in names.items() if before.get(name) is not value}
    late = {name: _Late(value.path) for name, value in asked.items() if isinstance(value, _Late)}
    _LATE[Path(names["__file__"])] = (names, late)
    names.update(late)


class _Source(_Late):
    """What an import statement gets, and asks for the names that it imports."""

    def __getattr__(self, name: str) -> _Source:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Source(f"{self.path}.{name}")


def import_late(test_file: Path) -> None:
    """Import what a module of tests, and the conftest.py files above it, have left for now."""
    for file in (*(folder / "conftest.py" for folder in reversed(test_file.parents)), test_file):
        if file in _LATE:
            names, late = _LATE.pop(file)
            names.update({name: each.found() for name, each in late.items()})
