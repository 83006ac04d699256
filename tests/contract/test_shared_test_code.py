"""What tests share is in `tests/support` or in a plain module of their folder, never in a module of tests."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def imported_modules(source: str) -> list[str]:
    """Return all that a module imports, by its dotted name."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module or ''}.{name.name}" for name in node.names]
    return found


def is_of_a_test_module(name: str) -> bool:
    """Return whether the name is that of a module of tests, or of something in it."""
    first, *others = name.split(".")
    return first == "tests" and any(part.startswith("test_") for part in others)


def test_an_import_from_a_test_module_is_recognised() -> None:
    source = "import tests.a.test_b\nfrom tests.a import test_c\ndef f():\n    from tests.a.test_d import e\n"
    assert [is_of_a_test_module(name) for name in imported_modules(source)] == [True, True, True]
    source = "import test_a\nfrom tests.support.journals import step\nfrom bapo.test_sets import test_set\n"
    assert not any(is_of_a_test_module(name) for name in imported_modules(source))


def test_no_test_imports_from_a_module_of_tests() -> None:
    found = {
        str(file.relative_to(TESTS)): [
            name for name in imported_modules(file.read_text("utf-8")) if is_of_a_test_module(name)
        ]
        for file in sorted(TESTS.rglob("*.py"))
    }
    assert {file: names for file, names in found.items() if names} == {}
