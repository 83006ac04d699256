"""Whatever a command answers, a program can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from bapo.cli import PANELS, app

WITHOUT_ANSWER = {
    "train": "its last line is JSON",
    "warm-start": "its last line is JSON",
    "import": "its last line is JSON",
    "report": "writes a file",
    "boards export": "writes a file",
    "study run": "writes the report, as JSON too",
    "study report": "writes a file: --out FILE.json",
    "export metrics": "writes a table: --format json",
    "export records": "JSON, one object a line",
    "export runs": "writes a table: --format json",
    "prompts export": "writes a table: --jsonl",
    "prompts history": "writes a table: --jsonl",
    "up": "runs until Ctrl-C",
    "worker": "runs until Ctrl-C",
    "completion": "prints a script",
}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that there is by its name, of groups each member."""
    get_command(app)
    for panel in PANELS:
        for each in panel.commands:
            yield from _within(each.name, each.load())


def _within(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(command, TyperGroup):
        yield name, command
        return
    if command.invoke_without_command:
        yield name, command
    for inner, member in command.commands.items():
        yield from _within(f"{name} {inner}", member)


def test_every_command_answers_json_where_it_is_asked_to() -> None:
    without = {
        name for name, command in commands() if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without == set(WITHOUT_ANSWER)
