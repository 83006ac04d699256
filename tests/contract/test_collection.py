"""Collecting tests imports nothing that takes seconds: each process of pytest collects all tests, whichever it runs."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.late_imports import import_late, loaded_by_collecting


def test_collecting_imports_no_pytorch() -> None:
    assert not loaded_by_collecting, "imported while tests were collected: use `late_imports` in the module of tests"


@pytest.fixture
def imported(tmp_path: Path) -> Callable[[str], ModuleType]:
    """Imports a module with this source."""

    def import_source(source: str) -> ModuleType:
        module = ModuleType("made")
        module.__file__ = str(tmp_path / "made.py")
        head = "from tests.support.late_imports import late_imports\n"
        exec(head + textwrap.dedent(source), module.__dict__)  # noqa: S102 - the source is above
        return module

    return import_source


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package that nothing has imported."""
    (tmp_path / "slow_package").mkdir()
    (tmp_path / "slow_package" / "__init__.py").write_text("value = 1\ninner = 2\n")
    (tmp_path / "slow_package" / "inner.py").write_text("value = 3\n")
    (tmp_path / "slow_package" / "other.py").write_text("value = 4\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "slow_package"


def test_late_imports_bind_what_usual_imports_bind(
    imported: Callable[[str], ModuleType], slow: str, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: [sys.modules.pop(name) for name in list(sys.modules) if name.startswith(slow)])
    imports = """
        import slow_package
        import slow_package.other as second
        from slow_package import inner, other
        from slow_package import value as one
        from slow_package.other import value
    """
    late = imported("with late_imports():" + textwrap.indent(imports, "    "))
    assert slow not in sys.modules
    import_late(Path(late.__file__ or ""))
    usual = imported(imports)
    names = ("slow_package", "second", "inner", "other", "one", "value")
    assert [getattr(late, name) for name in names] == [getattr(usual, name) for name in names]
    # As with a usual import, an attribute of the package comes before a module of that name.
    assert (late.inner, late.one, late.value) == (2, 1, 4)


def test_a_late_import_that_is_used_too_early_is_named(imported: Callable[[str], ModuleType], slow: str) -> None:
    with pytest.raises(AttributeError, match=f"{slow} is imported when the tests begin: do not use its value before"):
        imported(f"with late_imports():\n    import {slow}\nearly = {slow}.value\n")
    assert slow not in sys.modules


def test_a_late_import_of_what_is_missing_fails_as_usual(imported: Callable[[str], ModuleType]) -> None:
    module = imported("with late_imports():\n    from slow_package import nothing\n")
    with pytest.raises(ModuleNotFoundError, match="slow_package"):
        import_late(Path(module.__file__ or ""))
