"""`bapo recipes NAME` says where a recipe's values come from."""

from __future__ import annotations

from typer.testing import CliRunner

from bapo.cli import app


def test_a_recipe_prints_the_source_of_each_value() -> None:
    printed = CliRunner().invoke(app, ["recipes", "paper-math-8b"])
    assert printed.exit_code == 0, printed.output
    lines = dict(line.split(" = ", 1) for line in printed.stdout.splitlines())
    assert lines["method.v"] == "5  # Table 3"
    assert lines["loss.clip_low"].startswith("0.2  # assumed: ")
    # What it leaves at its default has none.
    assert "#" not in lines["engine.threads"]


def test_fields_say_which_tasks_have_them() -> None:
    printed = CliRunner().invoke(app, ["config", "task.datasets"], env={"COLUMNS": "200"})
    assert "Tasks: reasoning_gym." in printed.stdout
