"""No back doors: a package starts as a process only what this table says; nobody starts what they may not import."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STARTED: dict[str, set[str]] = {
    "bapo/cli/train.py": {"bapo"},  # Itself, with the Python that has verl.
    "bapo/deploy/processes.py": {"backend", "frontend", "worker"},  # The one room that starts services.
    "bapo/engines/local/generating_process.py": {"bapo.engines.local.generating"},
    "bapo/isolation/function.py": {"bapo.isolation.process"},  # Which imports what its caller imported.
    "bapo/pretrained/wheels.py": {"pip"},
    "bapo/run/zygote_client.py": {"bapo.run.zygote"},
    "bapo/run/trainer_process.py": {"bapo.run.trainer"},
    "worker/delivery.py": {"worker"},
}
"""File → modules that it may start with `python -m`."""


def started(file: Path) -> set[str]:
    """Modules after a `"-m"` in lists and tuples; a name stands for the strings that the file gives it."""
    text = file.read_text(encoding="utf-8")
    found: set[str] = set()
    # Parsing takes most of the time, and few files have the flag.
    if '"-m"' not in text:
        return found
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            for flag, module in zip(node.elts, node.elts[1:], strict=False):
                if isinstance(flag, ast.Constant) and flag.value == "-m":
                    found |= (
                        {str(module.value)} if isinstance(module, ast.Constant) else meanings(tree, ast.unparse(module))
                    )
    return found


def meanings(tree: ast.Module, name: str) -> set[str]:
    """The text of a constant, or the choices of a Literal that a parameter is declared with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg == name and node.annotation is not None:
            return meanings(tree, ast.unparse(node.annotation))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return {str(leaf.value) for leaf in ast.walk(node.value) if isinstance(leaf, ast.Constant)}
    raise AssertionError(f"nobody can tell what {name} starts")


@pytest.mark.parametrize("package", ["bapo", "backend", "frontend", "worker"])
def test_processes_are_started_where_the_table_says(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    found = {str(file.relative_to(ROOT)): modules for file in files if (modules := started(file))}
    assert found == {file: modules for file, modules in STARTED.items() if file.startswith(f"{package}/")}


def test_every_started_module_can_be_started() -> None:
    for module in set.union(*STARTED.values()) - {"pip"}:
        path = ROOT / module.replace(".", "/")
        assert (path / "__main__.py").exists() or '__name__ == "__main__"' in path.with_suffix(".py").read_text()
