"""Each part of the project imports only what the base install or its own extra brings."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from bapo.cli import PANELS
from bapo.cli.lazy import LazyCommand
from tests.support.distributions import ROOT, brought

OWN = ("bapo", "backend", "frontend", "worker", "migrations")
ROOMS: dict[str, tuple[str, ...]] = {
    "bapo.api": (),
    "bapo.buffers": (),
    "bapo.client": (),
    "bapo.config": (),
    "bapo.files": (),
    "bapo.figures": ("report",),
    "bapo.report": ("report",),
    "bapo.datasets": ("train",),
    "bapo.engines.local": ("train",),
    "bapo.loop": ("train",),
    "bapo.losses": ("train",),
    "bapo.methods": ("train",),
    "bapo.run": ("train",),
    "bapo.tasks": ("train",),
    "bapo.analysis": ("train",),
    "bapo.study": ("train",),
    "bapo.deploy.backup": ("server",),
    "bapo.deploy.doctor": (),
    "bapo.deploy.up": ("all",),
    "backend": ("server",),
    "migrations": ("server",),
    "frontend": ("dashboard",),
    "worker": ("worker",),
}
"""The extras with which a package, or a module, must be importable."""
COMMANDS = [command for panel in PANELS for command in panel.commands]


def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    package = path / "__init__.py"
    return package if package.is_file() else path.with_suffix(".py") if path.with_suffix(".py").is_file() else None


def _modules(room: str) -> Iterator[str]:
    path = ROOT.joinpath(*room.split("."))
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    for file in files:
        yield ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that happen when a module is imported: none in functions, none for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _statements(child)


@cache
def _imported(module: str) -> frozenset[str]:
    """Modules, ours with the packages around them."""
    file = _file(module)
    found: set[str] = set()
    for statement in _statements(ast.parse(file.read_text(encoding="utf-8"))) if file else ():
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        else:
            assert statement.module is not None, f"{module}: imports are absolute"
            found |= {statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names)}
    return frozenset(
        ".".join(parts[:length])
        for parts in (name.split(".") for name in found)
        for length in range(1, len(parts) + 1)
        if parts[0] not in OWN or _file(".".join(parts[:length]))
    )


def _needed(modules: Iterable[str]) -> dict[str, str]:
    """Packages that importing these modules takes, each with the module of ours that imports it."""
    seen, waiting, found = set[str](), list(modules), dict[str, str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in _imported(module):
            top = name.partition(".")[0]
            if top in OWN:
                waiting.append(name)
            elif top not in sys.stdlib_module_names:
                found.setdefault(top, module)
    return found


@cache
def _distributions_of_packages() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _check(modules: Iterable[str], extras: tuple[str, ...]) -> None:
    distributions = _distributions_of_packages()
    allowed = brought(*extras)
    missing = {
        package: module
        for package, module in _needed(modules).items()
        if not allowed & {canonicalize_name(name) for name in distributions.get(package, [package])}
    }
    assert missing == {}, f"not in the base install{''.join(f' and [{extra}]' for extra in extras)}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_its_extra_brings(room: str) -> None:
    _check(_modules(room), ROOMS[room])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_starts_with_its_extra(command: LazyCommand) -> None:
    module = command.place.partition(":")[0]
    _check([f"bapo.cli.{module}"], () if command.extra is None else (command.extra,))


@pytest.mark.parametrize(
    "package", ["torch", "dash", "plotly", "psycopg", "sqlalchemy", "celery", "fastapi", "pyarrow", "transformers"]
)
def test_the_base_install_is_client_and_command_line(package: str) -> None:
    assert package not in brought()
