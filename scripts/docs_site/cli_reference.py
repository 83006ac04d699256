"""The page on the command line, read off its commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bapo.cli import BapoGroup
from bapo.cli.connection import PANEL as SERVER_PANEL
from scripts.docs_site.tables import plain, table

INTRODUCTION = """# Command line

Generated from the commands themselves; `bapo COMMAND --help` prints the same. [Automation](../automation.md) shows how
they work together and lists the [exit codes](../automation.md#exit-codes).
"""
_BOLD = re.compile(r"\[bold\](.*?)\[/bold\]", re.DOTALL)


def page() -> str:
    """Return the whole page."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    loaded = {each.name: each.load() for panel in BapoGroup.panels for each in panel.commands}
    shared = {
        option.opts[0]: option
        for command in loaded.values()
        for option in command.params
        if getattr(option, "rich_help_panel", None) == SERVER_PANEL
    }
    yield "## Every command that asks a server\n"
    yield table(("option", "", "meaning"), [_row(option) for option in shared.values()])
    for panel in BapoGroup.panels:
        yield f"## {panel.title}\n"
        for each in panel.commands:
            yield from _command(loaded[each.name], f"bapo {each.name}", 3)


def _command(command: Any, name: str, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{name}`\n"
    yield from _text(command.help or "")
    arguments = [part for part in command.params if part.param_type_name == "argument"]
    options = [part for part in command.params if part.param_type_name == "option" and not part.hidden]
    own = [part for part in options if getattr(part, "rich_help_panel", None) != SERVER_PANEL]
    asks_server = len(own) < len(options)
    rows = [_row(part) for part in (*arguments, *own) if part.name != "help"]
    if rows:
        yield table(("argument or option", "", "meaning"), rows)
    if asks_server:
        yield "It also takes the options of [every command that asks a server](#every-command-that-asks-a-server).\n"
    for child in getattr(command, "commands", {}).values():
        yield from _command(child, f"{name} {child.name}", level + 1)


def _text(text: str) -> Iterator[str]:
    """Yield paragraphs; an entirely bold one is an example."""
    for paragraph in text.split("\n\n"):
        example = _BOLD.fullmatch(paragraph.strip())
        if example:
            yield f"```sh\n{' '.join(example[1].split())}\n```\n"
        elif paragraph.strip():
            parts = (f"`{part}`" if index % 2 else plain(part) for index, part in enumerate(_BOLD.split(paragraph)))
            yield " ".join(parts).strip() + "\n"


def _row(part: Any) -> tuple[str, str, str]:
    if part.param_type_name == "argument":
        name = f"`{part.metavar or part.name.upper()}`"
        kind = "" if part.required else "optional"
    else:
        name = ", ".join(f"`{spelling}`" for spelling in (*part.opts, *part.secondary_opts))
        kind = "" if part.is_flag else _kind(part)
    help = plain(part.help or "")
    variable = part.envvar if isinstance(part.envvar, str) else None
    return name, kind, f"{help} Variable: `{variable}`." if variable else help


def _kind(option: Any) -> str:
    """Return the values that an option takes."""
    if hasattr(option.type, "choices"):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    low, high = getattr(option.type, "min", None), getattr(option.type, "max", None)
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"from {low}"
    return f"`{option.metavar or {'integer': 'NUMBER', 'float': 'NUMBER'}.get(option.type.name, 'TEXT')}`"
