"""A command's module is imported when it is called: `bapo --help` and completing a word stay fast.

A command whose packages are not installed says in one line which extra brings them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from bapo.cli.extras import extra_with, missing_packages, remedy
from bapo.cli.streams import replace_what_cannot_be_written
from bapo.run.lasting_modules import lasting_modules

MAX_NAMED = 3
"""Missing packages that are named."""


def group(help: str, *, alone: bool = False) -> typer.Typer:
    """Return a command with subcommands; `alone`: it also runs without one."""
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
    """A command's module, and its line in the list of commands."""

    name: str
    place: str
    """`module:function` in `bapo.cli`, or `module:app` for a group of commands."""
    help: str
    extra: str | None = None
    """Without the packages of this extra the command can do nothing."""

    def load(self) -> Any:
        """Import the command itself."""
        module, _, attribute = self.place.partition(":")
        place = f"bapo.cli.{module}"
        with lasting_modules(place):
            app = getattr(import_module(place), attribute)
        if not isinstance(app, typer.Typer):
            function, app = app, typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            app.command(self.name)(function)
        command: Any = get_command(app)
        command.name = self.name
        if self.extra is not None:
            command.invoke = partial(_with_extra, self.extra, command.invoke)
        return command


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

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments and run a command."""
        replace_what_cannot_be_written()
        if not sys.stderr.isatty():
            # Of errors, which are printed out here; help looks at standard output itself.
            self.rich_markup_mode = None
        return super().main(*arguments, **options)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the list of commands, by panel."""
        self.rich_markup_mode = "rich" if sys.stdout.isatty() else None
        super().format_help(ctx, formatter)

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Write the list of commands where it is plain text."""
        for panel in self.panels:
            with formatter.section(panel.title):
                formatter.write_dl([(each.name, each.help) for each in panel.commands])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Replace the command's line in the list by the real command."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is None:
            return name, None, rest
        command = self._lazy[name or ""].load()
        if not sys.stdout.isatty():
            make_plain(command)
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Exits where it turns out to need a package that is not installed, and where the system or what a library says
        of the input leaves nothing to do but to change something.
        """
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            extra = extra_with(package)
            if extra is None:
                raise
            _leave([package], extra)
        except Exception as error:
            from bapo.cli.failures import leave, outside_failure  # noqa: PLC0415 - imports pydantic

            failure = outside_failure(error)
            if failure is None:
                raise
            leave(*failure)


def _with_extra(extra: str, invoke: Callable[[Any], Any], ctx: Any) -> Any:
    if missing := missing_packages(extra):
        _leave(missing, extra)
    return invoke(ctx)


def _leave(missing: Sequence[str], extra: str) -> NoReturn:
    named = ", ".join(missing[:MAX_NAMED])
    if len(missing) > MAX_NAMED:
        named += f" and {len(missing) - MAX_NAMED} more"
    print(f"bapo: this needs {named}, not installed here; {remedy(extra)}", file=sys.stderr)
    raise SystemExit(1)


PLAIN_HELP_WIDTH = 120
"""Characters per line, so that few examples are broken."""


def make_plain(command: Any) -> None:
    """Let a command and those beneath it print their help as plain text."""
    from rich.text import Text  # noqa: PLC0415 - only help and errors need it

    def without_markup(text: str | None) -> str | None:
        return None if text is None else Text.from_markup(text).plain

    command.rich_markup_mode = None
    command.context_settings = {**command.context_settings, "terminal_width": PLAIN_HELP_WIDTH}
    command.help = without_markup(command.help)
    if command.short_help is None and command.help:
        # Lists of commands cut what they take from the help.
        command.short_help = " ".join(command.help.partition("\n\n")[0].split())
    for parameter in command.params:
        parameter.help = without_markup(getattr(parameter, "help", None))
    for each in getattr(command, "commands", {}).values():
        make_plain(each)
