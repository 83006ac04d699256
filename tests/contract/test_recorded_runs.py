"""The recorded runs that the repository ships are used as long as what they depend on means the same."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from bapo.records import StepRecord
from bapo.run.journal import merged_records
from tests.support import recorded
from tests.support.recorded import NUM_STEPS, OUT_OF_DATE, RUNS, SHIPPED, current_runs
from tests.support.recorded_inputs import PACKAGE, digest_of
from tests.support.recorded_training import INPUTS, OF_OTHER_RUNS

SOURCE = """
RATE = 0.5
"What it is."

def double(value):
    return 2 * value
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    file = tmp_path / "module.py"
    file.write_text(SOURCE)
    return file


@pytest.mark.parametrize(
    "equal",
    [
        SOURCE.replace("RATE = 0.5", "# A half.\nRATE = 0.5  # of all"),
        SOURCE.replace('"What it is."', '"Something else."'),
        SOURCE.replace("def double(value):", 'def double(value):\n    """Double it."""'),
        SOURCE.replace("def double(value):", "def double(\n    value,\n):"),
        f'"""A module."""\n{SOURCE}',
    ],
    ids=["comment", "text beneath a constant", "docstring", "formatting", "module's docstring"],
)
def test_what_does_not_run_leaves_the_digest(module: Path, equal: str) -> None:
    before = digest_of(module)
    module.write_text(equal)
    assert digest_of(module) == before


@pytest.mark.parametrize(
    "other",
    [SOURCE.replace("0.5", "0.25"), SOURCE.replace("2 *", "3 *"), SOURCE.replace("value", "number")],
    ids=["constant", "number in a function", "name"],
)
def test_what_runs_changes_the_digest(module: Path, other: str) -> None:
    before = digest_of(module)
    module.write_text(other)
    assert digest_of(module) != before


def test_a_recipe_changes_with_its_values_and_a_model_with_each_byte(tmp_path: Path) -> None:
    recipe, model = tmp_path / "recipe.toml", tmp_path / "model.safetensors"
    recipe.write_text("steps = 2\n")
    model.write_bytes(b"12")
    before = [digest_of(recipe), digest_of(model)]
    recipe.write_text("# Two.\nsteps = 2\n")
    assert digest_of(recipe) == before[0]
    recipe.write_text("steps = 3\n")
    model.write_bytes(b"13")
    assert digest_of(recipe) != before[0]
    assert digest_of(model) != before[1]


def test_the_shipped_runs_depend_on_the_local_engine_and_not_on_the_server() -> None:
    files = json.loads((SHIPPED / INPUTS).read_text())["bapo"]
    assert {
        "loop.py",
        "losses.py",
        "methods/bapo.py",
        "methods/grpo.py",
        "tasks/countdown/expression.py",
        "engines/local/update.py",
    } <= files.keys()
    assert {"config/recipes/countdown-demo.toml", "engines/models/countdown-base/model.safetensors"} <= files.keys()
    assert not {file.partition("/")[0] for file in files} & {"analysis", "api", "cli", "client", "figures", "observe"}


def test_what_other_runs_are_made_of_is_imported_by_tables_alone() -> None:
    files = json.loads((SHIPPED / INPUTS).read_text())["bapo"]
    tables = {"config/method/__init__.py", "methods/__init__.py", "tasks/__init__.py", "tasks/verifiers.py"}
    for file in sorted(file for file in files.keys() - tables if file.endswith(".py")):
        assert not OF_OTHER_RUNS & imported_names((PACKAGE / file).read_text(encoding="utf-8")), file


def imported_names(source: str) -> set[str]:
    """Return the modules that a module imports from."""
    return {node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}


def test_each_run_has_all_its_steps(recorded_folders: Mapping[str, Path]) -> None:
    for folder in recorded_folders.values():
        steps = [record.step for record in merged_records(folder) if isinstance(record, StepRecord)]
        assert steps == list(range(1, NUM_STEPS + 1))


def ship(folder: Path, inputs: Mapping[str, object]) -> None:
    """Ship the same runs with other inputs."""
    folder.mkdir(exist_ok=True)
    (folder / INPUTS).write_text(json.dumps(inputs))
    (folder / recorded.ARCHIVE).write_bytes((SHIPPED / recorded.ARCHIVE).read_bytes())


def test_runs_that_are_out_of_date_are_trained_once_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"bapo": {"losses.py": digest_of(PACKAGE / "losses.py")}}
    current: dict[str, object] = {**own, "settings": recorded.settings_digest(), "torch": recorded.torch_version()}
    trained: list[Path] = []
    said: list[str] = []

    def train(folder: Path) -> None:
        trained.append(folder)
        folder.mkdir()
        (folder / INPUTS).write_text(json.dumps(current))

    monkeypatch.setattr(recorded, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(recorded, "train_all", train)
    cache = tmp_path / "cache"
    cache.mkdir()

    ship(tmp_path / "shipped", current)
    folder = current_runs(cache, said.append)
    assert {each.name for each in folder.iterdir()} == {*RUNS, INPUTS}
    assert (trained, said) == ([], [])

    of_bapo: list[dict[str, object]] = [{"bapo": {"losses.py": "0"}}, {"bapo": {"gone.py": "0"}}]
    changes: list[dict[str, object]] = [*of_bapo, {"settings": "0"}, {"torch": "1.0"}]
    for changed in changes:
        ship(tmp_path / "shipped", current | changed)
        assert current_runs(cache, said.append) == cache / "trained"
    assert (len(trained), said) == (1, [OUT_OF_DATE] * 4)

    ship(tmp_path / "shipped", current)
    assert current_runs(cache, said.append) == folder
    assert (len(trained), len(said)) == (1, 4)
