"""A command's module is imported when it is called: `bapo --help` and completing a word stay fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


def group(help: str, *, alone: bool = False) -> typer.Typer:
    """A command that has commands of its own; `alone`: it also does something by itself."""
    return typer.Typer(
        no_args_is_help=not alone,
        invoke_without_command=alone,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help=help,
    )


@dataclass(frozen=True)
class LazyCommand:
    """Where a command is, and its line in the list of commands."""

    name: str
    place: str
    """`module:function`, or `module:app` for a group of commands."""
    help: str

    def load(self) -> Any:
        """The command itself."""
        module, _, attribute = self.place.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            group = get_command(found)
            group.name = self.name
            return group
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name)(found)
        return get_command(alone)


@dataclass(frozen=True)
class Panel:
    """Commands that are listed together."""

    title: str
    commands: Sequence[LazyCommand]


class LazyGroup(TyperGroup):
    """Lists its commands without importing them."""

    panels: Sequence[Panel] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lazy = {each.name: each for panel in self.panels for each in panel.commands}
        self.commands = {
            each.name: TyperCommand(each.name, help=each.help, rich_help_panel=panel.title)
            for panel in self.panels
            for each in panel.commands
        }

    def _main_shell_completion(self, *arguments: Any, **options: Any) -> None:
        # Typer does so where it offers its own options for installing scripts.
        completion_init()
        super()._main_shell_completion(*arguments, **options)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The real command in the place of its line in the list."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else self._lazy[name or ""].load(), rest
