"""Help and usage errors as plain text, for pipes and files: no frame, no colour, no markup."""

from __future__ import annotations

from typing import Any

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
